/* commit: a hostile overlay, and a directory of the host. */
#include "keeper/commit/commit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "wire/record.h"

#include <cmocka.h>

static const struct interpreter python = {
	.executable = (char *)"/usr/bin/python3",
	.real = (char *)"/usr/bin/python3",
};

struct site {
	char directory[64];
	char host_path[80];
	struct policy policy;
	struct plan plan;
	struct plan_mount mount;
	struct write_root root;
	struct commit_params params;
	struct buf prior;
	json_t *result;
};

static int
make_directory(const char *top, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return mkdir(path, 0755) < 0
		       ? -1
		       : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
set_up(void **state)
{
	struct site *s = calloc(1, sizeof(*s));

	snprintf(s->directory, sizeof(s->directory),
		 "/var/tmp/remit-commit-XXXXXX");
	if (!mkdtemp(s->directory) || policy_init(&s->policy) < 0)
		return -1;
	snprintf(s->host_path, sizeof(s->host_path), "%s/host", s->directory);
	s->root.host = make_directory(s->directory, "host");
	s->root.upper = make_directory(s->directory, "upper");
	s->mount = (struct plan_mount){
		.host = s->host_path,
		.jail = "/data",
		.mode = MOUNT_RW,
	};
	s->plan = (struct plan){
		.policy = &s->policy,
		.interpreter = &python,
		.mounts = &s->mount,
		.mount_count = 1,
		.write_roots = 1,
	};
	s->params = (struct commit_params){
		.plan = &s->plan,
		.roots = &s->root,
		.runtime_dir = "/nonexistent",
		.prior = &s->prior,
	};
	s->prior = (struct buf)BUF_INIT(COMMIT_STATE_MAX);
	*state = s;
	return s->root.host < 0 || s->root.upper < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	struct site *s = *state;
	char command[128];

	write_root_close(&s->root);
	policy_free(&s->policy);
	buf_free(&s->prior);
	json_decref(s->result);
	snprintf(command, sizeof(command), "rm -rf %s", s->directory);
	assert_int_equal(system(command), 0); /* NOLINT */
	free(s);
	return 0;
}

static void
put(int at, const char *path, const char *text)
{
	own_fd int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static const char *
text(int at, const char *path)
{
	static char out[64];
	own_fd int fd = openat(at, path, O_RDONLY | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, out, sizeof(out) - 1);

	if (n < 0)
		return NULL;
	out[n] = '\0';
	return out;
}

/* From now on, changes on the host count as changes by others. */
static void
begin(struct site *s)
{
	struct timespec fork_requested = ctime_mark_latest();

	while (!ctime_mark_is_over(&fork_requested))
		usleep(1000); /* a look now and then */
	s->params.since = ctime_mark_now();
}

static void
end(struct site *s)
{
	own(buf) struct buf members = BUF_INIT(2 << 20);
	struct buf prior = BUF_INIT(COMMIT_STATE_MAX);
	struct remit_error err;
	json_error_t where;
	struct record r;
	size_t at = 0;

	assert_int_equal(commit_run(&s->params, &members, &prior, &err), 0);
	buf_free(&s->prior);
	s->prior = prior;
	assert_int_equal(record_check(members.data, members.len, &err), 0);
	json_decref(s->result);
	s->result = json_object();
	while (record_next(members.data, members.len, &at, &r)) {
		json_t *list = json_loads(r.value, 0, &where);

		if (!list)
			fail_msg("%s: %s", where.text, r.value);
		json_object_set_new(s->result, r.key, list);
	}
	assert_int_equal(json_object_size(s->result), 2);
}

static const char *
of(const struct site *s, const char *list, const char *path, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(s->result, list), i, row)
	{
		if (!strcmp(json_string_value(json_object_get(row, "path")),
			    path))
			return json_string_value(json_object_get(row, key));
	}
	return NULL;
}

static void
written(const struct site *s, const char *path, const char *kind)
{
	const char *is = of(s, "changes", path, "kind");

	if (!is || strcmp(is, kind) != 0)
		fail_msg("%s: %s, not %s", path, is ? is : "nothing", kind);
}

static void
skipped(const struct site *s, const char *path, const char *why)
{
	const char *is = of(s, "changes_skipped", path, "reason");

	if (!is || !strstr(is, why))
		fail_msg("%s: %s, not %s", path, is ? is : "nothing", why);
}

static size_t
count(const struct site *s, const char *list)
{
	return json_array_size(json_object_get(s->result, list));
}

/* As the kernel records that a name was deleted. */
static void
whiteout(const struct site *s, const char *path)
{
	assert_int_equal(mknodat(s->root.upper, path, S_IFCHR, makedev(0, 0)),
			 0);
}

static void
special_files_are_never_written(void **state)
{
	struct site *s = *state;

	begin(s);
	assert_int_equal(mkfifoat(s->root.upper, "fifo", 0600), 0);
	assert_int_equal(symlinkat("/etc/passwd", s->root.upper, "link"), 0);
	put(s->root.upper, "one", "x");
	assert_int_equal(linkat(s->root.upper, "one", s->root.upper, "two", 0),
			 0);
	put(s->root.upper, "setuid", "x");
	assert_int_equal(fchmodat(s->root.upper, "setuid", 04755, 0), 0);
	put(s->root.upper, "fine", "x");
	end(s);
	assert_int_equal(count(s, "changes"), 1);
	written(s, "/data/fine", "created");
	skipped(s, "/data/fifo", "not a regular file");
	skipped(s, "/data/link", "a symbolic link");
	skipped(s, "/data/one", "hard links");
	skipped(s, "/data/two", "hard links");
	skipped(s, "/data/setuid", "setuid");
	assert_null(text(s->root.host, "link"));
	assert_string_equal(text(s->root.host, "fine"), "x");
}

static void
overlay_directory_does_not_follow_a_link_of_the_host(void **state)
{
	struct site *s = *state;
	own_fd int outside = make_directory(s->directory, "outside");
	char target[96];

	snprintf(target, sizeof(target), "%s/outside", s->directory);
	assert_int_equal(symlinkat(target, s->root.host, "dir"), 0);
	begin(s);
	assert_int_equal(mkdirat(s->root.upper, "dir", 0755), 0);
	put(s->root.upper, "dir/evil", "x");
	end(s);
	assert_null(text(outside, "evil"));
	written(s, "/data/dir/", "modified");
	assert_string_equal(text(s->root.host, "dir/evil"), "x");
}

static void
directory_replaced_by_a_link_is_not_followed(void **state)
{
	struct site *s = *state;
	own_fd int outside = make_directory(s->directory, "outside");
	char target[96];

	snprintf(target, sizeof(target), "%s/outside", s->directory);
	assert_int_equal(mkdirat(s->root.host, "dir", 0755), 0);
	begin(s);
	assert_int_equal(mkdirat(s->root.upper, "dir", 0755), 0);
	put(s->root.upper, "dir/evil", "x");
	assert_int_equal(unlinkat(s->root.host, "dir", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat(target, s->root.host, "dir"), 0);
	end(s);
	assert_int_equal(count(s, "changes"), 0);
	skipped(s, "/data/dir/", "changed by others");
	assert_null(text(outside, "evil"));
}

static void
whiteouts_and_opaque_directories_delete(void **state)
{
	struct site *s = *state;
	own_fd int dir = -1;

	put(s->root.host, "gone", "x");
	assert_int_equal(mkdirat(s->root.host, "dir", 0755), 0);
	put(s->root.host, "dir/hidden", "x");
	put(s->root.host, "dir/again", "old");
	begin(s);
	whiteout(s, "gone");
	whiteout(s, "never-was");
	assert_int_equal(mkdirat(s->root.upper, "dir", 0755), 0);
	put(s->root.upper, "dir/again", "new");
	dir = openat(s->root.upper, "dir", O_RDONLY | O_DIRECTORY);
	assert_int_equal(fsetxattr(dir, "user.overlay.opaque", "y", 1, 0), 0);
	end(s);
	assert_int_equal(count(s, "changes"), 3);
	assert_int_equal(count(s, "changes_skipped"), 0);
	written(s, "/data/gone", "deleted");
	written(s, "/data/dir/hidden", "deleted");
	written(s, "/data/dir/again", "modified");
	assert_null(text(s->root.host, "gone"));
	assert_null(text(s->root.host, "dir/hidden"));
	assert_string_equal(text(s->root.host, "dir/again"), "new");
}

static void
concurrent_changes_are_not_overwritten(void **state)
{
	struct site *s = *state;

	put(s->root.host, "a", "old");
	put(s->root.host, "b", "old");
	put(s->root.host, "c", "old");
	begin(s);
	put(s->root.upper, "a", "new");
	put(s->root.upper, "b", "new");
	put(s->root.upper, "fresh", "new");
	whiteout(s, "c");
	put(s->root.host, "a", "theirs");
	put(s->root.host, "c", "theirs");
	put(s->root.host, "fresh", "theirs");
	end(s);
	assert_int_equal(count(s, "changes"), 1);
	written(s, "/data/b", "modified");
	skipped(s, "/data/a", "changed by others");
	skipped(s, "/data/c", "changed by others");
	skipped(s, "/data/fresh", "changed by others");
	assert_string_equal(text(s->root.host, "a"), "theirs");
	assert_string_equal(text(s->root.host, "c"), "theirs");
	assert_string_equal(text(s->root.host, "fresh"), "theirs");
}

static void
clock_set_back_prevents_the_commit(void **state)
{
	struct site *s = *state;

	put(s->root.host, "a", "old");
	begin(s);
	s->params.since.offset_ns += INT64_C(3600) * 1000000000;
	put(s->root.upper, "a", "new");
	put(s->root.upper, "b", "new");
	end(s);
	skipped(s, "/data/a", "the clock was set back");
	assert_string_equal(text(s->root.host, "a"), "old");
	written(s, "/data/b", "created");
}

static void
dry_run_writes_nothing(void **state)
{
	struct site *s = *state;

	put(s->root.host, "a", "old");
	begin(s);
	s->params.dry = true;
	put(s->root.upper, "a", "new");
	put(s->root.upper, "b", "new");
	end(s);
	assert_int_equal(count(s, "changes"), 2);
	assert_string_equal(text(s->root.host, "a"), "old");
	assert_null(text(s->root.host, "b"));
}

static void
make_stage(const struct site *s, const char *name, mode_t mode)
{
	assert_int_equal(mkdirat(s->root.host, name, 0700), 0);
	assert_int_equal(fchmodat(s->root.host, name, mode, 0), 0);
}

static bool
is_there(const struct site *s, const char *path)
{
	return faccessat(s->root.host, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
only_stages_left_by_a_killed_keeper_are_removed(void **state)
{
	struct site *s = *state;
	own_fd int used = -1;

	make_stage(s, ".remit-stage-0", 0700); /* in use */
	put(s->root.host, ".remit-stage-0/of-remit", "");
	used = openat(s->root.host, ".remit-stage-0", O_RDONLY);
	assert_int_equal(flock(used, LOCK_EX), 0);
	make_stage(s, ".remit-stage-1", 0700); /* a directory of another user */
	put(s->root.host, ".remit-stage-1/theirs", "x");
	make_stage(s, ".remit-stage-2",
		   0755); /* others could have made the marker */
	put(s->root.host, ".remit-stage-2/of-remit", "");
	assert_int_equal(symlinkat(".", s->root.host, ".remit-stage-3"), 0);
	make_stage(s, ".remit-stage-4", 0700); /* left over */
	put(s->root.host, ".remit-stage-4/of-remit", "");
	put(s->root.host, ".remit-stage-4/1", "x");
	begin(s);
	put(s->root.upper, "a", "new");
	end(s);
	written(s, "/data/a", "created");
	assert_true(is_there(s, ".remit-stage-0/of-remit"));
	assert_true(is_there(s, ".remit-stage-1/theirs"));
	assert_true(is_there(s, ".remit-stage-2/of-remit"));
	assert_true(is_there(s, ".remit-stage-3"));
	assert_false(is_there(s, ".remit-stage-4"));
}

/* As the kernel records it when a file of the host is renamed. */
static void
move(const struct site *s, const char *path, const char *content)
{
	own_fd int fd = -1;

	put(s->root.upper, path, content);
	fd = openat(s->root.upper, path, O_RDONLY);
	assert_int_equal(fsetxattr(fd, "user.overlay.origin", "x", 1, 0), 0);
}

static void
moved_file_is_written_under_its_new_name(void **state)
{
	struct site *s = *state;

	put(s->root.host, "a", "a");
	put(s->root.host, "b", "b");
	begin(s);
	whiteout(s, "a");
	move(s, "c", "a");
	move(s, "b.bak", "b");
	put(s->root.upper, "b", "new");
	end(s);
	assert_int_equal(count(s, "changes_skipped"), 0);
	assert_null(text(s->root.host, "a"));
	assert_string_equal(text(s->root.host, "c"), "a");
	assert_string_equal(text(s->root.host, "b.bak"), "b");
	assert_string_equal(text(s->root.host, "b"), "new");
}

static void
file_moved_to_a_refused_name_keeps_the_old_one(void **state)
{
	struct site *s = *state;

	put(s->root.host, "a", "a");
	put(s->root.host, "b", "b");
	begin(s);
	whiteout(s, "a");
	move(s, ".a", "a");
	move(s, ".b", "b");
	put(s->root.upper, "b", "new");
	put(s->root.upper, "c", "new");
	end(s);
	skipped(s, "/data/.a", "protected");
	skipped(s, "/data/a", "held back");
	skipped(s, "/data/b", "held back");
	written(s, "/data/c", "created");
	assert_string_equal(text(s->root.host, "a"), "a");
	assert_string_equal(text(s->root.host, "b"), "b");
}

static void
virtual_environments_and_the_interpreter_are_kept(void **state)
{
	struct site *s = *state;
	char python_here[96];
	struct interpreter in = { .executable = python_here };

	snprintf(python_here, sizeof(python_here), "%s/tools/py", s->host_path);
	s->plan.interpreter = &in;
	assert_int_equal(mkdirat(s->root.host, "tools", 0755), 0);
	put(s->root.host, "tools/py", "real");
	assert_int_equal(mkdirat(s->root.host, "env", 0755), 0);
	put(s->root.host, "env/pyvenv.cfg", "");
	begin(s);
	assert_int_equal(mkdirat(s->root.upper, "tools", 0755), 0);
	put(s->root.upper, "tools/py", "evil");
	put(s->root.upper, "tools/other", "x");
	assert_int_equal(mkdirat(s->root.upper, "env", 0755), 0);
	put(s->root.upper, "env/activate", "evil");
	end(s);
	skipped(s, "/data/tools/py", "interpreter");
	skipped(s, "/data/env/", "virtual environment");
	written(s, "/data/tools/other", "created");
	assert_string_equal(text(s->root.host, "tools/py"), "real");
	assert_null(text(s->root.host, "env/activate"));
}

static void
the_directory_of_the_interpreter_is_not_removed(void **state)
{
	struct site *s = *state;
	char python_here[96];
	struct interpreter in = { .executable = python_here };

	snprintf(python_here, sizeof(python_here), "%s/a/b/py", s->host_path);
	s->plan.interpreter = &in;
	assert_int_equal(mkdirat(s->root.host, "a", 0755), 0);
	assert_int_equal(mkdirat(s->root.host, "a/b", 0755), 0);
	put(s->root.host, "a/b/py", "real");
	begin(s);
	whiteout(s, "a");
	end(s);
	skipped(s, "/data/a/", "interpreter");
	assert_string_equal(text(s->root.host, "a/b/py"), "real");
}

/* ---- several commits of one overlay ---- */

static void
set_off(struct site *s)
{
	put(s->root.host, "old", "old");
	assert_int_equal(mkdirat(s->root.host, "dir", 0755), 0);
	put(s->root.host, "dir/old", "old");
	begin(s);
	s->params.goes_on = true;
	put(s->root.upper, "old", "one");
	put(s->root.upper, "new", "one");
	assert_int_equal(mkdirat(s->root.upper, "dir", 0755), 0);
	put(s->root.upper, "dir/old", "one");
	assert_int_equal(mkdirat(s->root.upper, "fresh", 0755), 0);
	put(s->root.upper, "fresh/a", "one");
	put(s->root.upper, "fresh/b", "one");
	end(s);
	assert_int_equal(count(s, "changes"), 6);
	assert_int_equal(count(s, "changes_skipped"), 0);
}

static void
committed_file_is_not_a_change(void **state)
{
	struct site *s = *state;

	set_off(s);
	end(s);
	assert_int_equal(count(s, "changes"), 0);
	assert_int_equal(count(s, "changes_skipped"), 0);
}

static void
committed_file_can_be_changed_again(void **state)
{
	struct site *s = *state;

	set_off(s);
	put(s->root.upper, "old", "two");
	put(s->root.upper, "dir/old", "two");
	put(s->root.upper, "fresh/a", "two");
	assert_int_equal(unlinkat(s->root.upper, "fresh/b", 0), 0);
	assert_int_equal(unlinkat(s->root.upper, "new", 0), 0);
	whiteout(s, "new");
	end(s);
	assert_int_equal(count(s, "changes_skipped"), 0);
	assert_int_equal(count(s, "changes"), 5);
	written(s, "/data/fresh/b", "deleted");
	written(s, "/data/new", "deleted");
	assert_string_equal(text(s->root.host, "old"), "two");
	assert_string_equal(text(s->root.host, "dir/old"), "two");
	assert_string_equal(text(s->root.host, "fresh/a"), "two");
	assert_null(text(s->root.host, "fresh/b"));
	put(s->root.upper, "fresh/b", "three");
	end(s);
	written(s, "/data/fresh/b", "created");
	assert_string_equal(text(s->root.host, "fresh/b"), "three");
}

/* However often the session commits meanwhile. */
static void
changes_by_others_after_a_commit_are_kept(void **state)
{
	struct site *s = *state;

	set_off(s);
	put(s->root.host, "old", "theirs");
	put(s->root.host, "fresh/c", "theirs");
	assert_int_equal(unlinkat(s->root.host, "fresh/a", 0), 0);
	put(s->root.upper, "old", "two");
	put(s->root.upper, "fresh/a", "two");
	for (int i = 0; i < 3; i++) {
		end(s);
		skipped(s, "/data/old", "changed by others");
		skipped(s, "/data/fresh/c", "changed by others");
		skipped(s, "/data/fresh/a", "deleted by others");
		assert_int_equal(count(s, "changes"), 0);
		assert_string_equal(text(s->root.host, "old"), "theirs");
		assert_string_equal(text(s->root.host, "fresh/c"), "theirs");
		assert_null(text(s->root.host, "fresh/a"));
	}
}

static void
a_committed_directory_is_removed_unless_others_have_put_something_into_it(
	void **state)
{
	struct site *s = *state;

	set_off(s);
	assert_int_equal(unlinkat(s->root.upper, "fresh/a", 0), 0);
	assert_int_equal(unlinkat(s->root.upper, "fresh/b", 0), 0);
	assert_int_equal(unlinkat(s->root.upper, "fresh", AT_REMOVEDIR), 0);
	whiteout(s, "fresh");
	put(s->root.host, "fresh/theirs", "x");
	end(s);
	skipped(s, "/data/fresh/", "changed by others");
	assert_int_equal(unlinkat(s->root.host, "fresh/theirs", 0), 0);
	end(s);
	written(s, "/data/fresh/", "deleted");
	assert_int_equal(faccessat(s->root.host, "fresh", F_OK, 0), -1);
}

static void
directory_that_replaced_a_committed_one_is_not_written(void **state)
{
	struct site *s = *state;

	set_off(s);
	assert_int_equal(renameat(s->root.host, "dir", s->root.host, "moved"),
			 0);
	assert_int_equal(renameat(s->root.host, "fresh", s->root.host, "dir"),
			 0);
	put(s->root.upper, "dir/old", "two");
	end(s);
	assert_int_equal(count(s, "changes"), 0);
	assert_null(text(s->root.host, "dir/old"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(special_files_are_never_written,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			overlay_directory_does_not_follow_a_link_of_the_host,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			directory_replaced_by_a_link_is_not_followed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			whiteouts_and_opaque_directories_delete, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			concurrent_changes_are_not_overwritten, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			clock_set_back_prevents_the_commit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dry_run_writes_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			only_stages_left_by_a_killed_keeper_are_removed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			moved_file_is_written_under_its_new_name, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			file_moved_to_a_refused_name_keeps_the_old_one, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			virtual_environments_and_the_interpreter_are_kept,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_directory_of_the_interpreter_is_not_removed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(committed_file_is_not_a_change,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			committed_file_can_be_changed_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			changes_by_others_after_a_commit_are_kept, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_committed_directory_is_removed_unless_others_have_put_something_into_it,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			directory_that_replaced_a_committed_one_is_not_written,
			set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
