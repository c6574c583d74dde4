#include "http/body.h"

#include "base/number.h"

/* Chunks of up to 4 GiB, more than any limit of a body. */
#define SIZE_DIGITS 8

void
body_begin(struct body *b, bool is_chunked, uint64_t length, size_t max)
{
	*b = (struct body){
		.step = is_chunked ? CHUNK_SIZE : PLAIN_DATA,
		.left = is_chunked ? 0 : length,
		.data = BUF_INIT(max),
	};
	if (!is_chunked && !length)
		b->step = BODY_DONE;
}

void
body_free(struct body *b)
{
	buf_free(&b->data);
}

/* Parses one byte that is not data. Returns -1 if it is not allowed here. */
static int
feed_mark(struct body *b, char c)
{
	int digit;

	switch (b->step) {
	case CHUNK_SIZE:
		digit = number_hex_digit(c);
		if (digit >= 0 && b->digits < SIZE_DIGITS) {
			b->left = b->left * 16 + (unsigned)digit;
			b->digits++;
			return 0;
		}
		if (c != '\r' || !b->digits)
			return -1;
		b->step = CHUNK_SIZE_LF;
		return 0;
	case CHUNK_SIZE_LF:
		b->digits = 0;
		b->step = b->left ? CHUNK_DATA : CHUNK_END_CR;
		return c == '\n' ? 0 : -1;
	case CHUNK_DATA_CR:
		b->step = CHUNK_DATA_LF;
		return c == '\r' ? 0 : -1;
	case CHUNK_DATA_LF:
		b->step = CHUNK_SIZE;
		return c == '\n' ? 0 : -1;
	case CHUNK_END_CR:
		b->step = CHUNK_END_LF;
		return c == '\r' ? 0 : -1;
	case CHUNK_END_LF:
		b->step = BODY_DONE;
		return c == '\n' ? 0 : -1;
	default:
		return -1;
	}
}

static int
feed_data(struct body *b, const char *bytes, size_t len, size_t *used)
{
	size_t n = len < b->left ? len : (size_t)b->left;

	if (buf_add(&b->data, bytes, n) < 0)
		return -1;
	*used += n;
	b->left -= n;
	if (!b->left)
		b->step = b->step == PLAIN_DATA ? BODY_DONE : CHUNK_DATA_CR;
	return 0;
}

enum body_answer
body_feed(struct body *b, const char *bytes, size_t len, size_t *used)
{
	*used = 0;
	while (b->step != BODY_DONE && *used < len) {
		if (b->step == CHUNK_DATA || b->step == PLAIN_DATA) {
			if (feed_data(b, bytes + *used, len - *used, used) < 0)
				return BODY_LARGE;
		} else if (feed_mark(b, bytes[(*used)++]) < 0) {
			return BODY_BAD;
		}
	}
	return b->step == BODY_DONE ? BODY_WHOLE : BODY_MORE;
}
