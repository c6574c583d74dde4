#include "wire/call_head.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "wire/record.h"

int
call_head_write(struct buf *out, const struct call_head *h)
{
	char id[24], bytes[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)h->id);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)h->bytes);
	if (record_add(out, "id", id) < 0 ||
	    record_add(out, h->key, h->word) < 0)
		return -1;
	return record_add(out, "bytes", bytes);
}

int
call_head_read(struct call_head *h, const char *key, const char *payload,
	       size_t len, struct remit_error *err)
{
	struct record id, word, bytes;
	size_t at = 0;

	if (record_check(payload, len, err) < 0)
		return -1;
	if (!record_next(payload, len, &at, &id) ||
	    !record_next(payload, len, &at, &word) ||
	    !record_next(payload, len, &at, &bytes) || at != len ||
	    strcmp(id.key, "id") != 0 || strcmp(word.key, key) != 0 ||
	    strcmp(bytes.key, "bytes") != 0 ||
	    number_parse(&h->id, id.value) < 0 ||
	    number_parse(&h->bytes, bytes.value) < 0)
		return fail(err, REMIT_E_PROTOCOL, "a call without its head");
	h->key = word.key;
	h->word = word.value;
	return 0;
}
