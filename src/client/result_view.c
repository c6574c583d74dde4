#include "result_view.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "text.h"

struct remit_result {
	struct buf out, err;
	json_t *doc;	   /* but for the enforcement */
	char *enforcement; /* a JSON array, or NULL */
	char *shown;	   /* members with the value and displays, or NULL */
	char *text;
};

struct remit_result *
result_view_new(struct remit_error *err)
{
	struct remit_result *r = calloc(1, sizeof(*r));

	if (!r) {
		fail_sys(err, REMIT_E_MEMORY, "result");
		return NULL;
	}
	/* The keeper keeps to the policy's caps, which end at 1 GiB. */
	r->out.cap = r->err.cap = (size_t)1 << 30;
	return r;
}

void
remit_result_free(struct remit_result *r)
{
	if (!r)
		return;
	buf_free(&r->out);
	buf_free(&r->err);
	json_decref(r->doc);
	free(r->enforcement);
	free(r->shown);
	free(r->text);
	free(r);
}

int
result_view_add(struct remit_result *r, enum remit_stream stream,
		const char *bytes, size_t len, struct remit_error *err)
{
	struct buf *b = stream == REMIT_STDOUT ? &r->out : &r->err;

	if (buf_add(b, bytes, len) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "output");
	return 0;
}

/* Text if it is text; else with replacement characters, and the very bytes
   beside it. */
static int
set_stream(json_t *doc, const char *key, const struct buf *b)
{
	char truncated[32], base64[32];
	size_t len = b->len;
	char *encoded;

	snprintf(truncated, sizeof(truncated), "%s_truncated", key);
	/* The cap may have cut a character in two. */
	if (json_is_true(json_object_get(doc, truncated)) &&
	    text_is_cut(buf_text(b), len))
		len = text_valid_prefix(buf_text(b), len);
	if (json_object_set_new(doc, key, text_to_json(buf_text(b), len)) < 0)
		return -1;
	if (text_valid_prefix(buf_text(b), len) == len)
		return 0;
	snprintf(base64, sizeof(base64), "%s_base64", key);
	encoded = text_base64(buf_text(b), b->len);
	if (!encoded)
		return -1;
	json_object_set_new(doc, base64, json_string(encoded));
	free(encoded);
	return 0;
}

int
result_view_enforce(struct remit_result *r, const char *json, size_t len,
		    struct remit_error *err)
{
	r->enforcement = strndup(json, len);
	return r->enforcement ? 0 : fail_sys(err, REMIT_E_MEMORY, "result");
}

int
result_view_show(struct remit_result *r, char *json, struct remit_error *err)
{
	r->shown = json;
	return json ? 0 : fail_sys(err, REMIT_E_MEMORY, "result");
}

int
result_view_finish(struct remit_result *r, const char *json, size_t len,
		   struct remit_error *err)
{
	json_error_t where;

	r->doc = json_loadb(json, len, 0, &where);
	if (!json_is_object(r->doc))
		return fail(err, REMIT_E_PROTOCOL,
			    "the keeper's result makes no sense: %s",
			    where.text);
	if (set_stream(r->doc, "stdout", &r->out) < 0 ||
	    set_stream(r->doc, "stderr", &r->err) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "result");
	return 0;
}

void
result_view_bytes(const struct remit_result *r, uint64_t *output,
		  uint64_t *shown)
{
	*output = r->out.len + r->err.len;
	*shown = r->shown ? strlen(r->shown) : 0;
}

json_t *
result_view_document(const struct remit_result *r)
{
	return r->doc;
}

bool
result_view_is_done(const struct remit_result *r)
{
	return r->doc != NULL;
}

bool
result_view_is_elsewhere(const struct remit_result *r)
{
	return json_is_true(
		json_object_get(json_object_get(r->doc, "error"), "elsewhere"));
}

/* By the name that it has in results. */
static enum remit_code
code_of(const char *name)
{
	for (int c = REMIT_OK + 1; c <= REMIT_E_INSTALL; c++)
		if (!strcmp(remit_code_name((enum remit_code)c), name))
			return (enum remit_code)c;
	return REMIT_E_INTERNAL;
}

static const char *
text_of(const json_t *error, const char *key)
{
	const char *text = json_string_value(json_object_get(error, key));

	return text ? text : "";
}

int
result_view_blame(const struct remit_result *r, struct remit_error *err)
{
	const json_t *error = json_object_get(r->doc, "error");

	if (result_view_is_elsewhere(r))
		fail(err, REMIT_E_ELSEWHERE, "%s", text_of(error, "value"));
	else
		fail(err, code_of(text_of(error, "name")), "%s",
		     text_of(error, "value"));
	snprintf(err->where, sizeof(err->where), "%s", text_of(error, "where"));
	snprintf(err->remedy, sizeof(err->remedy), "%s",
		 text_of(error, "remedy"));
	return -1;
}

const char *
remit_result_status(const struct remit_result *r)
{
	return json_string_value(json_object_get(r->doc, "status"));
}

int
remit_result_exit_code(const struct remit_result *r)
{
	return (int)json_integer_value(
		json_object_get(r->doc, "remit_exit_code"));
}

/* Members with the enforcement, and with what was shown. */
static int
write_members(const struct remit_result *r, struct buf *out)
{
	const char *rows = r->enforcement ? r->enforcement : "[]";
	const char *shown =
		r->shown ? r->shown : "\"value\":null,\"displays\":[]";

	/* Not by printf, which ends at 2 GiB. */
	return buf_add(out, ",", 1) < 0 ||
			       buf_add(out, shown, strlen(shown)) < 0 ||
			       buf_addf(out, ",\"enforcement\":") < 0 ||
			       buf_add(out, rows, strlen(rows)) < 0
		       ? -1
		       : 0;
}

/* The document with these members in their place. Escaped output is up to six
   times as long as what the code wrote: so there is one copy of it. */
static char *
write_whole(const struct remit_result *r)
{
	/* A quote inside a string is escaped: this is no part of one. */
	static const char next[] = ",\"denials\":";
	own(buf) struct buf more = BUF_INIT(SIZE_MAX / 4);
	char *text, *at;
	size_t len;

	if (write_members(r, &more) < 0)
		return NULL;
	text = text_from_json(r->doc, more.len, &len);
	at = text ? strstr(text, next) : NULL;
	if (at) {
		memmove(at + more.len, at, strlen(at) + 1);
		memcpy(at, more.data, more.len);
	}
	return text;
}

const char *
remit_result_json(const struct remit_result *r)
{
	/* Made when first asked for; a result belongs to one thread. */
	if (!r->text)
		((struct remit_result *)r)->text = write_whole(r);
	return r->text;
}

char *
result_view_take_json(struct remit_result *r)
{
	remit_result_json(r);
	return take_ptr(&r->text);
}

const char *
remit_result_output(const struct remit_result *r, enum remit_stream stream,
		    size_t *len)
{
	const struct buf *b = stream == REMIT_STDOUT ? &r->out : &r->err;

	if (len)
		*len = b->len;
	return buf_text(b);
}
