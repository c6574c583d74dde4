/* digest: the examples of FIPS 180-4, every length around a block, and FNV-1a.
 */
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
sha256_of_the_examples_in_the_standard(void **state)
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
sha256_of_a_million_letters(void **state)
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
sha256_of_all_lengths_around_a_block(void **state)
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

/* Values from the definition of FNV-1a with 64 bits. */
static void
a_fingerprint_is_fnv_1a_of_the_text_and_its_nul(void **state)
{
	struct hash h = HASH_INIT;

	(void)state;
	hash_text(&h, "");
	assert_true(h.value == UINT64_C(0xaf63bd4c8601b7df));
	h = (struct hash)HASH_INIT;
	hash_text(&h, "foobar");
	assert_true(h.value == UINT64_C(0x34531ca7168b8f38));
}

static void
hash_depends_on_the_boundary_between_texts(void **state)
{
	struct hash a = HASH_INIT;
	struct hash b = HASH_INIT;

	(void)state;
	hash_text(&a, "ab");
	hash_text(&a, "c");
	hash_text(&b, "a");
	hash_text(&b, "bc");
	assert_true(a.value != b.value);
}

static void
hash_depends_on_every_byte_of_a_number(void **state)
{
	struct hash plain = HASH_INIT;

	(void)state;
	hash_number(&plain, 0);
	for (int i = 0; i < 64; i++) {
		struct hash h = HASH_INIT;

		hash_number(&h, UINT64_C(1) << i);
		assert_true(h.value != plain.value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_of_the_examples_in_the_standard),
		cmocka_unit_test(sha256_of_a_million_letters),
		cmocka_unit_test(sha256_of_all_lengths_around_a_block),
		cmocka_unit_test(
			a_fingerprint_is_fnv_1a_of_the_text_and_its_nul),
		cmocka_unit_test(hash_depends_on_the_boundary_between_texts),
		cmocka_unit_test(hash_depends_on_every_byte_of_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
