#include "number.h"

int
number_parse(uint64_t *out, const char *text)
{
	uint64_t n = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return -1;
	}
	*out = n;
	return 0;
}

int
number_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
