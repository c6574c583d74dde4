#include "commit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "beneath.h"
#include "path_rule.h"
#include "staging.h"

#define BY_OTHERS "changed by others during the run"
#define FAILED	  "it could not be written"

/* ---- one path ---- */

static const char *
last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder a path is in. */
static int
open_parent(int top, const char *path, const char **name)
{
	char folder[PATH_MAX] = ".";
	size_t n;

	*name = last_name(path);
	n = (size_t)(*name - path);
	if (n) {
		memcpy(folder, path, n);
		folder[n - 1] = '\0';
	}
	return beneath_open(top, folder, O_PATH | O_DIRECTORY);
}

static bool
is_as_seen(int at, const char *name, const struct stat *seen)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == seen->st_dev && st.st_ino == seen->st_ino &&
	       st.st_mode == seen->st_mode && st.st_size == seen->st_size &&
	       st.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
}

static void
fail_change(struct change *c, const char *why, int sys_errno)
{
	c->reason = why;
	c->sys_errno = sys_errno;
}

/* What was there lies in the stage now, under this name: was it what the code
   had seen? */
static const char *
check_taken(const struct survey *s, const struct change *c, int stage,
	    const char *name)
{
	if (!is_as_seen(stage, name, &c->seen))
		return BY_OTHERS;
	if (S_ISDIR(c->seen.st_mode) &&
	    (!c->is_folder || c->kind == CHANGE_DELETED))
		return survey_check_removal(s, stage, name, c->path);
	return NULL;
}

/* What was taken is somebody else's work: if its place is gone by now, it goes
   beside it. */
static void
put_back(struct change *c, const char *why, int stage, const char *staged,
	 int parent, unsigned how)
{
	const char *name = last_name(c->path);
	char beside[NAME_MAX + 1];

	fail_change(c, why, 0);
	if (renameat2(stage, staged, parent, name, how) == 0)
		return;
	snprintf(beside, sizeof(beside), "%.200s.remit-saved-%s", name, staged);
	if (renameat2(stage, staged, parent, beside, RENAME_NOREPLACE) == 0)
		fail_change(c,
			    "changed by others twice: what was there is "
			    "beside it, as .remit-saved",
			    0);
	else
		fail_change(c, "changed by others twice, and lost", errno);
}

static void
put_in_place(struct survey *s, struct change *c, int stage, const char *staged)
{
	unsigned how = c->had ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	const char *name, *why;
	own_fd int parent = open_parent(s->host, c->path, &name);

	if (parent < 0 || renameat2(stage, staged, parent, name, how) < 0) {
		fail_change(c, errno == EEXIST ? BY_OTHERS : FAILED,
			    errno == EEXIST ? 0 : errno);
		return;
	}
	why = c->had ? check_taken(s, c, stage, staged) : NULL;
	if (why)
		put_back(c, why, stage, staged, parent, RENAME_EXCHANGE);
}

static void
take_away(struct survey *s, struct change *c, int stage, const char *staged)
{
	const char *name, *why;
	own_fd int parent = open_parent(s->host, c->path, &name);

	if (parent < 0 || renameat(parent, name, stage, staged) < 0) {
		fail_change(c, errno == ENOENT ? BY_OTHERS : FAILED,
			    errno == ENOENT ? 0 : errno);
		return;
	}
	why = check_taken(s, c, stage, staged);
	if (why)
		put_back(c, why, stage, staged, parent, RENAME_NOREPLACE);
}

static void
set_mode(struct survey *s, struct change *c)
{
	own_fd int fd = beneath_open(s->host, c->path, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    (st.st_ino != c->seen.st_ino || st.st_dev != c->seen.st_dev))
		fail_change(c, BY_OTHERS, 0);
	else if (fd < 0 || fchmod(fd, c->mode) < 0)
		fail_change(c, FAILED, errno);
}

/* ---- all of them ---- */

static bool
is_written(const struct change *c)
{
	return !c->reason && c->kind != CHANGE_DELETED &&
	       c->kind != CHANGE_MODE;
}

/* All or nothing: what does not fit must not leave half of the rest. */
static int
stage_all(struct staging *st, struct survey *s)
{
	for (size_t i = 0; i < s->changes.count; i++) {
		struct change *c = &s->changes.items[i];

		if (is_written(c) &&
		    staging_copy(st, s, c, staging_name(st, i)) < 0) {
			fail_change(c, FAILED, errno);
			return -1;
		}
	}
	return 0;
}

static void
skip_all(struct changes *all, const char *why)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].reason)
			fail_change(&all->items[i], why, 0);
}

/* What lies in a folder that could not be made has no place. */
static bool
lacks_folder(const struct changes *all, size_t i)
{
	const char *path = all->items[i].path;

	while (i-- > 0) {
		const struct change *c = &all->items[i];
		size_t n = strlen(c->path);

		if (c->is_folder && c->reason && c->kind != CHANGE_MODE &&
		    !strncmp(c->path, path, n) && path[n] == '/')
			return true;
	}
	return false;
}

static void
apply(struct staging *st, struct survey *s)
{
	struct changes *all = &s->changes;
	bool lacking = false;

	for (size_t i = 0; i < all->count; i++) {
		struct change *c = &all->items[i];

		if (!is_written(c))
			continue;
		if (lacking && lacks_folder(all, i))
			fail_change(c, "its folder was not written", 0);
		else
			put_in_place(s, c, st->fd, staging_name(st, i));
		lacking |= c->is_folder && c->reason;
	}
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].reason &&
		    all->items[i].kind == CHANGE_DELETED)
			take_away(s, &all->items[i], st->fd,
				  staging_name(st, i));
	/* Last, since a mode may forbid what comes before. */
	for (size_t i = all->count; i-- > 0;)
		if (!all->items[i].reason && all->items[i].kind == CHANGE_MODE)
			set_mode(s, &all->items[i]);
}

static bool
has_any(const struct changes *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].reason)
			return true;
	return false;
}

static void
write_changes(struct survey *s, const char *id)
{
	own(staging) struct staging st = STAGING_INIT;

	if (!has_any(&s->changes))
		return;
	if (staging_open(&st, s->host, id) < 0)
		skip_all(&s->changes, "no folder for copies could be made");
	else if (stage_all(&st, s) < 0)
		skip_all(&s->changes, "nothing was written, since not all "
				      "could be");
	else
		apply(&st, s);
}

/* ---- all folders ---- */

/* The path still leads to the folder that the run has begun with. */
static bool
is_in_place(const struct plan_mount *m, int host)
{
	struct stat then, now;

	return fstat(host, &then) == 0 && stat(m->host, &now) == 0 &&
	       then.st_dev == now.st_dev && then.st_ino == now.st_ino;
}

static int
copy_patterns(struct list *to, const struct list *from, struct remit_error *err)
{
	char pattern[PATH_RULE_SIZE];

	for (size_t i = 0; i < from->count; i++) {
		if (path_rule_below(from->items[i], pattern, "commit_names",
				    err) < 0)
			return -1;
		if (list_add(to, pattern) < 0)
			return fail_sys(err, REMIT_E_MEMORY, "changes");
	}
	return 0;
}

static int
commit_one(const struct commit_order *o, const struct plan_mount *m,
	   struct change_lists *out, struct remit_error *err)
{
	const struct write_root *w = &o->roots[m->write_root];
	struct survey s = {
		.host = w->host,
		.upper = w->upper,
		.since = o->since,
		.filters = plan_keeps(o->plan, MECH(COMMIT)),
	};
	int done = -1;

	if (copy_patterns(&s.allowed, &o->plan->policy->commit_names, err) ==
		    0 &&
	    survey_run(&s, err) == 0) {
		if (!is_in_place(m, w->host))
			skip_all(&s.changes, "the folder was replaced during "
					     "the run");
		else if (!o->dry)
			write_changes(&s, o->id);
		done = change_lists_add(out, &s.changes, m);
		if (done < 0)
			fail_sys(err, REMIT_E_MEMORY, "changes");
	}
	changes_free(&s.changes);
	list_free(&s.allowed);
	return done;
}

int
commit_run(const struct commit_order *o, struct buf *out,
	   struct remit_error *err)
{
	own(change_lists) struct change_lists lists = CHANGE_LISTS_INIT;

	for (size_t i = 0; i < o->plan->mount_count; i++) {
		const struct plan_mount *m = &o->plan->mounts[i];

		if (m->write_root >= 0 && o->roots[m->write_root].upper >= 0 &&
		    commit_one(o, m, &lists, err) < 0)
			return -1;
	}
	if (change_lists_write(&lists, out) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "changes");
	return 0;
}
