#include "serve/native/command_request.h"

#include <string.h>

#include "base/text.h"
#include "policy/json_value.h"

#define ARGV_MAX     10000
#define ENV_MAX	     1000
#define ENV_PAIR_MAX ((size_t)2 * 1024 * 1024)

void
command_request_free(struct command_request *r)
{
	list_free(&r->argv);
	list_free(&r->env);
}

/* ---- members of a request to start one ---- */

static int
parse_argv(struct command_request *r, const json_t *value,
	   struct remit_error *err)
{
	const char *text;
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return json_value_wrong_type(value, "a list of strings", "argv",
					     err);
	if (!json_array_size(value) || json_array_size(value) > ARGV_MAX)
		return fail(err, REMIT_E_INPUT,
			    "argv: must have from 1 to %d strings, first the "
			    "program",
			    ARGV_MAX);
	json_array_foreach(value, i, item)
	{
		if (json_value_string(item, &text, "argv", err) < 0)
			return -1;
		if (list_add(&r->argv, text) < 0)
			return fail_memory(err, "argv");
	}
	return 0;
}

static int
parse_env(struct command_request *r, const json_t *value,
	  struct remit_error *err)
{
	const char *name, *text;
	json_t *item;

	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object of strings",
					     "env", err);
	if (json_object_size(value) > ENV_MAX)
		return fail(err, REMIT_E_INPUT,
			    "env: has more than %d variables", ENV_MAX);
	json_object_foreach((json_t *)value, name, item)
	{
		own(buf) struct buf pair = BUF_INIT(ENV_PAIR_MAX);

		if (!*name || strchr(name, '='))
			return fail(err, REMIT_E_INPUT,
				    "env: a name is empty or has \"=\"");
		if (json_value_string(item, &text, "env", err) < 0)
			return -1;
		if (buf_addf(&pair, "%s=%s", name, text) < 0 ||
		    list_add(&r->env, buf_text(&pair)) < 0)
			return fail_memory(err, "env");
	}
	return 0;
}

static int
parse_cwd(struct command_request *r, const json_t *value,
	  struct remit_error *err)
{
	return json_value_string(value, &r->params.cwd, "cwd", err);
}

static int
parse_stdin(struct command_request *r, const json_t *value,
	    struct remit_error *err)
{
	if (!json_is_boolean(value))
		return json_value_wrong_type(value, "true or false", "stdin",
					     err);
	r->params.reads = json_is_true(value);
	return 0;
}

static int
parse_timeout(struct command_request *r, const json_t *value,
	      struct remit_error *err)
{
	double seconds = json_number_value(value);

	if (!json_is_number(value) || seconds < 0.001 || seconds > 86400)
		return fail(err, REMIT_E_INPUT,
			    "timeout: must be a number of seconds from 0.001 "
			    "to 86400");
	r->params.timeout_ms = (uint64_t)(seconds * 1000);
	return 0;
}

static int
parse_stream(struct command_request *r, const json_t *value,
	     struct remit_error *err)
{
	return request_stream_read(&r->stream, value, err);
}

static int
parse_side(const json_t *size, const char *name, const char *place,
	   unsigned *out, struct remit_error *err)
{
	const json_t *value = json_object_get(size, name);
	json_int_t n = json_integer_value(value);

	if (n < 1 || n > UINT16_MAX)
		return fail(err, REMIT_E_INPUT,
			    "%s%s: must be a whole number from 1 to 65535",
			    place, name);
	*out = (unsigned)n;
	return 0;
}

/* Parses {"columns", "rows"}. */
static int
parse_size(const json_t *size, const char *place, unsigned *columns,
	   unsigned *rows, struct remit_error *err)
{
	static const char *const known[] = { "columns", "rows", NULL };

	if (json_value_members(size, known, "a size has columns and rows",
			       place, err) < 0 ||
	    parse_side(size, "columns", place, columns, err) < 0)
		return -1;
	return parse_side(size, "rows", place, rows, err);
}

static int
parse_terminal(struct command_request *r, const json_t *value,
	       struct remit_error *err)
{
	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", "terminal",
					     err);
	return parse_size(value, "terminal.", &r->params.columns,
			  &r->params.rows, err);
}

static const struct {
	const char *name;
	int (*parse)(struct command_request *r, const json_t *value,
		     struct remit_error *err);
} members[] = {
	{ "argv", parse_argv },	    { "env", parse_env },
	{ "cwd", parse_cwd },	    { "terminal", parse_terminal },
	{ "stdin", parse_stdin },   { "timeout", parse_timeout },
	{ "stream", parse_stream },
};

static int
parse_member(struct command_request *r, const char *name, const json_t *value,
	     struct remit_error *err)
{
	char quoted[QUOTE_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (!strcmp(members[i].name, name))
			return json_is_null(value)
				       ? 0
				       : members[i].parse(r, value, err);
	return fail(err, REMIT_E_INPUT, "%s: is not known here",
		    quote(quoted, name));
}

int
command_request_read(struct command_request *r, json_t *doc,
		     struct remit_error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(doc))
		return fail(err, REMIT_E_INPUT,
			    "the body is not a JSON object");
	json_object_foreach(doc, name, value)
	{
		if (parse_member(r, name, value, err) < 0)
			return -1;
	}
	if (!r->argv.count)
		return fail(err, REMIT_E_INPUT, "argv: is missing");
	if (r->stream == STREAM_NONE)
		r->stream = STREAM_NDJSON;
	r->params.argv = &r->argv;
	r->params.env = &r->env;
	return 0;
}

int
command_size_read(unsigned *columns, unsigned *rows, const json_t *body,
		  struct remit_error *err)
{
	return parse_size(body, "", columns, rows, err);
}

/* ---- input ---- */

void
command_input_free(struct command_input *in)
{
	free(in->decoded);
}

int
command_input_read(struct command_input *in, const json_t *body,
		   struct remit_error *err)
{
	static const char *const known[] = { "text", "base64", "end", NULL };
	const json_t *text = json_object_get(body, "text");
	const json_t *base64 = json_object_get(body, "base64");
	const json_t *end = json_object_get(body, "end");

	if (json_value_members(body, known, "input has text or base64, and end",
			       "input", err) < 0)
		return -1;
	if (!text == !base64 || (end && !json_is_boolean(end)))
		return fail(err, REMIT_E_INPUT,
			    "the body must have either text or base64, and end "
			    "must be true or false");
	in->ends = json_is_true(end);
	if (json_is_string(text)) {
		in->bytes = json_string_value(text);
		in->len = json_string_length(text);
		return 0;
	}
	if (!json_is_string(base64) ||
	    base64_decode(json_string_value(base64), json_string_length(base64),
			  &in->decoded, &in->len) < 0)
		return fail(err, REMIT_E_INPUT,
			    text ? "text: must be a string"
				 : "base64: must be base64");
	in->bytes = in->decoded;
	return 0;
}
