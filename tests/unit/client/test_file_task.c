/* file_task: frames of a session become an answer, or break the protocol. */
#include "client/files/file_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ONE                                                       \
	"path\0/workspace/"                                       \
	"a\0type\0file\0mode\000416\0size\0005\0modified\00012\0" \
	"device\0007\0inode\00018446744073709551615\0"
#define LINK                                                                \
	"path\0/"                                                           \
	"l\0type\0link\0mode\000511\0size\0001\0modified\0000\0target\0a\0" \
	"resolved\0/workspace/a\0resolved_type\0file\0resolved_mode\000416\0"

/* Add a frame to the answer. */
static void
send_frame(struct file_answer *a, enum frame_type type, const char *text,
	   size_t len)
{
	struct frame f = { .type = type,
			   .payload = text,
			   .len = (uint32_t)len };
	struct remit_error err;

	assert_int_equal(file_answer_add(a, &f, &err), 0);
}

static int
finish_answer(enum remit_file_op op, const char *bytes, size_t len,
	      const char *records, size_t records_len,
	      struct remit_file_answer **out, struct remit_error *err)
{
	own(file_answer) struct file_answer a = FILE_ANSWER_INIT;
	const struct remit_file_task t = { .op = op, .path = "x" };

	send_frame(&a, FRAME_FILE_BYTES, bytes, len);
	assert_false(a.is_done);
	send_frame(&a, FRAME_FILE_ANSWER, records, records_len);
	assert_true(a.is_done);
	return file_answer_finish(&a, &t, out, err);
}

#define GIVE(op, bytes, records, out, err)                         \
	finish_answer((op), (bytes), sizeof(bytes) - 1, (records), \
		      sizeof(records) - 1, (out), (err))

static void
file_answer_has_the_sent_bytes_and_entries(void **state)
{
	struct remit_file_answer *a;
	struct remit_error err;

	(void)state;
	assert_int_equal(GIVE(REMIT_FILE_READ, "he\0llo", ONE, &a, &err), 0);
	assert_int_equal(a->len, 6);
	assert_memory_equal(a->bytes, "he\0llo", 7);
	assert_int_equal(a->entry_count, 1);
	assert_string_equal(a->entries[0].path, "/workspace/a");
	assert_int_equal(a->entries[0].type, REMIT_FILE_IS_REGULAR);
	assert_int_equal(a->entries[0].mode, 416);
	assert_int_equal(a->entries[0].size, 5);
	assert_int_equal(a->entries[0].modified_ns, 12);
	assert_int_equal(a->entries[0].device, 7);
	assert_true(a->entries[0].inode == UINT64_MAX);
	assert_null(a->entries[0].target);
	remit_file_answer_free(a);

	assert_int_equal(
		GIVE(REMIT_FILE_LIST, ONE LINK, "truncated\0yes\0", &a, &err),
		0);
	assert_int_equal(a->entry_count, 2);
	assert_string_equal(a->entries[1].target, "a");
	assert_string_equal(a->entries[1].resolved, "/workspace/a");
	assert_int_equal(a->entries[1].resolved_type, REMIT_FILE_IS_REGULAR);
	assert_int_equal(a->entries[1].resolved_mode, 416);
	assert_null(a->entries[0].resolved);
	assert_int_equal(a->truncated, 1);
	assert_null(a->bytes);
	remit_file_answer_free(a);
}

static void
file_answer_errno_becomes_an_input_error(void **state)
{
	struct remit_file_answer *a = NULL;
	struct remit_error err;

	(void)state;
	assert_int_equal(GIVE(REMIT_FILE_STAT, "", "errno\0002\0", &a, &err),
			 -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.message, "stat x: No such file or directory");
	assert_int_equal(GIVE(REMIT_FILE_STAT, "", "errno\0000\0", &a, &err),
			 -1);
	assert_int_equal(err.sys_errno, EIO);
	assert_null(a);
}

static void
malformed_file_answer_breaks_the_protocol(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} nonsense[] = {
#define N(text) { text, sizeof(text) - 1 }
		N("size\0001\0"),
		N("path\0a\0colour\0red\0"),
		N("path\0a\0type\0socket\0"),
		N("path\0a\0resolved_type\0socket\0"),
		N("path\0a\0resolved_mode\0-1\0"),
		N("path\0a\0inode\0x\0"),
		N("path\0a\0size\0-1\0"),
		N("path\0a\0modified\00018446744073709551615\0"),
		N("path\0a"),
		N(ONE LINK),
#undef N
	};
	struct remit_file_answer *a = NULL;
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
		if (finish_answer(REMIT_FILE_STAT, "", 0, nonsense[i].bytes,
				  nonsense[i].len, &a, &err) == 0)
			fail_msg("row %zu was accepted", i);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	}
	assert_null(a);
}

static void
file_list_is_limited(void **state)
{
	own(buf) struct buf many = BUF_INIT(1 << 20);
	struct remit_file_answer *a;
	struct remit_error err;

	(void)state;
	for (int i = 0; i < REMIT_FILE_LIST_MAX; i++)
		assert_int_equal(buf_add(&many, "path\0a\0", 7), 0);
	assert_int_equal(finish_answer(REMIT_FILE_LIST, many.data, many.len, "",
				       0, &a, &err),
			 0);
	assert_int_equal(a->entry_count, REMIT_FILE_LIST_MAX);
	remit_file_answer_free(a);
	assert_int_equal(buf_add(&many, "path\0a\0", 7), 0);
	assert_int_equal(finish_answer(REMIT_FILE_LIST, many.data, many.len, "",
				       0, &a, &err),
			 -1);
}

static void
invalid_file_tasks_are_not_sent(void **state)
{
	const struct remit_file_task wrong[] = {
		{ .op = 0, .path = "x" },
		{ .op = 8, .path = "x" },
		{ .op = REMIT_FILE_READ },
		{ .op = REMIT_FILE_READ, .path = "" },
		{ .op = REMIT_FILE_MOVE, .path = "x" },
		{ .op = REMIT_FILE_READ,
		  .path = "x",
		  .length = REMIT_FILE_READ_MAX + 1 },
		{ .op = REMIT_FILE_READ, .path = "x", .offset = 1ull << 63 },
		{ .op = REMIT_FILE_LIST,
		  .path = "x",
		  .depth = REMIT_FILE_DEPTH_MAX + 1 },
	};
	const struct remit_file_task right = { .op = REMIT_FILE_LIST,
					       .path = "x",
					       .depth = REMIT_FILE_DEPTH_MAX };
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(file_task_check(&wrong[i], &err), -1);
		assert_int_equal(err.code, REMIT_E_INPUT);
	}
	assert_int_equal(file_task_check(&right, &err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_answer_has_the_sent_bytes_and_entries),
		cmocka_unit_test(file_answer_errno_becomes_an_input_error),
		cmocka_unit_test(malformed_file_answer_breaks_the_protocol),
		cmocka_unit_test(file_list_is_limited),
		cmocka_unit_test(invalid_file_tasks_are_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
