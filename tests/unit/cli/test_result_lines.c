/*
 * result_lines: shows the denials of a result as lines for a terminal.
 */
#include "cli/report/result_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
lines_are(const char *result, const char *want)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024);
	json_t *doc = json_loads(result, 0, NULL);

	assert_non_null(doc);
	assert_int_equal(denials_show(doc, &out), 0);
	assert_string_equal(buf_text(&out), want);
	json_decref(doc);
}

static void
result_without_denials_prints_nothing(void **state)
{
	(void)state;
	lines_are("{\"denials\":[],\"denials_left_out\":0}", "");
	lines_are("{}", "");
}

static void
denial_line_has_call_reason_and_remedy(void **state)
{
	(void)state;
	lines_are("{\"denials\":[{\"what\":\"socket(AF_INET, SOCK_STREAM)\","
		  "\"count\":3,\"field\":\"network_access\","
		  "\"flag\":\"--net\",\"reported\":{}}]}",
		  "remit: denied: socket(AF_INET, SOCK_STREAM) ×3: "
		  "network_access is off; allow with --net\n");
	lines_are("{\"denials\":[{\"what\":\"mount\",\"count\":1,"
		  "\"field\":null,\"flag\":null,"
		  "\"reported\":{\"path\":\"/mnt\"}}]}",
		  "remit: denied: mount \"/mnt\": no policy field allows "
		  "it\n");
	lines_are("{\"denials\":[{\"what\":null,\"count\":1,"
		  "\"field\":\"filesystem_read_roots\",\"flag\":\"--read\","
		  "\"reported\":{\"path\":\"/a\",\"errno\":\"ENOENT\"}}]}",
		  "remit: denied: path \"/a\" (ENOENT): "
		  "filesystem_read_roots does not name it; allow with "
		  "--read\n");
	lines_are("{\"denials\":[{\"what\":null,\"count\":1,"
		  "\"field\":\"filesystem_write_roots\",\"flag\":null,"
		  "\"reported\":{\"path\":\"/a\",\"errno\":\"EROFS\"}}]}",
		  "remit: denied: path \"/a\" (EROFS): "
		  "filesystem_write_roots does not name it\n");
}

static void
foreign_text_cannot_move_the_cursor_or_start_a_line(void **state)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024);
	json_t *doc = json_loads(
		"{\"denials\":[{\"what\":\"execve\",\"count\":1,"
		"\"field\":null,\"flag\":null,\"reported\":{\"path\":"
		"\"a\\nremit: denied: b\\u001b]0;t\\u0007\\u001b[31m\\r\"}}]}",
		0, NULL);

	(void)state;
	assert_non_null(doc);
	assert_int_equal(denials_show(doc, &out), 0);
	assert_null(strpbrk(out.data, "\033\007\r\t"));
	assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
	json_decref(doc);
}

static void
omitted_denials_are_counted(void **state)
{
	(void)state;
	lines_are("{\"denials\":[],\"denials_left_out\":7}",
		  "remit: denied: 7 more\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(result_without_denials_prints_nothing),
		cmocka_unit_test(denial_line_has_call_reason_and_remedy),
		cmocka_unit_test(
			foreign_text_cannot_move_the_cursor_or_start_a_line),
		cmocka_unit_test(omitted_denials_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
