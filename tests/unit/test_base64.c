/* base64: one text for each bytes, and nothing else. */
#include "base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

#include <cmocka.h>

static void
what_is_encoded_is_decoded(void **state)
{
	char bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		char *text = text_base64(bytes, len), *back;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(what_is_written_otherwise_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
