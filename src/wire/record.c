#include "wire/record.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

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
		return fail(err, REMIT_E_PROTOCOL, "incomplete records");
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

/* ---- files ---- */

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
		return fail(err, REMIT_E_PROTOCOL,
			    "a malformed head of a file");
	h->path = path.value;
	return 0;
}

/* ---- tool calls ---- */

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
		return fail(err, REMIT_E_PROTOCOL,
			    "a malformed head of a call");
	h->key = word.key;
	h->word = word.value;
	return 0;
}

/* ---- displays ---- */

/* Far above any real part, and small enough that sums cannot overflow. */
#define BYTES_MAX (UINT64_C(1) << 40)
#define MIME_MAX  120

static bool
is_mime(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.+-_";
	size_t n = strspn(text, plain);

	if (!n || text[n] != '/' || strlen(text) > MIME_MAX)
		return false;
	text += n + 1;
	return *text && !text[strspn(text, plain)];
}

static bool
has_part(const struct display_head *h, const char *mime)
{
	for (size_t i = 0; i < h->part_count; i++)
		if (!strcmp(h->parts[i].mime, mime))
			return true;
	return false;
}

static int
add_part(struct display_head *h, const char *mime, const struct record *bytes,
	 struct remit_error *err)
{
	struct display_part *p = &h->parts[h->part_count];

	if (h->part_count == DISPLAY_PARTS || !is_mime(mime) ||
	    has_part(h, mime) || strcmp(bytes->key, "bytes") != 0 ||
	    number_parse(&p->bytes, bytes->value) < 0 || p->bytes > BYTES_MAX)
		return fail(err, REMIT_E_PROTOCOL,
			    "a malformed part of a display");
	p->mime = mime;
	h->total_bytes += p->bytes;
	h->part_count++;
	return 0;
}

static int
add_gap(struct display_head *h, const char *mime, const struct record *reason,
	struct remit_error *err)
{
	if (h->gap_count == DISPLAY_PARTS || strcmp(reason->key, "reason") != 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "a malformed left-out part of a display");
	h->gaps[h->gap_count++] = (struct display_gap){ mime, reason->value };
	return 0;
}

static int
parse_kind(struct display_head *h, const struct record *r,
	   struct remit_error *err)
{
	bool is_value = !strcmp(r->value, "value");

	if (strcmp(r->key, "kind") != 0 ||
	    (!is_value && strcmp(r->value, "display") != 0))
		return fail(err, REMIT_E_PROTOCOL,
			    "a display of an unknown kind");
	h->kind = is_value ? DISPLAY_VALUE : DISPLAY_SHOWN;
	return 0;
}

int
display_head_read(struct display_head *h, const char *payload, size_t len,
		  struct remit_error *err)
{
	struct record r, next;
	size_t at = 0;

	*h = (struct display_head){ 0 };
	if (record_check(payload, len, err) < 0)
		return -1;
	if (!record_next(payload, len, &at, &r))
		return fail(err, REMIT_E_PROTOCOL,
			    "a display without its head");
	if (parse_kind(h, &r, err) < 0)
		return -1;
	while (record_next(payload, len, &at, &r)) {
		int failed = 0;

		if (!strcmp(r.key, "truncated")) {
			h->truncated = true;
			continue;
		}
		if (!record_next(payload, len, &at, &next))
			return fail(err, REMIT_E_PROTOCOL,
				    "an incomplete part of a display");
		if (!strcmp(r.key, "mime"))
			failed = add_part(h, r.value, &next, err);
		else if (!strcmp(r.key, "left_out"))
			failed = add_gap(h, r.value, &next, err);
		else
			failed = fail(err, REMIT_E_PROTOCOL,
				      "unknown member \"%.40s\" in a display",
				      r.key);
		if (failed < 0)
			return -1;
	}
	return 0;
}
