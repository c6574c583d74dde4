/* watch: frames about watched directories. */
#include "wire/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
request_is_read_as_written(void **state)
{
	static const struct watch_request sent[] = {
		{ 7, WATCH_BEGIN, WATCH_RECURSIVE, "a/b", 3 },
		{ 0xffffffff, WATCH_BEGIN, WATCH_FLAGS, ".", 1 },
		{ 7, WATCH_STOP, 0, "", 0 },
		{ 8, WATCH_SYNC, 0, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
		own(buf) struct buf b = BUF_INIT(8192);
		struct watch_request got;

		assert_int_equal(watch_request_write(&b, &sent[i]), 0);
		assert_int_equal(watch_request_read(&got, b.data, b.len), 0);
		assert_int_equal(got.id, sent[i].id);
		assert_int_equal(got.op, sent[i].op);
		assert_int_equal(got.flags, sent[i].flags);
		assert_int_equal(got.path_len, sent[i].path_len);
		assert_memory_equal(got.path, sent[i].path, got.path_len);
	}
}

static void
malformed_request_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "", 0 },
		{ "\1\0\0\0\1\0\0", 7 },	/* too short */
		{ "\1\0\0\0\1\0\0\0", 8 },	/* no path */
		{ "\1\0\0\0\1\0\0\0a\0b", 11 }, /* a NUL */
		{ "\1\0\0\0\0\0\0\0a", 9 },	/* no operation */
		{ "\1\0\0\0\4\0\0\0a", 9 },	/* unknown operation */
		{ "\1\0\0\0\1\4\0\0a", 9 },	/* unknown flag */
		{ "\1\0\0\0\1\0\1\0a", 9 },	/* not zero */
		{ "\1\0\0\0\2\0\0\0a", 9 },	/* a path to stop */
		{ "\1\0\0\0\3\1\0\0", 8 },	/* flags of a sync */
	};
	own_mem char *longest = calloc(1, 8 + WATCH_PATH_SIZE);
	struct watch_request got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			watch_request_read(&got, bad[i].bytes, bad[i].len), -1);
	memset(longest, 'a', 8 + WATCH_PATH_SIZE);
	memcpy(longest, "\1\0\0\0\1\0\0\0", 8);
	assert_int_equal(
		watch_request_read(&got, longest, 8 + WATCH_PATH_SIZE - 1), 0);
	assert_int_equal(watch_request_read(&got, longest, 8 + WATCH_PATH_SIZE),
			 -1);
}

static void
event_is_read_as_written(void **state)
{
	static const struct watch_event sent[] = {
		{ .id = 3,
		  .kind = WATCH_CREATED,
		  .name = "d/\xff\n",
		  .name_len = 4,
		  .target = "" },
		{ .id = 3,
		  .kind = WATCH_WRITTEN,
		  .name = "l",
		  .name_len = 1,
		  .has_entry = true,
		  .entry = { 1, 2, 3, -4, 0120777 },
		  .target = "/etc",
		  .target_len = 4 },
		{ .id = 9, .kind = WATCH_SYNCED, .name = "", .target = "" },
		{ .id = 9, .kind = WATCH_BEGUN, .name = "", .target = "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
		own(buf) struct buf b = BUF_INIT(16384);
		struct watch_event got;

		assert_int_equal(watch_event_write(&b, &sent[i]), 0);
		assert_int_equal(watch_event_read(&got, b.data, b.len), 0);
		assert_int_equal(got.id, sent[i].id);
		assert_int_equal(got.kind, sent[i].kind);
		assert_int_equal(got.name_len, sent[i].name_len);
		assert_memory_equal(got.name, sent[i].name, got.name_len);
		assert_int_equal(got.has_entry, sent[i].has_entry);
		assert_true(got.entry.size == sent[i].entry.size);
		assert_true(got.entry.device == sent[i].entry.device);
		assert_true(got.entry.inode == sent[i].entry.inode);
		assert_true(got.entry.modified_ns == sent[i].entry.modified_ns);
		assert_int_equal(got.entry.mode, sent[i].entry.mode);
		assert_int_equal(got.target_len, sent[i].target_len);
		assert_memory_equal(got.target, sent[i].target, got.target_len);
	}
}

static void
malformed_event_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\1\0\0\0\1\0\1", 7 },	/* too short */
		{ "\1\0\0\0\0\0\1\0a", 9 },	/* no kind */
		{ "\1\0\0\0\x63\0\1\0a", 9 },	/* unknown kind */
		{ "\1\0\0\0\1\2\1\0a", 9 },	/* has_entry */
		{ "\1\0\0\0\1\0\0\0", 8 },	/* a file without a name */
		{ "\1\0\0\0\1\0\2\0/a", 10 },	/* an absolute name */
		{ "\1\0\0\0\1\0\3\0a\0b", 11 }, /* a NUL */
		{ "\1\0\0\0\1\0\1\0ab", 10 },	/* a target of no entry */
		{ "\1\0\0\0\1\0\2\0a", 9 },	/* a name that is cut */
		{ "\1\0\0\0\1\1\1\0a", 9 },	/* an entry that is cut */
	};
	struct watch_event got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			watch_event_read(&got, bad[i].bytes, bad[i].len), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_read_as_written),
		cmocka_unit_test(malformed_request_is_refused),
		cmocka_unit_test(event_is_read_as_written),
		cmocka_unit_test(malformed_event_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
