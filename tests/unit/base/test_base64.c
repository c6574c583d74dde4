/* base64: one text for each bytes, and nothing else. */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

static void
what_is_encoded_is_decoded(void **state)
{
	char bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		char *text = base64_encode(bytes, len), *back;
		size_t n;

		assert_int_equal(base64_decode(text, strlen(text), &back, &n),
				 0);
		assert_int_equal(n, len);
		assert_memory_equal(back, bytes, len);
		free(text);
		free(back);
	}
}

static void
what_is_written_otherwise_is_refused(void **state)
{
	static const char *const bad[] = {
		"A",	"AA",	"AAA",	"AAA=AAAA", "====", "A===", "AAAA\n",
		"AA A", "AA-_", "QR==", "QUJ=",	    "=AAA", "AA=A",
	};
	char *bytes;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			base64_decode(bad[i], strlen(bad[i]), &bytes, &n), -1);
}

/* RFC 4648, section 10, and bytes that need the last digits. */
static void
base64_is_that_of_the_standard(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} rows[] = {
		{ BYTES(""), "" },
		{ BYTES("f"), "Zg==" },
		{ BYTES("fo"), "Zm8=" },
		{ BYTES("foo"), "Zm9v" },
		{ BYTES("foob"), "Zm9vYg==" },
		{ BYTES("fooba"), "Zm9vYmE=" },
		{ BYTES("foobar"), "Zm9vYmFy" },
		{ BYTES("\0"), "AA==" },
		{ BYTES("\0\0\0"), "AAAA" },
		{ BYTES("\xff"), "/w==" },
		{ BYTES("\xff\xff"), "//8=" },
		{ BYTES("\xff\xff\xff"), "////" },
		{ BYTES("\xfb\xef\xbe"), "++++" },
		{ BYTES("\x14\xfb\x9c\x03\xd9\x7e"), "FPucA9l+" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own_mem char *exact = malloc(rows[i].len ? rows[i].len : 1);
		own_mem char *text = NULL;

		assert_non_null(exact);
		memcpy(exact, rows[i].bytes, rows[i].len);
		text = base64_encode(exact, rows[i].len);
		assert_string_equal(text, rows[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_is_that_of_the_standard),
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(what_is_written_otherwise_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
