/* path: directories of Remit, reading and writing whole files, plain paths. */
#include "base/file/path.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/own.h"

#include <cmocka.h>

static char directory[64];

static const char *
in_directory(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void
write_text(const char *path, const char *text)
{
	struct remit_error err;

	if (path_write_file(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.message);
}

static void
a_written_file_reads_back_and_is_private(void **state)
{
	own(buf) struct buf b = BUF_INIT(100);
	struct remit_error err;
	struct stat st;
	const char *path = in_directory("a");

	(void)state;
	write_text(path, "first");
	write_text(path, "second");
	assert_int_equal(path_read_file(&b, path, &err), 0);
	assert_string_equal(buf_text(&b), "second");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void
failed_write_leaves_no_file(void **state)
{
	struct remit_error err;
	char temp[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir(in_directory("taken"), 0700), 0);
	assert_int_equal(mkdir(in_directory("taken/x"), 0700), 0);
	assert_int_equal(path_write_file(in_directory("taken"), "x", 1, &err),
			 -1);
	assert_int_equal(err.code, REMIT_E_KERNEL);
	snprintf(temp, sizeof(temp), "%s/taken.%d.new", directory,
		 (int)getpid());
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(path_write_file(in_directory("no/file"), "x", 1, &err),
			 -1);
}

static void
a_file_longer_than_the_buffer_is_an_error(void **state)
{
	struct remit_error err;
	own(buf) struct buf fits = BUF_INIT(4);
	own(buf) struct buf b = BUF_INIT(3);

	(void)state;
	write_text(in_directory("long"), "abcd");
	assert_int_equal(path_read_file(&fits, in_directory("long"), &err), 0);
	assert_string_equal(buf_text(&fits), "abcd");
	assert_int_equal(path_read_file(&b, in_directory("long"), &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_int_equal(err.sys_errno, EFBIG);
}

/* A FIFO without a writer must not block the reader. */
static void
only_regular_files_are_read(void **state)
{
	own(buf) struct buf b = BUF_INIT(100);
	struct remit_error err;

	(void)state;
	assert_int_equal(mkfifo(in_directory("fifo"), 0600), 0);
	assert_int_equal(path_read_file(&b, in_directory("fifo"), &err), -1);
	assert_non_null(strstr(err.message, "is special"));
	assert_int_equal(path_read_file(&b, directory, &err), -1);
	assert_non_null(strstr(err.message, "is a folder"));
	assert_int_equal(path_read_file(&b, in_directory("none"), &err), -1);
	assert_int_equal(err.sys_errno, ENOENT);
}

static void
the_cache_directory_is_made_private_and_found_again(void **state)
{
	own_mem char *first = NULL;
	own_mem char *second = NULL;
	struct remit_error err;
	struct stat st;

	(void)state;
	setenv("XDG_CACHE_HOME", in_directory("cache"), 1);
	assert_int_equal(path_cache_dir(&first, &err), 0);
	assert_string_equal(first, in_directory("cache/remit"));
	assert_int_equal(stat(first, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(path_cache_dir(&second, &err), 0);
	assert_string_equal(second, first);
}

static void
home_is_used_where_the_cache_variable_is_not_absolute(void **state)
{
	own_mem char *path = NULL;
	struct remit_error err;

	(void)state;
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", directory, 1);
	assert_int_equal(path_cache_dir(&path, &err), 0);
	assert_string_equal(path, in_directory(".cache/remit"));
}

/* Callers free the pointer even after a failure, so it must not be set to freed
   memory. */
static void
cache_directory_writable_by_others_is_refused(void **state)
{
	char *path = NULL;
	struct remit_error err;

	(void)state;
	setenv("XDG_CACHE_HOME", in_directory("shared"), 1);
	assert_int_equal(mkdir(in_directory("shared"), 0700), 0);
	assert_int_equal(mkdir(in_directory("shared/remit"), 0700), 0);
	assert_int_equal(chmod(in_directory("shared/remit"), 0770), 0);
	assert_int_equal(path_cache_dir(&path, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_null(path);
}

static void
cache_trial_leaves_nothing_and_notices_a_full_disk(void **state)
{
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct remit_error err;
	struct rlimit before;
	char file[PATH_MAX];
	int done;

	(void)state;
	setenv("XDG_CACHE_HOME", directory, 1);
	snprintf(file, sizeof(file), "%s/remit/trial", directory);
	assert_int_equal(path_cache_try(&err), 0);
	assert_int_equal(access(file, F_OK), -1);

	/* A limit on the size of files fails a write as a full disk does. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	done = path_cache_try(&err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(done, -1);
	assert_int_equal(err.sys_errno, EFBIG);
	assert_int_equal(access(file, F_OK), -1);
}

static void
cache_path_that_is_a_file_is_refused(void **state)
{
	own_mem char *path = NULL;
	struct remit_error err;

	(void)state;
	write_text(in_directory("plain"), "");
	setenv("XDG_CACHE_HOME", in_directory("plain"), 1);
	assert_int_equal(path_cache_dir(&path, &err), -1);
	assert_null(path);
}

static void
finds_keeper(const char *runtime_dir, const char *want)
{
	char path[108] = "untouched";

	if (runtime_dir)
		setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	else
		unsetenv("XDG_RUNTIME_DIR");
	errno = 0;
	if (want) {
		assert_int_equal(path_keeper_socket(path, sizeof(path)), 0);
		assert_string_equal(path, want);
	} else {
		assert_int_equal(path_keeper_socket(path, sizeof(path)), -1);
		assert_int_equal(errno, ENOENT);
	}
}

static void
keeper_socket_is_in_the_runtime_directory(void **state)
{
	(void)state;
	finds_keeper("/run/user/7", "/run/user/7/remit/keeper.sock");
}

/* A relative path would change its meaning with the current directory. */
static void
keeper_socket_without_a_runtime_directory_exists_only_for_root(void **state)
{
	static const char *const no_directories[] = { NULL, "", "run",
						      "./run" };
	bool root = geteuid() == 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no_directories); i++)
		finds_keeper(no_directories[i],
			     root ? "/run/remit/keeper.sock" : NULL);
	if (!root)
		return;
	assert_int_equal(seteuid(65534), 0);
	for (size_t i = 0; i < ARRAY_LEN(no_directories); i++)
		finds_keeper(no_directories[i], NULL);
	assert_int_equal(seteuid(0), 0);
}

static void
keeper_socket_path_that_does_not_fit_is_an_error(void **state)
{
	const char *name = "/run/user/7/remit/keeper.sock";
	size_t len = strlen(name);
	char path[64];

	(void)state;
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	assert_int_equal(path_keeper_socket(path, len + 1), 0);
	assert_string_equal(path, name);
	for (size_t size = 1; size <= len; size++) {
		errno = 0;
		assert_int_equal(path_keeper_socket(path, size), -1);
		assert_int_equal(errno, ENAMETOOLONG);
	}
}

static void
own_directory_is_that_of_this_program(void **state)
{
	own_mem char *path = NULL;
	struct remit_error err;
	char name[PATH_MAX];

	(void)state;
	assert_int_equal(path_own_dir(&path, &err), 0);
	assert_int_equal(path[0], '/');
	snprintf(name, sizeof(name), "%s/test_path", path);
	assert_int_equal(access(name, X_OK), 0);
}

static int
make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/remit-test-path.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int
remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

/* ---- plain paths ---- */

static void
ordinary_names_are_plain(void **state)
{
	static const char *const good[] = {
		"a",
		"a b.csv",
		"100%.txt",
		"caf\xc3\xa9",
		"\xe6\x97\xa5.png",
		".hidden",
		"...",
		"a-b",
		"CON",
		"a\\b",
		"a:b",
		"$(x)",
		"a/b/c.txt",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!plain_path(good[i]))
			fail_msg("%s", good[i]);
}

static void
unusual_names_are_not_plain(void **state)
{
	static const char *const bad[] = {
		"",	 ".",	     "..",	     "/a",	 "a/",
		"a//b",	 "a/../b",   "a/./b",	     "../a",	 "-rf",
		"a/-rf", "a\nb",     "a\x1b[2J",     "a\x7f",	 "a\xff",
		"a\xc3", "\xc2\x9b", "\xed\xa0\x80", "\xc0\xaf", "\t",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (plain_path(bad[i]))
			fail_msg("%zu", i);
	assert_false(plain_name("a/b"));
}

static void
plain_path_has_a_maximum_length(void **state)
{
	char name[PLAIN_PATH_SIZE + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	assert_true(plain_name(name));
	name[255] = 'a';
	name[256] = '\0';
	assert_false(plain_name(name));
	memset(name, 'a', sizeof(name));
	for (size_t i = 100; i < sizeof(name); i += 100)
		name[i] = '/';
	name[PLAIN_PATH_SIZE - 1] = '\0';
	assert_true(plain_path(name));
	name[PLAIN_PATH_SIZE - 1] = 'a';
	name[PLAIN_PATH_SIZE] = '\0';
	assert_false(plain_path(name));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_written_file_reads_back_and_is_private),
		cmocka_unit_test(failed_write_leaves_no_file),
		cmocka_unit_test(a_file_longer_than_the_buffer_is_an_error),
		cmocka_unit_test(only_regular_files_are_read),
		cmocka_unit_test(
			the_cache_directory_is_made_private_and_found_again),
		cmocka_unit_test(
			home_is_used_where_the_cache_variable_is_not_absolute),
		cmocka_unit_test(cache_directory_writable_by_others_is_refused),
		cmocka_unit_test(
			cache_trial_leaves_nothing_and_notices_a_full_disk),
		cmocka_unit_test(cache_path_that_is_a_file_is_refused),
		cmocka_unit_test(keeper_socket_is_in_the_runtime_directory),
		cmocka_unit_test(
			keeper_socket_without_a_runtime_directory_exists_only_for_root),
		cmocka_unit_test(
			keeper_socket_path_that_does_not_fit_is_an_error),
		cmocka_unit_test(own_directory_is_that_of_this_program),
		cmocka_unit_test(ordinary_names_are_plain),
		cmocka_unit_test(unusual_names_are_not_plain),
		cmocka_unit_test(plain_path_has_a_maximum_length),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
