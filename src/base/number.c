#include "base/number.h"

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

uint64_t
number_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t
number_mul(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t
number_whole(double d)
{
	/* Converting NaN or a number out of range is undefined (C11,
	   6.3.1.4). */
	if (!(d >= 1))
		return 0;
	return d < 0x1p64 ? (uint64_t)d : UINT64_MAX;
}

int
number_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
