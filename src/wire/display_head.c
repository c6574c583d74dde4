#include "wire/display_head.h"

#include <string.h>

#include "base/number.h"
#include "wire/record.h"

/* No length of a part is near this, so that no sum overflows. */
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
is_there(const struct display_head *h, const char *mime)
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
	    is_there(h, mime) || strcmp(bytes->key, "bytes") != 0 ||
	    number_parse(&p->bytes, bytes->value) < 0 || p->bytes > BYTES_MAX)
		return fail(err, REMIT_E_PROTOCOL, "a part that is none");
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
		return fail(err, REMIT_E_PROTOCOL, "a gap that is none");
	h->gaps[h->gap_count++] = (struct display_gap){ mime, reason->value };
	return 0;
}

static int
take_kind(struct display_head *h, const struct record *r,
	  struct remit_error *err)
{
	bool is_value = !strcmp(r->value, "value");

	if (strcmp(r->key, "kind") != 0 ||
	    (!is_value && strcmp(r->value, "display") != 0))
		return fail(err, REMIT_E_PROTOCOL, "a display of no kind");
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
		return fail(err, REMIT_E_PROTOCOL, "a display without a head");
	if (take_kind(h, &r, err) < 0)
		return -1;
	while (record_next(payload, len, &at, &r)) {
		int failed = 0;

		if (!strcmp(r.key, "truncated")) {
			h->truncated = true;
			continue;
		}
		if (!record_next(payload, len, &at, &next))
			return fail(err, REMIT_E_PROTOCOL, "half a part");
		if (!strcmp(r.key, "mime"))
			failed = add_part(h, r.value, &next, err);
		else if (!strcmp(r.key, "left_out"))
			failed = add_gap(h, r.value, &next, err);
		else
			failed = fail(err, REMIT_E_PROTOCOL,
				      "a display has no \"%.40s\"", r.key);
		if (failed < 0)
			return -1;
	}
	return 0;
}
