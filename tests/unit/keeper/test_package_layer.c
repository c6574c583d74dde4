/*
 * package_layer: an installation is found again completely or not at all,
 * whatever the hostile list of its files contains.
 */
#include "keeper/packages/package_layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "jail/mount/sweep.h"
#include "keeper/packages/package_layer_list.h"
#include "keeper/packages/package_layer_make.h"
#include "keeper/packages/package_layer_prune.h"
#include "policy/fields/field.h"
#include "wire/record.h"

static char cache[] = "/tmp/remit-test-layer-XXXXXX";
static const struct interpreter python = { .executable = "/usr/bin/python3",
					   .real = "/usr/bin/python3" };
#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(cache) ? setenv("XDG_CACHE_HOME", cache, 1) : -1;
}

static int
tear_down(void **state)
{
	int fd = open(cache, O_RDONLY | O_DIRECTORY);

	(void)state;
	if (sweep(fd) < 0)
		return -1;
	close(fd);
	return rmdir(cache);
}

static size_t
entries(const char *name)
{
	struct remit_error err;
	DIR *d = fdopendir(package_layer_directory(name, &err));
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void
give(struct package_layer_make *m, const char *path, const char *bytes,
     size_t len)
{
	struct remit_error err;

	if (package_layer_make_file(m, path, len, &err) < 0 ||
	    (len && package_layer_make_add(m, bytes, len, &err) < 0))
		fail_msg("%s", err.message);
}

/* Makes a layer with two files of these names. */
static int
make_for(const char *tenant, const char *key, const char *first,
	 const char *second, struct remit_error *err)
{
	own(package_layer_make) struct package_layer_make m =
		PACKAGE_LAYER_MAKE_INIT;
	own(policy) struct policy p;
	own(buf) struct buf about = BUF_INIT(4096);
	char whole_key[SHA256_TEXT] = "";

	snprintf(whole_key, sizeof(whole_key), "%s", key);
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(record_add(&about, "wheel", "x==1.0 abc"), 0);
	assert_int_equal(record_add(&about, "file", first), 0);
	assert_int_equal(record_add(&about, "program", second), 0);
	assert_int_equal(package_layer_make_open(&m, err), 0);
	give(&m, "out/1", "#!", 2);
	give(&m, "out/about", about.data, about.len);
	give(&m, "out/0", "x = 1\n", 6);
	return package_layer_make_finish(&m, whole_key, tenant, &p, &python,
					 err);
}

static int
make(const char *key, const char *first, const char *second,
     struct remit_error *err)
{
	return make_for(NULL, key, first, second, err);
}

static void
found(const char *key, struct package_layer *s)
{
	*s = (struct package_layer)PACKAGE_LAYER_INIT;
	assert_int_equal(package_layer_find(s, key, NULL), PACKAGE_LAYER_WHOLE);
}

static unsigned
mode_of(const struct package_layer *s, const char *name)
{
	struct stat st;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", s->site, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void
layer_is_found_and_read_only(void **state)
{
	own(package_layer) struct package_layer s = PACKAGE_LAYER_INIT,
						none = PACKAGE_LAYER_INIT;
	struct remit_error err;

	(void)state;
	assert_int_equal(package_layer_find(&none, KEY, NULL),
			 PACKAGE_LAYER_ABSENT);
	if (make(KEY, "x/__init__.py", "bin/.x", &err) < 0)
		fail_msg("%s", err.message);
	found(KEY, &s);
	assert_int_equal(mode_of(&s, ""), 0555);
	assert_int_equal(mode_of(&s, "x"), 0555);
	assert_int_equal(mode_of(&s, "x/__init__.py"), 0444);
	assert_int_equal(mode_of(&s, "bin/.x"), 0555);
	assert_int_equal(entries("new"), 0);
}

static void
break_by(const char *how, const char *path)
{
	int fd;

	assert_int_equal(chmod(path, 0755), 0);
	if (!strcmp(how, "write")) {
		fd = open(path, O_WRONLY);
		assert_int_equal(write(fd, "y", 1), 1);
		close(fd);
	} else if (!strcmp(how, "remove")) {
		assert_int_equal(unlink(path), 0);
	}
}

/* The ctime reveals a change even if everything else is restored. */
static void
changed_layer_is_not_used(void **state)
{
	static const char *const ways[] = { "write", "remove", "mode" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		own(package_layer) struct package_layer
			s = PACKAGE_LAYER_INIT,
			none = PACKAGE_LAYER_INIT;
		struct package_layer_trust trust = { 0 };
		struct remit_error err;
		struct timespec times[2];
		struct stat st;
		char path[512];

		if (make(KEY, "x.py", "bin/x", &err) < 0)
			fail_msg("%s", err.message);
		found(KEY, &s);
		assert_int_equal(package_layer_find(&none, KEY, &trust),
				 PACKAGE_LAYER_WHOLE);
		package_layer_free(&none);
		snprintf(path, sizeof(path), "%s/x.py", s.site);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(chmod(s.site, 0755), 0);
		break_by(ways[i], path);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		if (utimensat(AT_FDCWD, path, times, 0) == 0)
			assert_int_equal(chmod(path, st.st_mode & 07777), 0);
		assert_int_equal(chmod(s.site, 0555), 0);
		assert_true(package_layer_is_whole(&s));
		s.checked_us -= PACKAGE_LAYER_TRUST_US;
		assert_false(package_layer_is_whole(&s));
		assert_int_equal(package_layer_find(&none, KEY, NULL),
				 PACKAGE_LAYER_ABSENT);
		/* Every caller trusts the check for a minute. */
		assert_int_equal(package_layer_find(&none, KEY, &trust),
				 PACKAGE_LAYER_WHOLE);
		package_layer_free(&none);
		trust.rows[0].checked_us -= PACKAGE_LAYER_TRUST_US;
		assert_int_equal(package_layer_find(&none, KEY, &trust),
				 PACKAGE_LAYER_ABSENT);
	}
}

/* Makes a layer that the keeper itself must not check. */
static void
make_large(const char *key)
{
	own(package_layer_make) struct package_layer_make m =
		PACKAGE_LAYER_MAKE_INIT;
	own(policy) struct policy p;
	own(buf) struct buf about = BUF_INIT(64 << 10);
	struct remit_error err;
	char name[24];

	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(package_layer_make_open(&m, &err), 0);
	for (int i = 0; i <= PACKAGE_LAYER_SMALL_FILES; i++) {
		snprintf(name, sizeof(name), "x%d.py", i);
		assert_int_equal(record_add(&about, "file", name), 0);
		snprintf(name, sizeof(name), "out/%d", i);
		give(&m, name, "", 0);
	}
	give(&m, "out/about", about.data, about.len);
	if (package_layer_make_finish(&m, key, NULL, &p, &python, &err) < 0)
		fail_msg("%s", err.message);
}

static void
large_layer_is_checked_by_another_process(void **state)
{
	own(package_layer) struct package_layer s = PACKAGE_LAYER_INIT,
						other = PACKAGE_LAYER_INIT;
	struct package_layer_trust trust = { 0 };
	static const char key[SHA256_TEXT] = "large";

	(void)state;
	make_large(key);
	assert_int_equal(package_layer_find(&s, key, &trust),
			 PACKAGE_LAYER_UNCHECKED);
	assert_false(package_layer_is_whole(&s));
	package_layer_trust_add(&trust, s.id);
	package_layer_free(&s);
	assert_int_equal(package_layer_find(&s, key, &trust),
			 PACKAGE_LAYER_WHOLE);
	assert_true(package_layer_is_whole(&s));
	s.checked_us -= PACKAGE_LAYER_TRUST_US;
	assert_false(package_layer_is_whole(&s));
	found(key, &other);
	assert_true(package_layer_is_same(&s, &other));
	trust.rows[0].checked_us -= PACKAGE_LAYER_TRUST_US;
	package_layer_free(&other);
	assert_int_equal(package_layer_find(&other, key, &trust),
			 PACKAGE_LAYER_UNCHECKED);
	/* Installed again, it has the same id. */
	make_large(key);
	package_layer_free(&other);
	found(key, &other);
	assert_string_equal(s.id, other.id);
	assert_false(package_layer_is_same(&s, &other));
}

/* Makes a layer of a tenant that was last used at this time, and describes it
   as larger than it is: `bytes` has one digit. */
static void
make_sized(const char *key, const char *tenant, char bytes, time_t used)
{
	const struct timespec times[2] = { { .tv_sec = used },
					   { .tv_sec = used } };
	own(package_layer) struct package_layer s = PACKAGE_LAYER_INIT;
	own(buf) struct buf about = BUF_INIT(4096);
	struct remit_error err;
	char *digit;
	int fd;

	if (make_for(tenant, key, "x.py", "bin/x", &err) < 0)
		fail_msg("%s", err.message);
	found(key, &s);
	assert_int_equal(package_layer_read_about(s.lock, &about), 0);
	digit = memmem(about.data, about.len, "\0bytes\0", 7);
	assert_non_null(digit);
	digit[7] = bytes;
	fd = openat(s.lock, "about", O_WRONLY);
	assert_int_equal(write(fd, about.data, about.len), about.len);
	close(fd);
	assert_int_equal(utimensat(s.lock, "about", times, 0), 0);
}

static size_t
count_of(const char *tenant)
{
	struct remit_error err;
	json_t *all, *row;
	size_t i, n = 0;

	assert_int_equal(package_layer_list(&all, &err), 0);
	json_array_foreach(all, i, row)
	{
		const char *name =
			json_string_value(json_object_get(row, "tenant"));

		n += name && !strcmp(name, tenant);
	}
	json_decref(all);
	return n;
}

static void
prune_takes_from_the_tenant_that_has_most(void **state)
{
	struct package_layer_prune all = { 0 }, shares = { .max_bytes = 18 };
	own(package_layer) struct package_layer used = PACKAGE_LAYER_INIT;
	struct package_layer none = PACKAGE_LAYER_INIT;
	struct remit_error err;

	(void)state;
	all.max_bytes = UINT64_MAX;
	assert_int_equal(package_layer_prune(&all, &err), 0);
	make_sized("b1", "bob", '8', 1000);
	make_sized("a1", "alice", '7', 2000);
	make_sized("a2", "alice", '6', 3000);
	make_sized("a3", "alice", '5', 4000);
	assert_int_equal(package_layer_prune_shares(&shares, &err), 0);
	assert_int_equal(shares.removed, 2);
	assert_int_equal(shares.freed_bytes, 13);
	assert_int_equal(count_of("bob"), 1);
	found("a3", &used);
	/* A tenant keeps its share even if another uses all it has. */
	shares.max_bytes = 10;
	make_sized("b2", "bob", '1', 1000);
	make_sized("b1", "bob", '3', 1000);
	make_sized("a4", "alice", '9', 1000);
	assert_int_equal(package_layer_prune_shares(&shares, &err), 0);
	assert_int_equal(count_of("bob"), 2);
	assert_int_equal(count_of("alice"), 1);
	assert_int_equal(package_layer_find(&none, "a4", NULL),
			 PACKAGE_LAYER_ABSENT);
	shares.in_use = 0;
	shares.max_bytes = 8;
	assert_int_equal(package_layer_prune_shares(&shares, &err), 0);
	assert_int_equal(count_of("bob"), 2);
	assert_int_equal(shares.in_use, 1);
}

static void
hostile_names_leave_no_files(void **state)
{
	static const char *const wrong[] = {
		"../x",	 "/etc/x", "a/../../x", "a//b",	 "a/",	    "",
		"a/./b", "-x",	   "a\nb",	"bin/x", "bin/x/y",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct package_layer none = PACKAGE_LAYER_INIT;
		struct remit_error err;
		char key[SHA256_TEXT] = KEY;

		key[0] = 'f';
		if (make(key, wrong[i], "bin/x", &err) == 0)
			fail_msg("%s was taken", wrong[i]);
		assert_int_equal(err.code, REMIT_E_INSTALL);
		assert_int_equal(package_layer_find(&none, key, NULL),
				 PACKAGE_LAYER_ABSENT);
		assert_int_equal(entries("new"), 0);
	}
}

static void
refuses_file(const char *path)
{
	own(package_layer_make) struct package_layer_make m =
		PACKAGE_LAYER_MAKE_INIT;
	struct remit_error err;

	assert_int_equal(package_layer_make_open(&m, &err), 0);
	if (package_layer_make_file(&m, path, 1, &err) == 0)
		fail_msg("%s was taken", path);
}

static void
files_must_be_numbered_and_complete(void **state)
{
	own(package_layer_make) struct package_layer_make m =
		PACKAGE_LAYER_MAKE_INIT;
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	refuses_file("out/x");
	refuses_file("out/-1");
	refuses_file("out/100000");
	refuses_file("out/../1");
	refuses_file("1");
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(package_layer_make_open(&m, &err), 0);
	assert_int_equal(package_layer_make_file(&m, "out/0", 2, &err), 0);
	assert_int_equal(package_layer_make_add(&m, "abc", 3, &err), -1);
	assert_int_equal(package_layer_make_file(&m, "out/1", 2, &err), -1);
	assert_int_equal(
		package_layer_make_finish(&m, KEY, NULL, &p, &python, &err),
		-1);
}

/* After kill -9 the lock is gone, but the directory is not. */
static void
incomplete_layer_is_removed_by_the_next_one(void **state)
{
	own(package_layer_make) struct package_layer_make m =
		PACKAGE_LAYER_MAKE_INIT;
	struct remit_error err;
	int at = package_layer_directory("new", &err);

	(void)state;
	assert_int_equal(mkdirat(at, "left", 0700), 0);
	assert_int_equal(mkdirat(at, "left/raw", 0), 0);
	close(at);
	assert_int_equal(package_layer_make_open(&m, &err), 0);
	assert_int_equal(entries("new"), 1);
}

static void
failure_is_remembered_for_a_short_time(void **state)
{
	struct remit_error why = { .code = REMIT_E_INSTALL,
				   .message = "no such package",
				   .remedy = "Spell it." };
	struct remit_error got;
	struct timespec old[2];
	struct remit_error err;
	int at = package_layer_directory("failed", &err);

	(void)state;
	assert_false(package_layer_failure(KEY, &got));
	package_layer_remember_failure(KEY, &why);
	assert_true(package_layer_failure(KEY, &got));
	assert_int_equal(got.code, REMIT_E_INSTALL);
	assert_non_null(strstr(got.message, "no such package"));
	assert_string_equal(got.remedy, "Spell it.");
	clock_gettime(CLOCK_REALTIME, &old[0]);
	old[0].tv_sec -= PACKAGE_LAYER_FAILURE_S + 1;
	old[1] = old[0];
	assert_int_equal(utimensat(at, KEY, old, 0), 0);
	assert_false(package_layer_failure(KEY, &got));
	old[1].tv_sec += 1000;
	assert_int_equal(utimensat(at, KEY, old, 0), 0);
	assert_false(package_layer_failure(KEY, &got));
	close(at);
}

static void
key_of(char out[SHA256_TEXT], const char *flag, const char *value,
       const char *package)
{
	own(policy) struct policy p;
	struct remit_error err;

	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(list_add(&p.packages, package), 0);
	assert_int_equal(list_add(&p.packages, "b>=1"), 0);
	if (flag && field_set_text(&p, field_find(flag), value, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(package_layer_key(out, &p, &python, &err), 0);
}

static void
key_for_code(char out[SHA256_TEXT], const char *tenant, const char *have)
{
	own(list) struct list all = { 0 };

	key_of(out, NULL, NULL, "a");
	if (have)
		assert_int_equal(list_add(&all, have), 0);
	package_layer_key_add(out, tenant, &all);
}

/* If tenants shared a layer, one could notice from the time of an installation
   what others have asked for. */
static void
code_of_tenants_never_shares_a_layer(void **state)
{
	char plain[SHA256_TEXT], alice[SHA256_TEXT], bob[SHA256_TEXT];

	(void)state;
	key_of(plain, NULL, NULL, "a");
	key_for_code(alice, NULL, NULL);
	assert_string_equal(alice, plain);
	for (int with_have = 0; with_have < 2; with_have++) {
		const char *have = with_have ? "c==1" : NULL;

		key_for_code(alice, "alice", have);
		key_for_code(bob, "bob", have);
		assert_string_not_equal(alice, bob);
		assert_string_not_equal(alice, plain);
		key_for_code(bob, "alice", have);
		assert_string_equal(alice, bob);
	}
}

static void
request_key_covers_everything_that_decides_what_is_installed(void **state)
{
	static const struct {
		const char *flag, *value;
	} rows[] = {
		{ NULL, NULL },
		{ "package", "c" },
		{ "index-url", "https://h/" },
		{ "package-host", "h:1" },
		{ "find-links", "/usr" },
		{ "package-direct", "/x.whl" },
		{ "offline", "true" },
		{ "package-build", "true" },
		{ "package-max", "2M" },
	};
	char keys[ARRAY_LEN(rows)][SHA256_TEXT], same[SHA256_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		key_of(keys[i], rows[i].flag, rows[i].value, "a==1");
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(keys[i], keys[k]);
	}
	key_of(same, "package-time", "7s", " A == 1");
	assert_string_equal(same, keys[0]);
}

static void
layer_follows_the_standard_library_on_the_path(void **state)
{
	struct package_layer s = { .id = "x",
				   .site = "/cache/site",
				   .lock = -1 };
	struct interpreter in = { 0 };
	struct remit_error err;

	(void)state;
	assert_int_equal(list_add(&in.sys_path, "/usr/lib/python3.11"), 0);
	assert_int_equal(list_add(&in.sys_path, "/v/site-packages"), 0);
	assert_int_equal(package_layer_show(&s, false, &in, &err), 0);
	assert_int_equal(in.sys_path.count, 3);
	assert_string_equal(in.sys_path.items[1], "/.remit/packages");
	assert_string_equal(in.sys_path.items[2], "/v/site-packages");
	interpreter_free(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layer_is_found_and_read_only),
		cmocka_unit_test(changed_layer_is_not_used),
		cmocka_unit_test(large_layer_is_checked_by_another_process),
		cmocka_unit_test(code_of_tenants_never_shares_a_layer),
		cmocka_unit_test(prune_takes_from_the_tenant_that_has_most),
		cmocka_unit_test(hostile_names_leave_no_files),
		cmocka_unit_test(files_must_be_numbered_and_complete),
		cmocka_unit_test(incomplete_layer_is_removed_by_the_next_one),
		cmocka_unit_test(failure_is_remembered_for_a_short_time),
		cmocka_unit_test(
			request_key_covers_everything_that_decides_what_is_installed),
		cmocka_unit_test(
			layer_follows_the_standard_library_on_the_path),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
