#include "policy/plan/mounts.h"

#include <string.h>

#include "base/file/path.h"

static void
add_part(struct plan *p, const char *host, const char *jail,
	 enum field_id field)
{
	p->mounts[p->mount_count++] = (struct plan_mount){
		.host = host,
		.jail = jail,
		.runtime = true,
		.field = field,
		.write_root = -1,
	};
}

static void
add_directory(struct plan *p, const struct mount_rule *m, enum field_id field,
	      int *write_roots)
{
	p->mounts[p->mount_count++] = (struct plan_mount){
		.host = m->host,
		.jail = m->jail,
		.field = field,
		.mode = m->mode,
		.max_bytes = m->max_bytes,
		.write_root = m->mode == MOUNT_RW ? (*write_roots)++ : -1,
	};
}

/* Directories that appear at their own path. */
static void
add_roots(struct plan *p, const struct list *l, enum mount_mode mode,
	  enum field_id field, int *write_roots)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct mount_rule m = { l->items[i], l->items[i], mode,
					      0 };

		add_directory(p, &m, field, write_roots);
	}
}

/* Only parts of the runtime may lie inside what the policy names. */
static int
check_mounts(const struct plan *p, struct remit_error *err)
{
	for (size_t i = 0; i < p->mount_count; i++)
		for (size_t k = 0; k < p->mount_count; k++) {
			const struct plan_mount *in = &p->mounts[i];
			const struct plan_mount *out = &p->mounts[k];

			/* Of two at one place the later one is too many. */
			if (i == k || in->runtime ||
			    !path_lies_in(in->jail, out->jail) ||
			    (i < k && !strcmp(in->jail, out->jail)))
				continue;
			return fail_refused(
				err, fields[in->field].name,
				"Give each folder a place of its own.",
				"%s lies inside %s in the jail", in->jail,
				out->jail);
		}
	return 0;
}

int
plan_list_mounts(struct plan *p, struct remit_error *err)
{
	const struct policy *pol = p->policy;
	const struct interpreter *in = p->interpreter;
	const struct list *programs = &in->program_mounts;
	const struct list *names = &in->network_mounts;
	int write_roots = 0;

	p->mount_count = 0;
	p->mounts = calloc(in->mounts.count + programs->count + names->count +
				   pol->filesystem_read_roots.count +
				   pol->filesystem_write_roots.count +
				   pol->mounts.count + 2,
			   sizeof(*p->mounts));
	if (!p->mounts)
		return fail_sys(err, REMIT_E_MEMORY, "plan");
	for (size_t i = 0; i < in->mounts.count; i++)
		add_part(p, in->mounts.items[i], in->mounts.items[i], F_PYTHON);
	if (in->package_layer)
		add_part(p, in->package_layer, in->package_layer_inside,
			 F_PACKAGES);
	for (size_t i = 0; pol->subprocess_execution && i < programs->count;
	     i++)
		add_part(p, programs->items[i], programs->items[i],
			 F_SUBPROCESS_EXECUTION);
	for (size_t i = 0;
	     pol->network_access == NETWORK_HOST && i < names->count; i++)
		add_part(p, names->items[i], names->items[i], F_NETWORK_ACCESS);
	add_roots(p, &pol->filesystem_read_roots, MOUNT_RO,
		  F_FILESYSTEM_READ_ROOTS, &write_roots);
	add_roots(p, &pol->filesystem_write_roots, MOUNT_RW,
		  F_FILESYSTEM_WRITE_ROOTS, &write_roots);
	for (size_t i = 0; i < pol->mounts.count; i++)
		add_directory(p, &pol->mounts.items[i], F_MOUNTS, &write_roots);
	return check_mounts(p, err);
}
