#include "client/displays.h"

#include <string.h>

#include "base/text.h"

#define PLAIN "text/plain"
#define JSON  "application/json"

static bool
ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool
is_json(const char *mime)
{
	return !strcmp(mime, JSON) || ends_in(mime, "+json");
}

static bool
is_text(const char *mime)
{
	return !strncmp(mime, "text/", 5) || ends_in(mime, "+xml") ||
	       !strcmp(mime, "application/javascript");
}

bool
displays_is_text(const char *mime)
{
	return is_text(mime) || is_json(mime);
}

/* ---- as JSON ---- */

static int
add_string(struct buf *out, const char *bytes, size_t len)
{
	json_auto_t *string = text_to_json(bytes, len);
	own_mem char *text =
		string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;

	return text ? buf_add(out, text, strlen(text)) : -1;
}

static int
add_base64(struct buf *out, const char *bytes, size_t len)
{
	own_mem char *text = base64_encode(bytes, len);

	if (!text || buf_add(out, "\"", 1) < 0 ||
	    buf_add(out, text, strlen(text)) < 0)
		return -1;
	return buf_add(out, "\"", 1);
}

/* Returns true if the JSON can become part of the result: it has no newline or
   tab, since a result is one line, and this library can parse it. */
static bool
is_good_json(const struct remit_part *p)
{
	json_auto_t *doc = NULL;

	for (size_t i = 0; i < p->len; i++)
		if ((unsigned char)p->bytes[i] < ' ')
			return false;
	doc = json_loadb(p->bytes, p->len,
			 JSON_DECODE_ANY | JSON_ALLOW_NUL |
				 JSON_DECODE_INT_AS_REAL,
			 NULL);
	return doc != NULL;
}

static int
add_content(struct buf *out, const struct remit_part *p)
{
	if (is_json(p->mime))
		return buf_add(out, p->bytes, p->len);
	if (is_text(p->mime))
		return add_string(out, p->bytes, p->len);
	return add_base64(out, p->bytes, p->len);
}

static int
add_member(struct buf *out, const char **comma, const struct remit_part *p)
{
	if (buf_addf(out, "%s\"%s\":", *comma, p->mime) < 0)
		return -1;
	*comma = ",";
	return add_content(out, p);
}

/* The text and the data of a value are separate members of the result, not
   parts by MIME type. */
static bool
is_named(const struct remit_part *p)
{
	return !strcmp(p->mime, PLAIN) || !strcmp(p->mime, JSON);
}

static int
add_mime(struct buf *out, const struct remit_display *d)
{
	const char *comma = "";

	if (buf_addf(out, "\"mime\":{") < 0)
		return -1;
	for (size_t i = 0; i < d->part_count; i++)
		if (!(d->is_value && is_named(&d->parts[i])) &&
		    add_member(out, &comma, &d->parts[i]) < 0)
			return -1;
	return buf_add(out, "}", 1);
}

static int
add_named(struct buf *out, const struct remit_display *d)
{
	bool has_text = false;

	for (size_t i = 0; d->is_value && i < d->part_count; i++) {
		const struct remit_part *p = &d->parts[i];

		if (!is_named(p))
			continue;
		has_text |= !strcmp(p->mime, PLAIN);
		if (buf_addf(out, "\"%s\":",
			     !strcmp(p->mime, PLAIN) ? "text" : "json") < 0 ||
		    add_content(out, p) < 0 || buf_add(out, ",", 1) < 0)
			return -1;
	}
	return d->is_value && !has_text ? buf_addf(out, "\"text\":\"\",") : 0;
}

static int
add_gap(struct buf *out, const char *comma, const char *mime,
	const char *reason)
{
	if (buf_addf(out, "%s{\"mime\":", comma) < 0 ||
	    add_string(out, mime, strlen(mime)) < 0 ||
	    buf_addf(out, ",\"reason\":") < 0 ||
	    add_string(out, reason, strlen(reason)) < 0)
		return -1;
	return buf_add(out, "}", 1);
}

static int
add_gaps(struct buf *out, const struct display_head *h, const char *no_json)
{
	const char *comma = "";

	if (buf_addf(out, ",\"left_out\":[") < 0)
		return -1;
	for (size_t i = 0; i < h->gap_count; i++) {
		if (add_gap(out, comma, h->gaps[i].mime, h->gaps[i].reason) < 0)
			return -1;
		comma = ",";
	}
	if (no_json && add_gap(out, comma, no_json, "it is not valid JSON") < 0)
		return -1;
	return buf_add(out, "]", 1);
}

static int
write_display(struct buf *out, const struct display_head *h,
	      const struct remit_display *d, const char *no_json)
{
	if (buf_add(out, "{", 1) < 0 || add_named(out, d) < 0 ||
	    add_mime(out, d) < 0 ||
	    buf_addf(out, ",\"truncated\":%s",
		     h->truncated ? "true" : "false") < 0 ||
	    add_gaps(out, h, no_json) < 0)
		return -1;
	return buf_add(out, "}", 1);
}

/* ---- arriving frames ---- */

/* All bytes of a display have arrived: pass it to the caller and write its
   JSON. */
static int
finish_display(struct displays *d, const struct display_head *h,
	       struct remit_error *err)
{
	struct remit_part parts[DISPLAY_PARTS];
	struct remit_display all = {
		.is_value = h->kind == DISPLAY_VALUE,
		.parts = parts,
	};
	struct buf *to = all.is_value ? &d->value : &d->shown;
	const char *at = buf_text(&d->data), *no_json = NULL;

	for (size_t i = 0; i < h->part_count; i++) {
		struct remit_part *p = &parts[all.part_count];

		*p = (struct remit_part){ h->parts[i].mime, at,
					  h->parts[i].bytes };
		at += p->len;
		if (is_json(p->mime) && !is_good_json(p))
			no_json = p->mime;
		else
			all.part_count++;
	}
	if (d->on_display)
		d->on_display(d->user, &all);
	if ((!all.is_value && buf_add(to, to->len ? "," : "[", 1) < 0) ||
	    write_display(to, h, &all, no_json) < 0)
		return fail_memory(err, "displays");
	d->total_bytes = d->data.len = 0;
	return 0;
}

static int
finish_if_whole(struct displays *d, struct remit_error *err)
{
	struct display_head h;

	if (d->data.len < d->total_bytes)
		return 0;
	if (display_head_read(&h, buf_text(&d->head), d->head.len, err) < 0)
		return -1;
	return finish_display(d, &h, err);
}

int
displays_begin(struct displays *d, const char *payload, size_t len,
	       struct remit_error *err)
{
	struct display_head h;

	if (display_head_read(&h, payload, len, err) < 0)
		return -1;
	if (d->total_bytes)
		return fail(err, REMIT_E_PROTOCOL,
			    "a display begins before the last one is complete");
	if (h.kind == DISPLAY_VALUE && d->value.len)
		return fail(err, REMIT_E_PROTOCOL, "a second value");
	d->head.len = d->data.len = 0;
	if (buf_add(&d->head, payload, len) < 0)
		return fail_memory(err, "displays");
	d->total_bytes = h.total_bytes;
	return finish_if_whole(d, err);
}

int
displays_add(struct displays *d, const char *bytes, size_t len,
	     struct remit_error *err)
{
	if (!len || len > d->total_bytes - d->data.len)
		return fail(err, REMIT_E_PROTOCOL,
			    "bytes that belong to no display");
	if (buf_add(&d->data, bytes, len) < 0)
		return fail_memory(err, "displays");
	return finish_if_whole(d, err);
}

int
displays_move(struct displays *d, struct buf *value, struct buf *shown,
	      struct remit_error *err)
{
	if ((!d->value.len && buf_add(&d->value, "null", 4) < 0) ||
	    (!d->shown.len && buf_add(&d->shown, "[", 1) < 0) ||
	    buf_add(&d->shown, "]", 1) < 0)
		return fail_memory(err, "displays");
	*value = d->value;
	*shown = d->shown;
	d->value = (struct buf)BUF_INIT(d->value.cap);
	d->shown = (struct buf)BUF_INIT(d->shown.cap);
	return 0;
}

void
displays_free(struct displays *d)
{
	buf_free(&d->head);
	buf_free(&d->data);
	buf_free(&d->value);
	buf_free(&d->shown);
}
