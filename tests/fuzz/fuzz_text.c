/*
 * Any bytes become valid JSON text, valid text does not change, and base64
 * decodes to the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz.h"

static void
check_json(const char *bytes, size_t len)
{
	json_auto_t *s = text_to_json(bytes, len);
	const char *text = json_string_value(s);
	size_t text_len = json_string_length(s);
	size_t valid = text_valid_prefix(bytes, len);

	must(s != NULL && text_len >= len && text_len <= 3 * len);
	must(text_valid_prefix(text, text_len) == text_len);
	must(valid <= len && !memcmp(text, bytes, valid));
	must((valid == len) == (text_len == len && !memcmp(text, bytes, len)));
	if (text_is_cut(bytes, len))
		must(valid < len && len - valid < 4);
}

/* The 6 bits of a base64 digit, or -1. It needs no table, unlike the product.
 */
static int
base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static void
check_base64(const char *bytes, size_t len)
{
	own_mem char *text = base64_encode(bytes, len);
	uint32_t have = 0;
	size_t at = 0;
	int bits = 0;

	must(text && strlen(text) == (len + 2) / 3 * 4);
	for (const char *t = text; *t && *t != '='; t++) {
		must(base64_digit(*t) >= 0);
		have = have << 6 | (uint32_t)base64_digit(*t);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		must(at < len && (char)(have >> bits) == bytes[at]);
		at++;
	}
	must(at == len && !(have & ((1u << bits) - 1)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own_mem char *exact = malloc(size ? size : 1);

	must(exact != NULL);
	if (size)
		memcpy(exact, data, size);
	check_json(exact, size);
	check_base64(exact, size);
	return 0;
}
