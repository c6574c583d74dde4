#include "client/result_view.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "client/displays.h"
#include "client/files/artifacts.h"
#include "client/tools/calls.h"
#include "wire/result.h"

struct remit_result {
	struct buf out, err;
	json_t *doc; /* all members except those that are kept as text: */
	struct buf enforcement, value, shown;
	struct buf text; /* the whole result as text, once requested */
	bool is_done;
};

struct remit_result *
result_view_new(struct remit_error *err)
{
	struct remit_result *r = calloc(1, sizeof(*r));

	if (!r) {
		fail_memory(err, "result");
		return NULL;
	}
	/* The keeper enforces the policy's limits, which are at most 1 GiB. */
	r->out.cap = r->err.cap = (size_t)1 << 30;
	r->enforcement.cap = frame_rules[FRAME_ENFORCEMENT].max;
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
	buf_free(&r->enforcement);
	buf_free(&r->value);
	buf_free(&r->shown);
	buf_free(&r->text);
	free(r);
}

int
result_view_add(struct remit_result *r, enum remit_stream stream,
		const char *bytes, size_t len, struct remit_error *err)
{
	struct buf *b = stream == REMIT_STDOUT ? &r->out : &r->err;

	if (buf_add(b, bytes, len) < 0)
		return fail_memory(err, "output");
	return 0;
}

/* Set the stream as text. If it is not UTF-8, invalid bytes are replaced, and a
   second member has the original bytes as base64. */
static int
set_stream(json_t *doc, const char *key, const struct buf *b)
{
	char truncated[32], base64[32];
	own_mem char *encoded = NULL;
	size_t len = b->len;

	snprintf(truncated, sizeof(truncated), "%s_truncated", key);
	/* The limit may have cut the last character in two. */
	if (json_is_true(json_object_get(doc, truncated)) &&
	    text_is_cut(buf_text(b), len))
		len = text_valid_prefix(buf_text(b), len);
	if (json_object_set_new(doc, key, text_to_json(buf_text(b), len)) < 0)
		return -1;
	if (text_valid_prefix(buf_text(b), len) == len)
		return 0;
	snprintf(base64, sizeof(base64), "%s_base64", key);
	encoded = base64_encode(buf_text(b), b->len);
	if (!encoded)
		return -1;
	return json_object_set_new(doc, base64, json_string(encoded));
}

static bool
are_rows(const char *json, size_t len)
{
	json_auto_t *rows = json_loadb(json, len, 0, NULL);
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i,
			   row) if (!json_object_size(row)) return false;
	return json_is_array(rows);
}

/* Most results of a thread have the same rows as the one before, so remember
   the hash of the last valid rows. */
static bool
are_rows_as_before(const char *json, size_t len)
{
	/* initial-exec avoids a function of the dynamic linker, on which a
	   wheel must not depend. */
	static _Thread_local struct hash before
		__attribute__((tls_model("initial-exec")));
	struct hash now = HASH_INIT;

	hash_bytes(&now, json, len);
	if (now.value == before.value)
		return true;
	if (!are_rows(json, len))
		return false;
	before = now;
	return true;
}

int
result_view_enforce(struct remit_result *r, const char *json, size_t len,
		    struct remit_error *err)
{
	if (!are_rows_as_before(json, len))
		return fail(err, REMIT_E_PROTOCOL,
			    "the keeper's enforcement is not a list of rows");
	r->enforcement.len = 0;
	if (buf_add(&r->enforcement, json, len) < 0)
		return fail_memory(err, "result");
	return 0;
}

/* ---- building ---- */

static int
check_parts(const json_t *value, const struct result_row *row,
	    struct remit_error *err)
{
	if (!json_is_object(value))
		return 0;
	for (int i = 0; i < RESULT_PARTS_MAX && row->parts[i]; i++)
		if (!json_object_get(value, row->parts[i]))
			return fail(err, REMIT_E_PROTOCOL,
				    "the result's \"%s\" lacks \"%s\"",
				    row->name, row->parts[i]);
	return 0;
}

/* Check that all members of these sources exist with the right types, and no
   others. */
static int
check_members(const json_t *doc, unsigned sources, struct remit_error *err)
{
	size_t known = 0;

	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		const struct result_row *row = &result_rows[i];
		const json_t *value;

		if (!(row->source & sources))
			continue;
		value = json_object_get(doc, row->name);
		known += value != NULL;
		if (!value && row->source != RESULT_BY_ENCODING)
			return fail(err, REMIT_E_PROTOCOL,
				    "the result lacks \"%s\"", row->name);
		if (value && !(1u << json_typeof(value) & row->types))
			return fail(err, REMIT_E_PROTOCOL,
				    "the result's \"%s\" has the wrong type",
				    row->name);
		if (check_parts(value, row, err) < 0)
			return -1;
	}
	if (json_object_size(doc) != known)
		return fail(err, REMIT_E_PROTOCOL,
			    "the result has members that are unknown to this "
			    "release");
	return 0;
}

static int
add_parts(struct remit_result *r, const struct result_parts *parts,
	  struct remit_error *err)
{
	struct displays none = DISPLAYS_INIT(NULL, NULL);
	struct displays *d = parts->displays ? parts->displays : &none;

	if (displays_move(d, &r->value, &r->shown, err) < 0 ||
	    tool_calls_report(parts->calls, r->doc, err) < 0 ||
	    artifacts_report(parts->artifacts, r->doc, err) < 0)
		return -1;
	if (set_stream(r->doc, "stdout", &r->out) < 0 ||
	    set_stream(r->doc, "stderr", &r->err) < 0)
		return fail_memory(err, "result");
	return 0;
}

static bool
has_run(const json_t *doc)
{
	return json_is_string(
		json_object_get(doc, result_rows[RESULT_START].name));
}

int
result_view_finish(struct remit_result *r, const char *json, size_t len,
		   const struct result_parts *parts, struct remit_error *err)
{
	const unsigned all =
		RESULT_BY_KEEPER | RESULT_BY_LIBRARY | RESULT_BY_ENCODING;
	json_error_t where;

	json_decref(r->doc);
	r->doc = json_loadb(json, len, 0, &where);
	if (!json_is_object(r->doc))
		return fail(err, REMIT_E_PROTOCOL,
			    "the keeper's result is not valid JSON: %s",
			    where.text);
	if (check_members(r->doc, RESULT_BY_KEEPER, err) < 0)
		return fail_within(err, "from the keeper");
	if (!r->enforcement.len || (has_run(r->doc) && r->enforcement.len < 3))
		return fail(
			err, REMIT_E_PROTOCOL,
			"from the keeper: the result lacks \"enforcement\", "
			"the list of mechanisms that enforced the policy");
	if (add_parts(r, parts, err) < 0 || check_members(r->doc, all, err) < 0)
		return -1;
	r->is_done = true;
	return 0;
}

/* Write an error in the form that a keeper uses. */
static json_t *
error_of(const struct remit_error *why)
{
	json_t *error = json_pack(
		"{s:s, s:o, s:s, s:n}", "name", remit_code_name(why->code),
		"value", text_to_json(why->message, strlen(why->message)),
		"traceback", "", "line");

	if (why->where[0])
		json_object_set_new(error, "where", json_string(why->where));
	if (why->remedy[0])
		json_object_set_new(error, "remedy", json_string(why->remedy));
	return error;
}

/* The keeper's members for a job that no keeper has received. */
static json_t *
nothing_happened(enum status status, const struct remit_error *why)
{
	json_t *doc = json_object();

	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		const struct result_row *row = &result_rows[i];

		if (row->source == RESULT_BY_KEEPER)
			json_object_set_new(doc, row->name,
					    json_loads(row->default_json,
						       JSON_DECODE_ANY, NULL));
	}
	json_object_set_new(doc, result_rows[RESULT_STATUS].name,
			    json_string(statuses[status].name));
	json_object_set_new(doc, result_rows[RESULT_ERROR].name, error_of(why));
	json_object_set_new(doc, result_rows[RESULT_REMIT_VERSION].name,
			    json_string(remit_version()));
	json_object_set_new(doc, result_rows[RESULT_REMIT_EXIT_CODE].name,
			    json_integer(statuses[status].exit_code));
	return doc;
}

struct remit_result *
result_view_of_error(enum status status, const struct remit_error *why)
{
	const char *rows = result_rows[RESULT_ENFORCEMENT].default_json;
	const struct result_parts none = { 0 };
	json_auto_t *doc = nothing_happened(status, why);
	own_mem char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	struct remit_error err;
	struct remit_result *r = result_view_new(&err);

	if (r && text &&
	    result_view_enforce(r, rows, strlen(rows), &err) == 0 &&
	    result_view_finish(r, text, strlen(text), &none, &err) == 0)
		return r;
	remit_result_free(r);
	return NULL;
}

/* ---- reading ---- */

void
result_view_bytes(const struct remit_result *r, uint64_t *output,
		  uint64_t *shown)
{
	*output = r->out.len + r->err.len;
	*shown = r->value.len + r->shown.len;
}

json_t *
result_view_document(const struct remit_result *r)
{
	return r->doc;
}

json_t *
result_view_value(const struct remit_result *r, bool *exact)
{
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
	const char *text = buf_text(&r->value);
	json_t *value = json_loads(text, flags, NULL);

	*exact = value != NULL;
	return value ? value
		     : json_loads(text, flags | JSON_DECODE_INT_AS_REAL, NULL);
}

json_t *
result_view_enforcement(const struct remit_result *r)
{
	return json_loads(buf_text(&r->enforcement), 0, NULL);
}

bool
result_view_is_done(const struct remit_result *r)
{
	return r->is_done;
}

bool
result_view_is_elsewhere(const struct remit_result *r)
{
	return json_is_true(
		json_object_get(json_object_get(r->doc, "error"), "elsewhere"));
}

/* Find a code by its name in results. */
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
result_view_to_error(const struct remit_result *r, struct remit_error *err)
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

/* ---- writing the text ---- */

/* Returns a member that is kept as text; NULL if it is in the document, or
   missing. */
static const char *
text_member(const struct remit_result *r, const struct result_heading *h,
	    enum result_member member)
{
	switch (member) {
	case RESULT_ID:
		return h ? h->id : NULL;
	case RESULT_LINE:
		return h ? h->line : NULL;
	case RESULT_VALUE:
		return buf_text(&r->value);
	case RESULT_DISPLAYS:
		return buf_text(&r->shown);
	case RESULT_ENFORCEMENT:
		return buf_text(&r->enforcement);
	default:
		return NULL;
	}
}

static size_t
text_bound(const struct remit_result *r, const struct result_heading *h)
{
	size_t n = text_json_bound(r->doc);

	for (int i = 0; i < RESULT_MEMBERS; i++) {
		const char *text = text_member(r, h, (enum result_member)i);

		if (text)
			n += strlen(result_rows[i].name) + strlen(text) + 4;
	}
	return n;
}

static int
add_member(const struct remit_result *r, const struct result_heading *h,
	   enum result_member member, struct buf *out)
{
	const char *name = result_rows[member].name;
	const char *text = text_member(r, h, member);
	const json_t *value = text ? NULL : json_object_get(r->doc, name);

	if (!text && !value)
		return 0; /* result_view_finish() has checked required members
			   */
	if (text_add_name(out, name) < 0)
		return -1;
	return text ? buf_add(out, text, strlen(text))
		    : text_add_json(out, value);
}

int
result_view_write(const struct remit_result *r,
		  const struct result_heading *heading, struct buf *out)
{
	own(buf) struct buf text = BUF_INIT(SIZE_MAX / 4);

	/* Escaping makes output up to six times longer. Reserve the space
	   first, so that the text is written only once. */
	if (buf_reserve(&text, text_bound(r, heading)) < 0 ||
	    buf_add(&text, "{", 1) < 0)
		return -1;
	for (int i = 0; i < RESULT_MEMBERS; i++)
		if (add_member(r, heading, (enum result_member)i, &text) < 0)
			return -1;
	if (buf_add(&text, "}", 1) < 0)
		return -1;
	buf_fit(&text);
	*out = text;
	text = (struct buf)BUF_INIT(0);
	return 0;
}

const char *
remit_result_json(const struct remit_result *r)
{
	/* Write the text when it is first requested. A result belongs to one
	   thread, so no lock is needed. */
	struct buf *text = &((struct remit_result *)r)->text;

	if (!text->data && result_view_write(r, NULL, text) < 0)
		return NULL;
	return buf_text(text);
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
