/*
 * plan_directories: whether directories of the host can be mounted in a jail,
 * what protects them from changes, the list of all mounts, and where the
 * workspace may be among them.
 */
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"
#include "policy/plan/part.h"
#include "policy/rules/path_rule.h"

/* The jail's user must be able to read host directories. If root starts the
   jail, that user is not their owner, which needs idmapped mounts. */
static int
decide_directories(struct decision *d, size_t count, struct remit_error *err)
{
	if (is_bare(d))
		snprintf(
			d->row->note, sizeof(d->row->note),
			"protects contents only: the existence, size, times "
			"and owner of files are visible%s",
			count && d->host->by_root
				? "; readable as far as other users may read it"
				: "");
	else if (count && d->host->by_root &&
		 !d->host->can[CAN_IDMAPPED_MOUNTS].yes)
		return fail_refused(
			err, d->field->name,
			capabilities[CAN_IDMAPPED_MOUNTS].remedy,
			"a jail started by root needs idmapped mounts for host "
			"folders, and they do not work here: %s",
			d->host->can[CAN_IDMAPPED_MOUNTS].why);
	plan_note_kept(d, MECH(MOUNT_NAMESPACE));
	plan_note_kept(d, MECH(LANDLOCK));
	return 0;
}

/* Landlock's rules add up: a path below a writable directory is writable for
   Landlock, so only the mount protects it. */
static void
note_mount_alone(struct decision *d, const char *jail)
{
	if (!is_bare(d) && path_rule_is_below_writable(d->policy, jail))
		snprintf(d->row->note, sizeof(d->row->note),
			 "writing below %.100s%s is prevented by the mount "
			 "alone",
			 jail, strlen(jail) > 100 ? "..." : "");
}

int
decide_read_roots(struct decision *d, struct remit_error *err)
{
	const struct list *l = &d->policy->filesystem_read_roots;

	for (size_t i = 0; i < l->count; i++)
		note_mount_alone(d, l->items[i]);
	return decide_directories(d, l->count, err);
}

/* Decides modes rw and overlay, whose changes go to an overlay. */
static int
decide_overlay(struct decision *d, const char *host, enum mount_mode mode,
	       struct remit_error *err)
{
	if (is_bare(d))
		return fail_refused(
			err, d->field->name,
			"Use mode direct, or export files with --export.",
			"without namespaces, changes in %s cannot be kept "
			"apart until the end of the run",
			host);
	if (!d->host->can[CAN_OVERLAY].yes)
		return fail_refused(err, d->field->name,
				    capabilities[CAN_OVERLAY].remedy,
				    "mode \"%s\" of %s needs overlay mounts, "
				    "which do not work here: %s",
				    mount_mode_names[mode], host,
				    d->host->can[CAN_OVERLAY].why);
	plan_note_kept(d, MECH(OVERLAY));
	if (mode != MOUNT_RW)
		return 0;
	plan_note_kept(d, MECH(COMMIT));
	if (++d->plan->write_roots > PLAN_WRITE_ROOTS_MAX)
		return fail_refused(
			err, d->field->name,
			"Use one folder that contains several of them.",
			"a run may have at most %d folders of mode rw",
			PLAN_WRITE_ROOTS_MAX);
	return 0;
}

/* Decides mode direct: the host's directory, without limits, as the note
   says. */
static int
decide_direct(struct decision *d, const char *host, struct remit_error *err)
{
	/* openat2(2) takes the mode of a new file by a pointer, and a filter
	   cannot follow pointers: code that breaks out of WebAssembly could
	   leave a setuid file in the directory. */
	if (is_wasm(d))
		return fail_refused(
			err, d->field->name,
			"Use mode rw, or use the tier local.",
			"the tier \"%s\" cannot check the modes of "
			"files that code creates in %s (mode direct)",
			tiers[d->plan->tier].name, host);
	if (is_bare(d) && d->host->by_root)
		return fail_refused(
			err, d->field->name,
			"Run as an ordinary user, or use the tier local.",
			"without namespaces, the code of a jail started by "
			"root runs as a user who may not write to %s",
			host);
	d->plan->has_direct = true;
	snprintf(d->row->note, sizeof(d->row->note),
		 "mode direct: changes reach the host at once, without limits");
	return 0;
}

static int
decide_mount(struct decision *d, const struct mount_rule *m,
	     struct remit_error *err)
{
	bool overlaid = m->mode == MOUNT_RW || m->mode == MOUNT_OVERLAY;

	if (m->max_bytes && !overlaid)
		return fail_refused(
			err, d->field->name,
			"Use mode rw or overlay, or leave "
			"max_bytes out.",
			"max_bytes of %s cannot be enforced in mode \"%s\"",
			m->host, mount_mode_names[m->mode]);
	if (is_bare(d) && strcmp(m->host, m->jail))
		return fail_refused(
			err, d->field->name,
			"Mount it at its own path, or use --read.",
			"without namespaces, %s cannot be mounted at %s",
			m->host, m->jail);
	if (overlaid)
		return decide_overlay(d, m->host, m->mode, err);
	return m->mode == MOUNT_DIRECT ? decide_direct(d, m->host, err) : 0;
}

int
decide_mounts(struct decision *d, struct remit_error *err)
{
	const struct mount_list *m = &d->policy->mounts;

	if (decide_directories(d, m->count, err) < 0)
		return -1;
	for (size_t i = 0; i < m->count; i++) {
		if (m->items[i].mode == MOUNT_RO)
			note_mount_alone(d, m->items[i].jail);
		if (decide_mount(d, &m->items[i], err) < 0)
			return -1;
	}
	return 0;
}

int
decide_write_roots(struct decision *d, struct remit_error *err)
{
	const struct list *l = &d->policy->filesystem_write_roots;

	if (decide_directories(d, l->count, err) < 0)
		return -1;
	for (size_t i = 0; i < l->count; i++)
		if (decide_overlay(d, l->items[i], MOUNT_RW, err) < 0)
			return -1;
	return 0;
}

int
decide_commit_names(struct decision *d, struct remit_error *err)
{
	const struct list *l = &d->policy->commit_names;
	char path[PATH_RULE_SIZE];

	for (size_t i = 0; i < l->count; i++)
		if (path_rule_below(l->items[i], path, d->field->name, err) < 0)
			return -1;
	d->row->present = d->plan->write_roots > 0;
	plan_note_kept(d, MECH(COMMIT));
	return 0;
}

/* ---- the list of mounts ---- */

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

/* An alias is a link, and mounts are not made through links: what the policy
   mounts below an alias is mounted below the workspace, and so visible at both
   paths. A mount at the alias itself is refused later. Returns NULL if memory
   is exhausted. */
static const char *
without_alias(struct plan *p, const char *jail)
{
	const char *rest = path_rule_inside(p->policy, jail);
	own_mem char *path = NULL;

	if (!rest || !*rest || path_lies_in(jail, p->policy->workspace))
		return jail;
	if (asprintf(&path, "%s%s", p->policy->workspace, rest) < 0) {
		path = NULL;
		return NULL;
	}
	return list_add(&p->places, path) < 0
		       ? NULL
		       : p->places.items[p->places.count - 1];
}

static int
add_directory(struct plan *p, const struct mount_rule *m, enum field_id field,
	      int *write_roots)
{
	const char *jail = without_alias(p, m->jail);

	if (!jail)
		return -1;
	p->mounts[p->mount_count++] = (struct plan_mount){
		.host = m->host,
		.jail = jail,
		.field = field,
		.mode = m->mode,
		.max_bytes = m->max_bytes,
		.write_root = m->mode == MOUNT_RW ? (*write_roots)++ : -1,
	};
	return 0;
}

/* Adds directories that are mounted at their own path. */
static int
add_roots(struct plan *p, const struct list *l, enum mount_mode mode,
	  enum field_id field, int *write_roots)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct mount_rule m = { l->items[i], l->items[i], mode,
					      0 };

		if (add_directory(p, &m, field, write_roots) < 0)
			return -1;
	}
	return 0;
}

static int
add_directories(struct plan *p)
{
	const struct policy *pol = p->policy;
	int write_roots = 0;

	if (add_roots(p, &pol->filesystem_read_roots, MOUNT_RO,
		      F_FILESYSTEM_READ_ROOTS, &write_roots) < 0 ||
	    add_roots(p, &pol->filesystem_write_roots, MOUNT_RW,
		      F_FILESYSTEM_WRITE_ROOTS, &write_roots) < 0)
		return -1;
	for (size_t i = 0; i < pol->mounts.count; i++)
		if (add_directory(p, &pol->mounts.items[i], F_MOUNTS,
				  &write_roots) < 0)
			return -1;
	return 0;
}

/* Refuses a mount point that is a symbolic link in the jail or is below one:
   the interpreter's links, such as /lib on Debian, are created first. */
static int
check_links(const struct plan *p, const struct plan_mount *m,
	    struct remit_error *err)
{
	const struct list *links = &p->interpreter->links;
	char path[PATH_RULE_SIZE];

	for (size_t i = 0; i < links->count; i++) {
		const char *tab = strchr(links->items[i], '\t');
		int n = tab ? (int)(tab - links->items[i]) : 0;

		snprintf(path, sizeof(path), "%.*s", n, links->items[i]);
		if (n && path_lies_in(m->jail, path))
			return fail_refused(
				err, fields[m->field].name,
				"Use the folder that the link points to.",
				"%s: in the jail %s is a symbolic link to %s",
				m->jail, path, tab + 1);
	}
	return 0;
}

/* Refuses mounts inside each other. Only parts of the runtime may be inside a
   directory of the policy. */
static int
check_mounts(const struct plan *p, struct remit_error *err)
{
	for (size_t i = 0; i < p->mount_count; i++) {
		if (!p->mounts[i].runtime && !tiers[p->tier].bare &&
		    check_links(p, &p->mounts[i], err) < 0)
			return -1;
		for (size_t k = 0; k < p->mount_count; k++) {
			const struct plan_mount *in = &p->mounts[i];
			const struct plan_mount *out = &p->mounts[k];

			/* Two mounts at one path contain each other: the
			   message is about the later one. */
			if (i == k || in->runtime ||
			    !path_lies_in(in->jail, out->jail) ||
			    (i < k && !strcmp(in->jail, out->jail)))
				continue;
			return fail_refused(
				err, fields[in->field].name,
				"Choose paths that are not inside each other.",
				"%s is inside %s in the jail", in->jail,
				out->jail);
		}
	}
	return 0;
}

static void
note_shared_paths(struct plan *p)
{
	for (size_t i = 0; i < p->mount_count; i++)
		p->shares_paths |= !p->mounts[i].runtime &&
				   (!plan_mount_is_overlaid(&p->mounts[i]) ||
				    !plan_keeps(p, MECH(OVERLAY)));
}

int
plan_list_mounts(struct plan *p, struct remit_error *err)
{
	const struct policy *pol = p->policy;
	const struct interpreter *in = p->interpreter;
	const struct list *programs = &in->program_mounts;
	const struct list *names = &in->network_mounts;

	p->mount_count = 0;
	p->mounts = calloc(in->mounts.count + programs->count + names->count +
				   pol->filesystem_read_roots.count +
				   pol->filesystem_write_roots.count +
				   pol->mounts.count + 2,
			   sizeof(*p->mounts));
	if (!p->mounts)
		return fail_memory(err, "plan");
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
	if (add_directories(p) < 0)
		return fail_memory(err, "plan");
	note_shared_paths(p);
	return check_mounts(p, err);
}

/* ---- where the workspace is ---- */

/* A workspace hides what is mounted or linked below it, and cannot be made
   below a mount or a link. What the policy mounts is made later, in it. */
static int
check_place(const struct plan *p, enum field_id field, const char *path,
	    struct remit_error *err)
{
	const struct list *links = &p->interpreter->links;

	for (size_t i = 0; i < p->mount_count; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (path_lies_in(path, m->jail) ||
		    (m->runtime && path_lies_in(m->jail, path)))
			return fail_refused(
				err, fields[field].name,
				"Choose another path, such as /home/user, "
				"/mnt/data or /content.",
				"%s cannot lead to the workspace: %s%s is "
				"mounted in the jail",
				path, m->jail,
				m->runtime ? ", which the programs in it need,"
					   : "");
	}
	for (size_t i = 0; i < links->count; i++) {
		size_t n = strcspn(links->items[i], "\t");
		char link[PATH_RULE_SIZE];

		snprintf(link, sizeof(link), "%.*s", (int)n, links->items[i]);
		if (n && (path_lies_in(path, link) || path_lies_in(link, path)))
			return fail_refused(
				err, fields[field].name,
				"Choose another path, such as /home/user, "
				"/mnt/data or /content.",
				"%s cannot lead to the workspace: in the jail "
				"%s is a symbolic link",
				path, link);
	}
	return 0;
}

/* Refuses an alias that is the workspace or another alias, or inside it, or
   contains it. */
static int
check_alias(const struct policy *p, size_t i, struct remit_error *err)
{
	const char *path = p->workspace_aliases.items[i];

	for (size_t k = 0; k <= i; k++) {
		const char *other =
			k < i ? p->workspace_aliases.items[k] : p->workspace;

		if (path_lies_in(path, other) || path_lies_in(other, path))
			return fail_refused(
				err, fields[F_WORKSPACE_ALIASES].name,
				"Choose paths that are not inside each other.",
				"%s and %s both lead to the workspace, and one "
				"is inside the other or equal to it",
				path, other);
	}
	return 0;
}

int
plan_check_workspace(const struct plan *p, struct remit_error *err)
{
	const struct policy *pol = p->policy;
	bool is_chosen = !field_is_default(pol, &fields[F_WORKSPACE]);
	size_t count = pol->workspace_aliases.count;

	if ((is_chosen || count) && !tiers[p->tier].jailed)
		return fail_refused(
			err,
			fields[is_chosen ? F_WORKSPACE : F_WORKSPACE_ALIASES]
				.name,
			"Use the tier local, or leave the field out.",
			"the tier \"%s\" has no workspace",
			tiers[p->tier].name);
	if (count > PLAN_ALIASES_MAX)
		return fail_refused(err, fields[F_WORKSPACE_ALIASES].name,
				    "List only the paths that code uses.",
				    "a jail may have at most %d of them",
				    PLAN_ALIASES_MAX);
	if (is_chosen && check_place(p, F_WORKSPACE, pol->workspace, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (check_alias(pol, i, err) < 0 ||
		    check_place(p, F_WORKSPACE_ALIASES,
				pol->workspace_aliases.items[i], err) < 0)
			return -1;
	return 0;
}
