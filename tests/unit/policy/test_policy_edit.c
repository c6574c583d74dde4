/* policy_edit: adds one grant to a document and keeps the rest. */
#include "policy/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NET  F_NETWORK_ACCESS
#define READ F_FILESYSTEM_READ_ROOTS

static int
edit(const char *document, enum field_id id, const char *text, struct buf *out,
     struct remit_error *err)
{
	own(buf) struct buf old = BUF_INIT(1024 * 1024);

	assert_int_equal(buf_add(&old, document, strlen(document)), 0);
	return policy_edit_grant(&old, &fields[id], text, out, err);
}

static void
switches_and_lists_are_edited_in_place(void **state)
{
	static const struct row {
		const char *old;
		enum field_id field;
		const char *text;
		const char *new;
	} rows[] = {
		{ "{}", NET, "true", "{\"network_access\": true}" },
		{ " { } ", NET, "true", " {\"network_access\": true } " },
		{ "{\"network_access\":false}\n", NET, "true",
		  "{\"network_access\":true}\n" },
		{ "{\"network_access\" : true , \"timeout\":5}", NET, "true",
		  "{\"network_access\" : true , \"timeout\":5}" },
		{ "{\n  \"timeout\": 1.50,\n  \"env\": {\"A\": \"}\"}\n}\n",
		  NET, "true",
		  "{\n  \"timeout\": 1.50,\n  \"env\": {\"A\": \"}\"},\n"
		  "  \"network_access\": true\n}\n" },
		{ "{\"cpus\":1,\"timeout\":5}", NET, "true",
		  "{\"cpus\":1,\"timeout\":5,\"network_access\": true}" },
		{ "{\"timeout\": 5}", READ, "/a",
		  "{\"timeout\": 5, \"filesystem_read_roots\": [\"/a\"]}" },
		{ "{\"filesystem_read_roots\": []}", READ, "/a",
		  "{\"filesystem_read_roots\": [\"/a\"]}" },
		{ "{\"filesystem_read_roots\": [ \"/b]\" ], \"cpus\": 1}", READ,
		  "/a",
		  "{\"filesystem_read_roots\": [ \"/b]\", \"/a\" ], "
		  "\"cpus\": 1}" },
		{ "{\"filesystem_read_roots\": [\n\t\"/b\",\n\t\"/c\"\n]}",
		  READ, "/a",
		  "{\"filesystem_read_roots\": [\n\t\"/b\",\n\t\"/c\",\n"
		  "\t\"/a\"\n]}" },
		{ "{\"filesystem\\u005fread_roots\": [\"/b\"]}", READ,
		  "/q\"\\\n",
		  "{\"filesystem\\u005fread_roots\": [\"/b\", \"/q\\\"\\\\"
		  "\\n\"]}" },
		{ "{\"env\": {\"network_access\": \"false\"}}", NET, "true",
		  "{\"env\": {\"network_access\": \"false\"}, "
		  "\"network_access\": true}" },
		{ "{\"preset\": \"strict\"}", READ, "/a",
		  "{\"preset\": \"strict\", "
		  "\"filesystem_read_roots\": [\"/a\"]}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf) struct buf out = BUF_INIT(1024 * 1024);
		struct remit_error err;

		if (edit(rows[i].old, rows[i].field, rows[i].text, &out, &err) <
		    0)
			fail_msg("row %zu: %s", i, err.message);
		assert_string_equal(buf_text(&out), rows[i].new);
	}
}

static void
field_that_a_flag_cannot_grant_is_refused(void **state)
{
	own(buf) struct buf out = BUF_INIT(1024 * 1024);
	struct remit_error err;

	(void)state;
	assert_int_equal(edit("{", NET, "true", &out, &err), -1);
	assert_int_equal(edit("{\"no\": 1}", NET, "true", &out, &err), -1);
	assert_int_equal(edit("{}", READ, "/proc/1", &out, &err), -1);
	assert_int_equal(edit("{}", READ, "/a/../b", &out, &err), -1);
	assert_int_equal(edit("{}", F_TIER, "unsafe", &out, &err), -1);
	assert_int_equal(edit("{}", F_MEMORY_BYTES, "1G", &out, &err), -1);
}

static void
a_document_that_grows_beyond_its_cap_is_refused(void **state)
{
	own(buf) struct buf out = BUF_INIT(20);
	struct remit_error err;

	(void)state;
	assert_int_equal(edit("{}", NET, "true", &out, &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_and_lists_are_edited_in_place),
		cmocka_unit_test(field_that_a_flag_cannot_grant_is_refused),
		cmocka_unit_test(
			a_document_that_grows_beyond_its_cap_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
