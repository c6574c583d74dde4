/* sha256: the examples of FIPS 180-4, and every length around a block. */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
the_standard_s_examples(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223"
			 "b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039"
		  "a33ce45964ff2167f6ecedd419db06c1" },
	};
	char digest[SHA256_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sha256_text(rows[i].text, strlen(rows[i].text), digest);
		assert_string_equal(digest, rows[i].digest);
	}
}

static void
a_million_letters(void **state)
{
	static char text[1000000];
	char digest[SHA256_TEXT];

	(void)state;
	memset(text, 'a', sizeof(text));
	sha256_text(text, sizeof(text), digest);
	assert_string_equal(digest, "cdc76e5c9914fb9281a1c7e284d73e67"
				    "f1809a48a497200e046d39ccc7112cd0");
}

/* The digests of "a" repeated 0 to 199 times, one after the other. */
static void
all_lengths_around_a_block(void **state)
{
	char text[200], all[200 * (SHA256_TEXT - 1) + 1];
	char digest[SHA256_TEXT];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++)
		sha256_text(text, i, all + i * (SHA256_TEXT - 1));
	sha256_text(all, sizeof(all) - 1, digest);
	assert_string_equal(digest, "019f2b9f1af27a53a1f046da7e98af2c"
				    "179f431e4b5bebb000e74040917a4123");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_standard_s_examples),
		cmocka_unit_test(a_million_letters),
		cmocka_unit_test(all_lengths_around_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
