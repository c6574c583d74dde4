#include "policy/quote.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 60

const char *
quote_bare(char *out, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	/* Bytes 10xxxxxx continue a UTF-8 character: cut before its first. */
	if (n == size) {
		n--;
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		out[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
	}
	out[n] = '\0';
	return out;
}

const char *
quote(char out[QUOTE_SIZE], const char *text)
{
	char bare[SHOWN + 1];
	const char *dots = strnlen(text, SHOWN + 1) > SHOWN ? "..." : "";

	quote_bare(bare, sizeof(bare), text);
	snprintf(out, QUOTE_SIZE, "\"%s%s\"", bare, dots);
	return out;
}
