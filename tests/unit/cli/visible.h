/*
 * visible: an independent implementation of the rule of screen: only text, tab,
 * newline and colour codes may reach a terminal.
 */
#ifndef REMIT_TEST_VISIBLE_H
#define REMIT_TEST_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* Returns the length of the colour code at `s`, or 0. */
static inline size_t
visible_colour(const char *s, size_t len)
{
	size_t i = 2;

	if (len < 3 || s[0] != 0x1b || s[1] != '[')
		return 0;
	while (i < len && s[i] && strchr("0123456789;:", s[i]))
		i++;
	return i < len && s[i] == 'm' ? i + 1 : 0;
}

/* Returns the offset of the first forbidden byte, or `len`. */
static inline size_t
visible_until(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)s[i];
		size_t colour = visible_colour(s + i, len - i);

		if (colour) {
			i += colour;
			continue;
		}
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return i;
		if (c == 0xc2 && i + 1 < len && (unsigned char)s[i + 1] < 0xa0)
			return i;
		i++;
	}
	return text_valid_prefix(s, len);
}

#endif
