#include "wire/file_head.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "wire/record.h"

int
file_head_write(struct buf *out, const struct file_head *h)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)h->size_bytes);
	if (record_add(out, "path", h->path) < 0)
		return -1;
	return record_add(out, "size", number);
}

int
file_head_read(struct file_head *h, const char *payload, size_t len,
	       struct remit_error *err)
{
	struct record path, size;
	size_t at = 0;

	if (record_check(payload, len, err) < 0)
		return -1;
	if (!record_next(payload, len, &at, &path) ||
	    !record_next(payload, len, &at, &size) || at != len ||
	    strcmp(path.key, "path") != 0 || strcmp(size.key, "size") != 0 ||
	    number_parse(&h->size_bytes, size.value) < 0)
		return fail(err, REMIT_E_PROTOCOL, "a file without its head");
	h->path = path.value;
	return 0;
}
