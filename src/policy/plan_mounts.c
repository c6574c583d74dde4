#include "plan_mounts.h"

#include <string.h>

static void
add_mount(struct plan *p, const char *host, const char *jail, bool runtime,
	  enum field_id field)
{
	p->mounts[p->mount_count++] = (struct plan_mount){
		.host = host,
		.jail = jail,
		.runtime = runtime,
		.field = field,
	};
}

/* Whether a mount at `inner` would lie in one at `outer`, or replace it. */
static bool
lies_inside(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return !strncmp(inner, outer, n) && (inner[n] == '/' || !inner[n]);
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
			    !lies_inside(in->jail, out->jail) ||
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
	const struct list *roots = &pol->filesystem_read_roots;
	const struct list *programs = &in->program_mounts;
	const struct list *names = &in->network_mounts;

	p->mount_count = 0;

	p->mounts = calloc(in->mounts.count + programs->count + names->count +
				   roots->count + pol->mounts.count + 1,
			   sizeof(*p->mounts));
	if (!p->mounts)
		return fail_sys(err, REMIT_E_MEMORY, "plan");
	for (size_t i = 0; i < in->mounts.count; i++)
		add_mount(p, in->mounts.items[i], in->mounts.items[i], true,
			  F_PYTHON);
	for (size_t i = 0; pol->subprocess_execution && i < programs->count;
	     i++)
		add_mount(p, programs->items[i], programs->items[i], true,
			  F_SUBPROCESS_EXECUTION);
	for (size_t i = 0; pol->network_access && i < names->count; i++)
		add_mount(p, names->items[i], names->items[i], true,
			  F_NETWORK_ACCESS);
	for (size_t i = 0; i < roots->count; i++)
		add_mount(p, roots->items[i], roots->items[i], false,
			  F_FILESYSTEM_READ_ROOTS);
	for (size_t i = 0; i < pol->mounts.count; i++)
		add_mount(p, pol->mounts.items[i].host,
			  pol->mounts.items[i].jail, false, F_MOUNTS);
	return check_mounts(p, err);
}
