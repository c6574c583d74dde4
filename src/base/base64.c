#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static int
value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters; `keep` of the three bytes count. */
static int
decode_group(const char *text, size_t keep, char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int v = i <= keep ? value_of(text[i]) : 0;

		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
	}
	for (size_t i = 0; i < keep; i++)
		out[i] = (char)(bits >> (16 - 8 * i));
	/* Bits that are nobody's must be zero: one text for each bytes. */
	return bits & ((UINT32_C(1) << (8 * (3 - keep))) - 1) ? -1 : 0;
}

int
base64_decode(const char *text, size_t len, char **bytes, size_t *out)
{
	size_t pad = 0, groups = len / 4;
	char *to;

	errno = EINVAL;
	if (len % 4)
		return -1;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	to = malloc(groups * 3 + 1);
	if (!to)
		return -1;
	for (size_t i = 0; i < groups; i++)
		if (decode_group(text + 4 * i, i + 1 == groups ? 3 - pad : 3,
				 to + 3 * i) < 0) {
			free(to);
			errno = EINVAL;
			return -1;
		}
	*out = groups * 3 - pad;
	to[*out] = '\0';
	*bytes = to;
	return 0;
}

char *
base64_encode(const char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
				     "nopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)bytes;
	char *out = malloc((len + 2) / 3 * 4 + 1), *to = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)s[i] << 16;

		if (i + 1 < len)
			v |= (uint32_t)s[i + 1] << 8;
		if (i + 2 < len)
			v |= s[i + 2];
		*to++ = digits[v >> 18 & 63];
		*to++ = digits[v >> 12 & 63];
		*to++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digits[v & 63] : '=';
	}
	*to = '\0';
	return out;
}
