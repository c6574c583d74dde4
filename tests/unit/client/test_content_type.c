/* content_type: guesses the type of a file. */
#include "client/files/content_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"

#include <cmocka.h>

static void
content_type_prefers_bytes_to_names(void **state)
{
	static const struct {
		const char *path, *first;
		size_t len;
		const char *type;
	} rows[] = {
		{ "a.csv", "x,y\n", 4, "text/csv" },
		{ "a.CSV", "x,y\n", 4, "text/csv" },
		{ "a.txt", "hello", 5, "text/plain" },
		{ "a", "hello", 5, "text/plain" },
		{ "a", "", 0, "text/plain" },
		{ "b.csv/a", "hello", 5, "text/plain" },
		{ "a.png", "\x89PNG\r\n\x1a\n....", 12, "image/png" },
		{ "a.csv", "\x89PNG\r\n\x1a\n....", 12, "image/png" },
		{ "a.png", "hello", 5, "text/plain" },
		{ "a.json", "{\"a\":\0}", 7, "application/octet-stream" },
		{ "a.html", "\xff\xfe", 2, "application/octet-stream" },
		{ "a.html", "<p>caf\xc3", 7, "text/html" },
		{ "a.svg", "<svg/>", 6, "image/svg+xml" },
		{ "a.pdf", "%PDF-1.7", 8, "application/pdf" },
		{ "a.pdf", "%PDF", 4, "text/plain" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(
			content_type(rows[i].path, rows[i].first, rows[i].len),
			rows[i].type);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_type_prefers_bytes_to_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
