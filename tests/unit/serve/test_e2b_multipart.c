/* e2b_multipart: the files of a form, and malformed forms. */
#include "serve/e2b/files/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PART(head, bytes) "--XX\r\n" head "\r\n\r\n" bytes "\r\n"
#define NAMED(name) \
	"Content-Disposition: form-data; name=\"file\"; filename=\"" name "\""

static struct multipart form;

static int
read_form(const char *body, size_t len)
{
	return multipart_read(&form, body, len, "XX");
}

#define READ(body) read_form(body, sizeof(body) - 1)

static void
form_yields_names_and_bytes_of_its_files(void **state)
{
	(void)state;
	assert_int_equal(
		READ(PART(NAMED("a.txt") "\r\nContent-Type: text/plain", "one")
			     PART("content-disposition: form-data; name=\"x\"",
				  "\0two\r\n--X")
				     PART(NAMED("q\\\"\\.txt"), "") "--XX--"),
		0);
	assert_int_equal(form.count, 3);
	assert_string_equal(form.files[0].filename, "a.txt");
	assert_int_equal(form.files[0].len, 3);
	assert_memory_equal(form.files[0].bytes, "one", 3);
	assert_string_equal(form.files[1].filename, "");
	assert_int_equal(form.files[1].len, 9);
	assert_memory_equal(form.files[1].bytes, "\0two\r\n--X", 9);
	assert_string_equal(form.files[2].filename, "q\"\\.txt");
	assert_int_equal(form.files[2].len, 0);
	multipart_free(&form);
	assert_int_equal(READ("--XX--\r\n"), 0);
	assert_int_equal(form.count, 0);
}

static void
incomplete_form_is_rejected(void **state)
{
	static const struct {
		const char *body;
		size_t len;
	} wrong[] = {
#define W(text) { text, sizeof(text) - 1 }
		W(""),
		W("--XX"),
		W("--XY--"),
		W("\r\n--XX--"),
		W("--XX\r\n"),
		W("--XX\r\n" NAMED("a")),
		W("--XX\r\n" NAMED("a") "\r\n\r\nbytes"),
		W(PART(NAMED("a"), "b")),
		W(PART("Content-Type: a", "no name") "--XX--"),
		W(PART(NAMED("a"), "b") "--XX-"),
#undef W
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		if (read_form(wrong[i].body, wrong[i].len) == 0)
			fail_msg("row %zu was accepted", i);
		multipart_free(&form);
	}
}

static void
form_with_too_many_files_is_rejected(void **state)
{
	static const char part[] = PART(NAMED("a"), "b");
	static char body[(MULTIPART_FILES_MAX + 1) * sizeof(part) + 16];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < MULTIPART_FILES_MAX; i++, len += sizeof(part) - 1)
		memcpy(body + len, part, sizeof(part) - 1);
	memcpy(body + len, "--XX--", 6);
	assert_int_equal(read_form(body, len + 6), 0);
	multipart_free(&form);
	memcpy(body + len, part, sizeof(part) - 1);
	len += sizeof(part) - 1;
	memcpy(body + len, "--XX--", 6);
	assert_int_equal(read_form(body, len + 6), -1);
	multipart_free(&form);
}

static bool
has_boundary(const char *type, char out[80])
{
	return multipart_boundary(type, strlen(type), out);
}

static void
boundary_is_read_from_the_content_type(void **state)
{
	char out[80];

	(void)state;
	assert_true(has_boundary("multipart/form-data; boundary=a-B_1", out));
	assert_string_equal(out, "a-B_1");
	assert_true(
		has_boundary("Multipart/Form-Data;Boundary=\"x y\"; q=1", out));
	assert_string_equal(out, "x");
	assert_false(has_boundary("multipart/form-data", out));
	assert_false(has_boundary("multipart/form-data; boundary=", out));
	assert_false(has_boundary("text/plain; boundary=x", out));
	assert_false(has_boundary(
		"multipart/form-data; boundary="
		"01234567890123456789012345678901234567890123456789"
		"012345678901234567890",
		out));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(form_yields_names_and_bytes_of_its_files),
		cmocka_unit_test(incomplete_form_is_rejected),
		cmocka_unit_test(form_with_too_many_files_is_rejected),
		cmocka_unit_test(boundary_is_read_from_the_content_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
