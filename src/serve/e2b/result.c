#include "serve/e2b/result.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "client/result_view.h"

/* ---- displays ---- */

static bool
is_table(const json_t *value)
{
	const char *key;
	json_t *column;

	if (!json_is_object(value))
		return false;
	json_object_foreach((json_t *)value, key, column)
	{
		if (!json_is_array(column))
			return false;
	}
	return true;
}

/* Removes the quotes of a string's repr(). */
static json_t *
plain_json(const char *bytes, size_t len)
{
	if (len >= 2 && (bytes[0] == '\'' || bytes[0] == '"') &&
	    bytes[len - 1] == bytes[0])
		return text_to_json(bytes + 1, len - 2);
	return text_to_json(bytes, len);
}

static const struct remit_part *
find_part(const struct remit_display *d, const char *mime)
{
	for (size_t i = 0; i < d->part_count; i++)
		if (!strcmp(d->parts[i].mime, mime))
			return &d->parts[i];
	return NULL;
}

static json_t *
base64_json(const struct remit_part *p)
{
	own_mem char *text = base64_encode(p->bytes, p->len);

	return text ? json_string(text) : NULL;
}

static json_t *
part_json(const struct remit_part *p)
{
	return json_loadb(p->bytes, p->len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
			  NULL);
}

/* The data of a table goes into "data"; other objects and lists into "json";
   numbers and strings nowhere. */
static void
add_data(json_t *line, const struct remit_display *d)
{
	const struct remit_part *p = find_part(d, "application/json");
	json_t *value = p ? part_json(p) : NULL;

	if (find_part(d, "text/html") && is_table(value))
		json_object_set_new(line, "data", value);
	else if (json_is_object(value) || json_is_array(value))
		json_object_set_new(line, "json", value);
	else
		json_decref(value);
}

json_t *
e2b_result_line(const struct remit_display *d)
{
	static const struct {
		const char *mime, *name;
		json_t *(*write)(const struct remit_part *p);
	} forms[] = {
		{ "text/html", "html", NULL },
		{ "text/markdown", "markdown", NULL },
		{ "image/svg+xml", "svg", NULL },
		{ "image/png", "png", base64_json },
		{ "image/jpeg", "jpeg", base64_json },
		{ "application/pdf", "pdf", base64_json },
		{ "text/latex", "latex", NULL },
		{ "application/javascript", "javascript", NULL },
		{ "application/vnd.remit.chart+json", "chart", part_json },
	};
	const struct remit_part *plain = find_part(d, "text/plain");
	json_t *line = json_pack("{s:s}", "type", "result");

	if (!line)
		return NULL;
	if (plain)
		json_object_set_new(line, "text",
				    plain_json(plain->bytes, plain->len));
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const struct remit_part *p = find_part(d, forms[i].mime);

		if (p)
			json_object_set_new(
				line, forms[i].name,
				forms[i].write
					? forms[i].write(p)
					: text_to_json(p->bytes, p->len));
	}
	add_data(line, d);
	json_object_set_new(line, "is_main_result", json_boolean(d->is_value));
	return line;
}

/* ---- the result ---- */

static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* Appends the remedy, since E2B's error has no member for it, and models read
   the traceback. */
static json_t *
traceback_of(const json_t *error)
{
	return json_sprintf("%s%s", text_of(error, "traceback"),
			    text_of(error, "remedy"));
}

json_t *
e2b_error_line(const json_t *result)
{
	static const struct {
		const char *status, *name, *value;
	} ends[] = {
		{ "timeout", "TimeoutError",
		  "the timeout of this cell is over" },
		{ "cpu_limit", "TimeoutError",
		  "the processor time of this cell is used up" },
		{ "memory_limit", "MemoryError",
		  "the sandbox exceeded its memory limit and has ended" },
		{ "output_limit", "OutputLimit",
		  "the output was far beyond its limit: the sandbox has "
		  "ended" },
	};
	const char *status = text_of(result, "status");
	const json_t *error = json_object_get(result, "error");
	const char *name = status, *value = "the sandbox has ended";
	json_t *code = json_object_get(result, "exit_code");
	char number[24];

	if (!strcmp(status, "ok") ||
	    (!strcmp(status, "exit") && !json_integer_value(code)))
		return NULL;
	if (json_is_object(error))
		return json_pack("{s:s, s:s, s:s, s:o}", "type", "error",
				 "name", text_of(error, "name"), "value",
				 text_of(error, "value"), "traceback",
				 traceback_of(error));
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (!strcmp(status, ends[i].status)) {
			name = ends[i].name;
			value = ends[i].value;
		}
	if (!strcmp(status, "exit")) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)json_integer_value(code));
		name = "SystemExit";
		value = number;
	}
	return json_pack("{s:s, s:s, s:s, s:s}", "type", "error", "name", name,
			 "value", value, "traceback", value);
}

json_t *
e2b_remit_line(const struct remit_result *res, bool enforcement)
{
	static const char *const told[] = {
		"status",	    "usage",	       "denials", "session",
		"stdout_truncated", "stderr_truncated"
	};
	json_t *doc = result_view_document((struct remit_result *)res);
	json_t *line = json_pack("{s:s}", "type", "remit");

	for (size_t i = 0; line && i < ARRAY_LEN(told); i++)
		json_object_set(line, told[i], json_object_get(doc, told[i]));
	if (line && enforcement)
		json_object_set_new(line, "enforcement",
				    result_view_enforcement(res));
	return line;
}

json_t *
e2b_output_line(enum remit_stream stream, const char *bytes, size_t len)
{
	char day[32], text[48];
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%06ld+00:00", day, now.tv_nsec / 1000);
	return json_pack("{s:s, s:o, s:s}", "type",
			 stream == REMIT_STDOUT ? "stdout" : "stderr", "text",
			 text_to_json(bytes, len), "timestamp", text);
}
