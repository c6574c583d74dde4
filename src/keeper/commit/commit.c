#include "keeper/commit/commit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file/beneath.h"
#include "base/file/path.h"
#include "jail/mount/overlay.h"
#include "keeper/commit/staging.h"
#include "policy/rules/path_rule.h"

#define BY_OTHERS "changed by others during the run"
#define FAILED	  "writing it failed"

/* ---- one path ---- */

/* Returns the directory that must contain the path: the one that was compared,
   or one that this commit has made. */
static const struct stat *
expected_parent(const struct diff *s, const struct change *c, size_t len)
{
	const struct change *made;

	if (c->in.st_ino)
		return &c->in;
	made = changes_find(&s->changes, c->path, len);
	return made && !made->reason ? &made->seen : NULL;
}

/* Fails if another directory was put in its place since. */
static int
open_parent(const struct diff *s, const struct change *c, const char **name)
{
	const struct stat *meant;
	char directory[PATH_MAX] = ".";
	own_fd int fd = -1;
	struct stat st;
	size_t n;

	*name = path_name(c->path);
	n = (size_t)(*name - c->path);
	if (n) {
		memcpy(directory, c->path, n);
		directory[n - 1] = '\0';
	}
	meant = expected_parent(s, c, n ? n - 1 : 0);
	fd = beneath_open(s->host, directory, O_PATH | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!meant || st.st_ino != meant->st_ino ||
	    st.st_dev != meant->st_dev) {
		errno = ENOENT;
		return -1;
	}
	return take_fd(&fd);
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

/* Checks whether the file that was replaced, which now has this name in the
   stage, is the one that the code had seen. */
static const char *
check_replaced(const struct diff *s, const struct change *c, int stage,
	       const char *name)
{
	if (!is_as_seen(stage, name, &c->seen))
		return BY_OTHERS;
	if (S_ISDIR(c->seen.st_mode) &&
	    (!c->is_directory || c->kind == CHANGE_DELETED))
		return diff_check_removal(s, stage, name, c->path);
	return NULL;
}

/* The file in the stage was changed by others, and its place is taken by a
   second change of others. Save it next to its place. */
static void
save_beside(struct change *c, int stage, const char *staged, int parent)
{
	char beside[NAME_MAX + 1];

	snprintf(beside, sizeof(beside), "%.200s.remit-saved-%s",
		 path_name(c->path), staged);
	if (renameat2(stage, staged, parent, beside, RENAME_NOREPLACE) == 0)
		fail_change(c,
			    "changed by others twice: their first version was "
			    "saved next to it, as NAME.remit-saved-N",
			    0);
	else
		fail_change(c,
			    "changed by others twice, and their first version "
			    "is lost",
			    errno);
}

static ino_t
inode_of(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

/* Undoes an exchange of names. If the file that comes back is not ours, others
   have changed it again meanwhile. */
static void
exchange_back(struct change *c, const char *why, int stage, const char *staged,
	      int parent, ino_t ours)
{
	const char *name = path_name(c->path);

	fail_change(c, why, 0);
	if (renameat2(stage, staged, parent, name, RENAME_EXCHANGE) == 0) {
		if (inode_of(stage, staged) == ours)
			return;
		/* Put the newest version of the others back in its place. */
		renameat2(stage, staged, parent, name, RENAME_EXCHANGE);
	}
	save_beside(c, stage, staged, parent);
}

static void
put_in_place(struct diff *s, struct change *c, int stage, const char *staged)
{
	unsigned how = c->had ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	const char *name, *why;
	own_fd int parent = open_parent(s, c, &name);
	ino_t ours;

	if (fstatat(stage, staged, &c->placed, AT_SYMLINK_NOFOLLOW) < 0) {
		fail_change(c, FAILED, errno);
		return;
	}
	ours = c->placed.st_ino;
	if (parent < 0 || renameat2(stage, staged, parent, name, how) < 0) {
		fail_change(c, errno == EEXIST ? BY_OTHERS : FAILED,
			    errno == EEXIST ? 0 : errno);
		return;
	}
	why = c->had ? check_replaced(s, c, stage, staged) : NULL;
	if (why) {
		exchange_back(c, why, stage, staged, parent, ours);
	} else if (c->is_directory) {
		/* Check that the new directory is still ours, before files are
		   put into it. */
		if (fstatat(parent, name, &c->seen, AT_SYMLINK_NOFOLLOW) < 0 ||
		    c->seen.st_ino != ours)
			fail_change(c, BY_OTHERS, 0);
	}
}

static void
remove_from_host(struct diff *s, struct change *c, int stage,
		 const char *staged)
{
	const char *name, *why;
	own_fd int parent = open_parent(s, c, &name);

	if (parent < 0 || renameat(parent, name, stage, staged) < 0) {
		fail_change(c, errno == ENOENT ? BY_OTHERS : FAILED,
			    errno == ENOENT ? 0 : errno);
		return;
	}
	why = check_replaced(s, c, stage, staged);
	if (!why)
		return;
	fail_change(c, why, 0);
	if (renameat2(stage, staged, parent, name, RENAME_NOREPLACE) < 0)
		save_beside(c, stage, staged, parent);
}

static void
apply_mode(struct diff *s, struct change *c)
{
	own_fd int fd = beneath_open(s->host, c->path, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    (st.st_ino != c->seen.st_ino || st.st_dev != c->seen.st_dev))
		fail_change(c, BY_OTHERS, 0);
	else if (fd < 0 || fchmod(fd, (c->seen.st_mode & 07000) | c->mode) < 0)
		fail_change(c, FAILED, errno);
}

/* ---- all of them ---- */

static bool
is_written(const struct change *c)
{
	return !c->reason && c->kind != CHANGE_DELETED &&
	       c->kind != CHANGE_MODE;
}

/* If anything does not fit on the disk, no change is written at all. */
static int
stage_all(struct staging *st, struct diff *s)
{
	for (size_t i = 0; i < s->changes.count; i++) {
		struct change *c = &s->changes.items[i];

		if (is_written(c) &&
		    ((c->is_directory && s->goes_on &&
		      diff_make_opaque(s, c->path) < 0) ||
		     staging_copy(st, s, c, staging_name(st, i)) < 0)) {
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

/* Returns true if a directory above the path could not be made. */
static bool
lacks_directory(const struct changes *all, size_t i)
{
	const char *path = all->items[i].path;

	while (i-- > 0) {
		const struct change *c = &all->items[i];
		size_t n = strlen(c->path);

		if (c->is_directory && c->reason && c->kind != CHANGE_MODE &&
		    !strncmp(c->path, path, n) && path[n] == '/')
			return true;
	}
	return false;
}

/* Returns true if something was to be written and was skipped. */
static bool
has_skipped(const struct changes *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].reason &&
		    all->items[i].kind != CHANGE_DELETED &&
		    all->items[i].kind != CHANGE_MODE)
			return true;
	return false;
}

static void
skip_kind(struct changes *all, enum change_kind kind)
{
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].reason && all->items[i].kind == kind)
			fail_change(
				&all->items[i],
				"held back, because other changes were skipped",
				0);
}

static void
apply_changes(struct staging *st, struct diff *s)
{
	struct changes *all = &s->changes;
	bool lacking = false;

	for (size_t i = 0; i < all->count; i++) {
		struct change *c = &all->items[i];

		if (!is_written(c))
			continue;
		if (lacking && lacks_directory(all, i))
			fail_change(c, "its folder was not written", 0);
		else
			put_in_place(s, c, st->fd, staging_name(st, i));
		lacking |= c->is_directory && c->reason;
	}
	/* A moved file is a deletion and a creation: delete only if all
	   creations were written. */
	if (has_skipped(all))
		skip_kind(all, CHANGE_DELETED);
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].reason &&
		    all->items[i].kind == CHANGE_DELETED)
			remove_from_host(s, &all->items[i], st->fd,
					 staging_name(st, i));
	/* Modes come last, since a mode may forbid the other changes. */
	for (size_t i = all->count; i-- > 0;)
		if (!all->items[i].reason && all->items[i].kind == CHANGE_MODE)
			apply_mode(s, &all->items[i]);
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
write_changes(struct diff *s)
{
	own(staging) struct staging st = STAGING_INIT;

	/* A file was moved to a name that cannot be written. A modified file
	   may be the one that took its old name, so it must not replace it. */
	if (s->lost)
		skip_kind(&s->changes, CHANGE_MODIFIED);
	if (!has_any(&s->changes))
		return;
	if (staging_open(&st, s->host) < 0)
		skip_all(&s->changes,
			 errno == EINVAL ? "this file system cannot exchange "
					   "the names of two files"
					 : "making the staging folder failed");
	/* With syncfs(), a power failure leaves the old file or the new one as
	   well. */
	else if (stage_all(&st, s) < 0 || syncfs(st.fd) < 0)
		skip_all(&s->changes, "nothing was written, because one of the "
				      "changes could not be");
	else
		apply_changes(&st, s);
}

/* ---- state for the next commit ---- */

/* If the clock was set back, the tick may not come within this time. */
#define CTIME_WAIT_MAX_US 100000

/* Waits until later changes by others get another time than ours. */
static void
wait_for_tick(void)
{
	struct timespec latest = ctime_mark_latest();
	useconds_t tick = (useconds_t)ctime_mark_tick_us();

	for (uint64_t us = 0;
	     !ctime_mark_is_over(&latest) && us < CTIME_WAIT_MAX_US; us += tick)
		usleep(tick);
}

/* Leaves out a file that others have changed since. */
static int
remember_file(struct commit_state *k, const struct diff *s,
	      const struct change *c)
{
	const char *name;
	own_fd int parent = open_parent(s, c, &name);
	struct stat st;

	if (parent < 0 || !is_as_seen(parent, name, &c->placed) ||
	    fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return commit_state_add(k, s->root, c->path, &st);
}

static int
remember_change(struct commit_state *k, const struct diff *s,
		const struct change *c)
{
	own_mem char *above =
		strndup(c->path, (size_t)(path_name(c->path) - c->path));
	size_t n = above ? strlen(above) : 0;

	if (!above)
		return -1;
	/* Writing to a directory changes its time as well. */
	if (n) {
		above[n - 1] = '\0';
		if (c->in.st_ino &&
		    commit_state_add(k, s->root, above, &c->in) < 0)
			return -1;
	}
	if (c->kind == CHANGE_DELETED)
		return commit_state_add(k, s->root, c->path, NULL);
	if (c->is_directory)
		return commit_state_add(k, s->root, c->path, &c->seen);
	return remember_file(k, s, c);
}

/* Changes that are left out here, for lack of memory, will count as changes by
   others. */
static void
remember_all(struct commit_state *k, const struct diff *s)
{
	if (has_any(&s->changes))
		wait_for_tick();
	for (size_t i = 0; i < s->changes.count; i++)
		if (!s->changes.items[i].reason &&
		    remember_change(k, s, &s->changes.items[i]) < 0)
			break;
	commit_state_sort(k);
}

/* ---- all directories ---- */

/* Returns true if the path still leads to the directory that the run started
   with. */
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
			return fail_memory(err, "changes");
	}
	return 0;
}

static int
prepare_diff(struct diff *s, const struct commit_params *o,
	     struct remit_error *err)
{
	if (guard_list(&s->guarded, o->plan->interpreter, o->runtime_dir) < 0)
		return fail_memory(err, "changes");
	return copy_patterns(&s->allowed, &o->plan->policy->commit_names, err);
}

static int
commit_one(const struct commit_params *o, const struct plan_mount *m,
	   struct commit_state *state, struct change_lists *out,
	   struct remit_error *err)
{
	const struct write_root *w = &o->roots[m->write_root];
	struct diff s = {
		.host = w->host,
		.upper = w->upper,
		.since = o->since,
		.prior = state,
		.root = m->write_root,
		.goes_on = o->goes_on,
		.filters = plan_keeps(o->plan, MECH(COMMIT)),
	};
	char real[PATH_MAX];
	int done;

	s.path = realpath(m->host, real) ? real : m->host;
	done = prepare_diff(&s, o, err);
	if (done == 0)
		done = diff_run(&s, err);
	if (done == 0 && !is_in_place(m, w->host))
		skip_all(&s.changes, "the folder was replaced during the run");
	else if (done == 0 && !o->dry)
		write_changes(&s);
	if (done == 0 && !o->dry && s.goes_on)
		remember_all(state, &s);
	/* If one directory fails, changes that were written to others must
	   still be listed. */
	done = done == 0 ? change_lists_add(out, &s.changes, m)
			 : change_lists_fail(out, m, err->message);
	diff_free(&s);
	return done < 0 ? fail_memory(err, "changes") : 0;
}

int
commit_run(const struct commit_params *o, struct buf *out,
	   struct buf *next_state, struct remit_error *err)
{
	own(change_lists) struct change_lists lists = CHANGE_LISTS_INIT;
	own(commit_state) struct commit_state state = { 0 };

	if (commit_state_read(&state, o->prior->data, o->prior->len) < 0)
		return fail_memory(err, "changes");
	for (size_t i = 0; i < o->plan->mount_count; i++) {
		const struct plan_mount *m = &o->plan->mounts[i];

		if (m->write_root >= 0 && o->roots[m->write_root].upper >= 0 &&
		    commit_one(o, m, &state, &lists, err) < 0)
			return -1;
	}
	if (change_lists_write(&lists, out) < 0)
		return fail_memory(err, "changes");
	if (commit_state_write(&state, next_state) < 0)
		next_state->len = 0;
	return 0;
}
