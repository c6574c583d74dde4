/* snapshot_store: snapshots are found again complete, by their owner only, or
   not at all. tests/e2e/e2b/test_e2b_pause.py tests it with sandboxes. */
#include "hosted/snapshot/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/digest.h"
#include "hosted/hosted.h"
#include "hosted/snapshot/reader.h"
#include "hosted/snapshot/writer.h"
#include "jail/mount/sweep.h"

#define MIB (UINT64_C(1) << 20)

static const struct snapshot_attributes plain = { 0644, 5 };

static int
set_up(void **state)
{
	char directory[] = "/tmp/remit-test-snapshots-XXXXXX";

	if (!mkdtemp(directory))
		return -1;
	*state = strdup(directory);
	return 0;
}

static int
tear_down(void **state)
{
	int fd = open(*state, O_RDONLY | O_DIRECTORY);
	int failed = sweep(fd) < 0 || rmdir(*state) < 0;

	close(fd);
	free(*state);
	return failed;
}

static struct snapshot_store *
open_with(const char *parent, uint64_t keep_ms, uint64_t most, uint64_t count)
{
	const struct snapshot_store_options opt = {
		.parent = parent,
		.keep_ms = keep_ms,
		.max_bytes = 2 * most,
		.max_owner_bytes = most,
		.max_owner_count = count,
		.max_list_bytes = 2 * MIB,
		.max_owner_list_bytes = MIB,
	};
	struct snapshot_store *s;
	struct remit_error err;

	if (snapshot_store_open(&s, &opt, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

static struct snapshot_store *
open_store(void **state)
{
	return open_with(*state, 60000, 64 * MIB, 8);
}

static int
add_file(struct snapshot_writer *w, const char *path, const char *text,
	 struct remit_error *err)
{
	if (snapshot_begin_file(w, err) < 0 ||
	    snapshot_add_bytes(w, text, strlen(text), err) < 0)
		return -1;
	return snapshot_end_file(w, path, &plain, err);
}

/* Stores one directory, one link and two files with these contents. */
static int
store(struct snapshot_store *s, const char *owner, const char *one,
      const char *other, struct snapshot_info *info, struct remit_error *err)
{
	struct snapshot_writer *w;
	int failed;

	*info = (struct snapshot_info){ .kind = SNAPSHOT_TEMPLATE };
	if (hosted_make_id(info->id, err) < 0 ||
	    snapshot_writer_open(&w, s, owner, err) < 0)
		return -1;
	snprintf(info->name, sizeof(info->name), "named-%s", owner);
	failed = snapshot_add_directory(w, "d", &plain, err) < 0 ||
		 add_file(w, "d/\xff one", one, err) < 0 ||
		 add_file(w, "two\n", other, err) < 0 ||
		 snapshot_add_link(w, "link", "/etc/passwd", err) < 0 ||
		 snapshot_add_skipped(w, "pipe", "a reason", err) < 0 ||
		 snapshot_commit(w, info, "{\"a\": 1}", err) < 0;
	snapshot_writer_free(w);
	return failed ? -1 : 0;
}

static struct snapshot_info
stored(struct snapshot_store *s, const char *owner, const char *one,
       const char *other)
{
	struct snapshot_info info;
	struct remit_error err;

	if (store(s, owner, one, other, &info, &err) < 0)
		fail_msg("%s", err.message);
	return info;
}

static int
add_piece(void *user, const char *bytes, size_t len, struct remit_error *err)
{
	char *text = user;

	(void)err;
	strncat(text, bytes, len);
	return 0;
}

/* Returns all that is in a snapshot as one text, or NULL. */
static char *
contents(struct snapshot_store *s, const char *owner, const char *id,
	 struct remit_error *err)
{
	struct snapshot_reader *r;
	struct snapshot_entry e;
	char *text = calloc(1, 4096);
	int more;

	if (snapshot_reader_open(&r, s, owner, id, err) < 0) {
		free(text);
		return NULL;
	}
	while ((more = snapshot_next(r, &e, err)) > 0) {
		strcat(text, e.path);
		strcat(text, e.target ? e.target : "");
		strcat(text, e.reason ? e.reason : "");
		strcat(text, "=");
		if (e.type == SNAPSHOT_FILE &&
		    snapshot_read_object(r, &e, 3, add_piece, text, err) < 0)
			more = -1;
		strcat(text, ";");
		if (more < 0)
			break;
	}
	snapshot_reader_free(r);
	if (!more)
		return text;
	free(text);
	return NULL;
}

/* The path of a directory or file of the owner. */
static const char *
place(void **state, const char *owner, const char *rest)
{
	static char path[512];
	char sum[SHA256_TEXT];

	sha256_text(owner, strlen(owner), sum);
	snprintf(path, sizeof(path), "%s/snapshots/%s/%s", (char *)*state, sum,
		 rest);
	return path;
}

static size_t
count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

#define EXPECTED                                                            \
	"d=;d/\xff one=first contents;two\n=second;link/etc/passwd=;pipea " \
	"reason=;"

static void
snapshot_store_finds_everything_after_a_restart(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info made = stored(s, "a", "first contents", "second"),
			     found;
	struct remit_error err;
	char *text;

	for (int restart = 0; restart < 2; restart++) {
		own(buf) struct buf about = BUF_INIT(100);

		assert_true(snapshot_store_find(s, "a", SNAPSHOT_TEMPLATE,
						"named-a", &found));
		assert_memory_equal(&found, &made, sizeof(made));
		assert_int_equal(found.entries, 5);
		assert_int_equal(found.bytes, 20);
		text = contents(s, "a", made.id, &err);
		assert_string_equal(text, EXPECTED);
		free(text);
		assert_int_equal(
			snapshot_store_about(s, "a", made.id, &about, &err), 0);
		assert_string_equal(buf_text(&about), "{\"a\": 1}");
		snapshot_store_free(s);
		s = open_store(state);
	}
	snapshot_store_free(s);
}

static void
snapshot_is_invisible_to_other_owners(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info a = stored(s, "a", "x", "y"), *list, found;
	own(buf) struct buf about = BUF_INIT(100);
	struct remit_error err;
	size_t count;

	assert_false(
		snapshot_store_find(s, "b", SNAPSHOT_TEMPLATE, a.id, &found));
	assert_false(snapshot_store_find(s, "b", SNAPSHOT_TEMPLATE, "named-a",
					 &found));
	assert_false(
		snapshot_store_find(s, "a", SNAPSHOT_PAUSED, a.id, &found));
	assert_int_equal(snapshot_store_list(s, "b", 3, &list, &count), 0);
	assert_int_equal(count, 0);
	free(list);
	assert_false(snapshot_store_claim(s, "b", a.id));
	assert_false(snapshot_store_remove(s, "b", a.id));
	assert_null(contents(s, "b", a.id, &err));
	assert_int_equal(err.code, REMIT_E_GONE);
	assert_int_equal(snapshot_store_about(s, "b", a.id, &about, &err), -1);
	assert_null(contents(s, "a", "../../../etc/passwd", &err));
	snapshot_store_free(s);
}

static void
equal_contents_are_stored_once_until_the_last_snapshot_is_removed(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info a = stored(s, "a", "same", "same"),
			     b = stored(s, "a", "same", "more");
	struct remit_error err;
	char *text;

	assert_int_equal(count_entries(place(state, "a", "objects")), 2);
	/* Owners share no objects: the cost would reveal them. */
	stored(s, "b", "same", "same");
	assert_int_equal(count_entries(place(state, "b", "objects")), 1);
	assert_true(snapshot_store_remove(s, "a", b.id));
	assert_false(snapshot_store_remove(s, "a", b.id));
	assert_int_equal(count_entries(place(state, "a", "objects")), 1);
	text = contents(s, "a", a.id, &err);
	assert_non_null(text);
	free(text);
	assert_true(snapshot_store_remove(s, "a", a.id));
	assert_int_equal(count_entries(place(state, "a", "objects")), 0);
	assert_int_equal(count_entries(place(state, "a", "")), 1);
	snapshot_store_free(s);
}

static void
snapshots_beyond_the_owners_share_are_refused_and_leave_nothing(void **state)
{
	struct snapshot_store *s = open_with(*state, 60000, MIB, 3);
	struct snapshot_info info, first = stored(s, "a", "x", "y");
	own_mem char *big = calloc(1, MIB);
	struct remit_error err;

	memset(big, 'b', MIB - 1);
	assert_int_equal(store(s, "a", "new", big, &info, &err), -1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	assert_int_equal(count_entries(place(state, "a", "objects")), 2);
	assert_int_equal(count_entries(place(state, "a", "")), 2);
	/* The failed snapshot is not charged, also after a restart. */
	for (int restart = 0; restart < 2; restart++) {
		big[900 * 1024] = '\0';
		info = stored(s, "a", "new", big);
		assert_true(snapshot_store_remove(s, "a", info.id));
		snapshot_store_free(s);
		s = open_with(*state, 60000, MIB, 3);
	}
	stored(s, "a", "x", "y");
	stored(s, "a", "x", "y");
	assert_int_equal(store(s, "a", "x", "y", &info, &err), -1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	stored(s, "b", "x", "y"); /* another owner's own limit */
	assert_true(snapshot_store_remove(s, "a", first.id));
	stored(s, "a", "x", "y");
	snapshot_store_free(s);
}

/* Replaces the last byte of a file. */
static void
damage(const char *path)
{
	int fd;

	assert_int_equal(chmod(path, 0600), 0);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "!", 1, lseek(fd, 0, SEEK_END) - 1), 1);
	close(fd);
}

static void
damaged_snapshot_is_an_error_and_stays_where_it_is(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info info;
	char name[128], sum[SHA256_TEXT];
	struct remit_error err;

	info = stored(s, "a", "contents", "second");
	sha256_text("contents", 8, sum);
	snprintf(name, sizeof(name), "objects/%s", sum);
	damage(place(state, "a", name));
	assert_null(contents(s, "a", info.id, &err));
	assert_non_null(strstr(err.message, "damaged"));
	assert_non_null(strstr(err.message, "SHA-256"));
	for (size_t i = 0; i < 2; i++) {
		info = stored(s, "a", "x", "y");
		snprintf(name, sizeof(name), "%s/%s", info.id,
			 i ? "head" : "manifest");
		damage(place(state, "a", name));
		assert_null(contents(s, "a", info.id, &err));
		assert_non_null(strstr(err.message, "damaged"));
	}
	snapshot_store_free(s);
	s = open_store(state);
	/* One without a readable head is not listed any more. */
	assert_false(
		snapshot_store_find(s, "a", SNAPSHOT_TEMPLATE, info.id, &info));
	assert_int_equal(count_entries(place(state, "a", info.id)), 5);
	snapshot_store_free(s);
}

static void
missing_or_longer_object_is_an_error(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info info = stored(s, "a", "contents", "second");
	char name[128], sum[SHA256_TEXT];
	struct remit_error err;

	sha256_text("second", 6, sum);
	snprintf(name, sizeof(name), "%s/%s", info.id, sum);
	assert_int_equal(chmod(place(state, "a", name), 0600), 0);
	assert_int_equal(truncate(place(state, "a", name), 1000), 0);
	assert_null(contents(s, "a", info.id, &err));
	assert_non_null(strstr(err.message, "damaged"));
	assert_int_equal(unlink(place(state, "a", name)), 0);
	/* A link in its place is not followed. */
	assert_int_equal(symlink("/etc/passwd", place(state, "a", name)), 0);
	assert_null(contents(s, "a", info.id, &err));
	assert_non_null(strstr(err.message, "damaged"));
	snapshot_store_free(s);
}

static void
object_of_another_length_is_replaced_by_a_new_snapshot(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info info = stored(s, "a", "contents", "second");
	char name[128], sum[SHA256_TEXT];
	struct remit_error err;
	char *text;

	sha256_text("contents", 8, sum);
	snprintf(name, sizeof(name), "objects/%s", sum);
	assert_int_equal(chmod(place(state, "a", name), 0600), 0);
	assert_int_equal(truncate(place(state, "a", name), 0), 0);
	info = stored(s, "a", "contents", "second");
	text = contents(s, "a", info.id, &err);
	assert_non_null(text);
	free(text);
	snapshot_store_free(s);
}

/* A server that is killed while it writes one snapshot and removes another. */
static void
write_and_die(void **state)
{
	struct snapshot_store *s = open_store(state);
	struct snapshot_info info = stored(s, "a", "x", "y");
	struct snapshot_writer *w;
	struct remit_error err;
	char name[64];

	snprintf(name, sizeof(name), "%s/head", info.id);
	if (snapshot_writer_open(&w, s, "a", &err) < 0 ||
	    add_file(w, "z", "unfinished", &err) < 0 ||
	    unlink(place(state, "a", name)) < 0)
		_exit(1);
	_exit(0);
}

static void
incomplete_snapshot_of_a_killed_server_is_removed(void **state)
{
	struct snapshot_store *s;
	pid_t pid = fork();
	int status;

	if (!pid)
		write_and_die(state);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count_entries(place(state, "a", "objects")), 3);
	assert_int_equal(count_entries(place(state, "a", "")), 3);
	s = open_store(state);
	assert_int_equal(count_entries(place(state, "a", "objects")), 0);
	assert_int_equal(count_entries(place(state, "a", "")), 1);
	snapshot_store_free(s);
}

/* Adds directories until an error, at most `most`. Returns how many. */
static int
add_directories(struct snapshot_writer *w, int most, struct remit_error *err)
{
	int count = 0;
	char name[64];

	do
		snprintf(name, sizeof(name), "a directory with number %d",
			 count);
	while (count < most &&
	       snapshot_add_directory(w, name, &plain, err) == 0 && ++count);
	return count;
}

static void
lists_of_files_in_memory_are_limited_for_each_owner(void **state)
{
	const struct snapshot_store_options opt = {
		.parent = *state,
		.max_list_bytes = 100,
		.max_owner_list_bytes = 100,
	};
	struct snapshot_store *s = open_store(state);
	struct snapshot_info info = stored(s, "a", "x", "y");
	const int most = 100000;
	struct snapshot_writer *w[2];
	struct snapshot_reader *r;
	struct remit_error err;
	int count;

	assert_int_equal(snapshot_writer_open(&w[0], s, "a", &err), 0);
	assert_int_equal(snapshot_writer_open(&w[1], s, "a", &err), 0);
	count = add_directories(w[0], most, &err);
	assert_in_range(count, 1000, most - 1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	assert_non_null(strstr(err.message, "at the same time"));
	assert_int_equal(add_directories(w[1], most, &err), 0);
	/* Other owners are not affected. */
	stored(s, "b", "x", "y");
	/* All of it is returned. */
	snapshot_writer_free(w[0]);
	snapshot_writer_free(w[1]);
	assert_int_equal(snapshot_reader_open(&r, s, "a", info.id, &err), 0);
	assert_int_equal(snapshot_writer_open(&w[0], s, "a", &err), 0);
	snapshot_reader_free(r);
	assert_int_equal(add_directories(w[0], most, &err), count);
	snapshot_writer_free(w[0]);
	snapshot_store_free(s);
	assert_int_equal(snapshot_store_open(&s, &opt, &err), 0);
	assert_int_equal(snapshot_reader_open(&r, s, "a", info.id, &err), -1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	snapshot_store_free(s);
}

static void
store_with_files_that_cannot_be_counted_does_not_open(void **state)
{
	const struct snapshot_store_options opt = { .parent = *state };
	struct snapshot_store *s = open_store(state);
	char objects[512];
	struct remit_error err;

	stored(s, "a", "x", "y");
	snapshot_store_free(s);
	snprintf(objects, sizeof(objects), "%s", place(state, "a", "objects"));
	assert_int_equal(rename(objects, place(state, "a", "moved")), 0);
	close(open(objects, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(snapshot_store_open(&s, &opt, &err), -1);
	assert_non_null(strstr(err.message, "count the files"));
}

static void
expired_snapshot_is_not_found_and_is_swept(void **state)
{
	struct snapshot_store *s = open_with(*state, 0, MIB, 8);
	struct snapshot_info info = stored(s, "a", "x", "y"), found;

	assert_false(snapshot_store_find(s, "a", SNAPSHOT_TEMPLATE, info.id,
					 &found));
	/* One that is being resumed stays. */
	assert_true(snapshot_store_claim(s, "a", info.id));
	assert_false(snapshot_store_claim(s, "a", info.id));
	assert_false(snapshot_store_has_expired(s));
	snapshot_store_sweep(s);
	assert_int_equal(count_entries(place(state, "a", "")), 2);
	snapshot_store_release(s, "a", info.id);
	assert_true(snapshot_store_has_expired(s));
	snapshot_store_sweep(s);
	assert_int_equal(count_entries(place(state, "a", "")), 1);
	snapshot_store_free(s);
}

static void
directory_has_one_server_and_one_writer(void **state)
{
	struct snapshot_store *s = open_store(state), *other;
	const struct snapshot_store_options opt = { .parent = *state };
	struct remit_error err;

	assert_int_equal(snapshot_store_open(&other, &opt, &err), -1);
	assert_non_null(strstr(err.message, "another server"));
	snapshot_store_free(s);
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(snapshot_store_open(&other, &opt, &err), -1);
	assert_non_null(strstr(err.message, "writable by other users"));
	assert_int_equal(chmod(*state, 0700), 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(snapshot_store_finds_everything_after_a_restart),
		EACH(snapshot_is_invisible_to_other_owners),
		EACH(equal_contents_are_stored_once_until_the_last_snapshot_is_removed),
		EACH(snapshots_beyond_the_owners_share_are_refused_and_leave_nothing),
		EACH(damaged_snapshot_is_an_error_and_stays_where_it_is),
		EACH(missing_or_longer_object_is_an_error),
		EACH(object_of_another_length_is_replaced_by_a_new_snapshot),
		EACH(incomplete_snapshot_of_a_killed_server_is_removed),
		EACH(lists_of_files_in_memory_are_limited_for_each_owner),
		EACH(store_with_files_that_cannot_be_counted_does_not_open),
		EACH(expired_snapshot_is_not_found_and_is_swept),
		EACH(directory_has_one_server_and_one_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
