#include "wire/record.h"

#include <string.h>

int
record_add(struct buf *b, const char *key, const char *value)
{
	if (buf_add(b, key, strlen(key) + 1) < 0)
		return -1;
	return buf_add(b, value, strlen(value) + 1);
}

int
record_check(const char *payload, size_t len, struct remit_error *err)
{
	size_t zeros = 0;

	for (size_t i = 0; i < len; i++)
		zeros += payload[i] == '\0';
	if (len && (payload[len - 1] || zeros % 2))
		return fail(err, REMIT_E_PROTOCOL, "records without their end");
	return 0;
}

bool
record_next(const char *payload, size_t len, size_t *at, struct record *out)
{
	if (*at >= len)
		return false;
	out->key = payload + *at;
	*at += strlen(out->key) + 1;
	out->value = payload + *at;
	*at += strlen(out->value) + 1;
	return true;
}
