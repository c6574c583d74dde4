#include "serve/compat/piston_request.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/json_value.h"

const char *const piston_aliases[] = { "py", "py3", "python3", NULL };

/* ---- versions ---- */

/* Up to three numbers; missing ones match any. */
struct partial {
	int part[3];
	int count;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses "3", "3.11", "3.x" or "*". Returns the position after it, or NULL. */
static const char *
read_partial(const char *at, struct partial *p)
{
	bool is_open = false; /* numbers after a wildcard are ignored */

	*p = (struct partial){ .count = 0 };
	at += *at == 'v';
	for (int i = 0; i < 3; i++) {
		int n = 0;

		if (*at == 'x' || *at == 'X' || *at == '*') {
			is_open = true;
			at++;
		} else if (is_digit(*at)) {
			while (is_digit(*at) && n < 100000)
				n = n * 10 + (*at++ - '0');
			if (!is_open)
				p->part[p->count++] = n;
		} else {
			return NULL;
		}
		if (*at != '.')
			break;
		if (i < 2)
			at++;
	}
	return *at && *at != ' ' && *at != '|' ? NULL : at;
}

/* Returns -1, 0 or 1; missing numbers are equal. */
static int
version_compare(const int version[3], const struct partial *p)
{
	for (int i = 0; i < p->count; i++)
		if (version[i] != p->part[i])
			return version[i] < p->part[i] ? -1 : 1;
	return 0;
}

/* Whether the first parts are equal. */
static bool
version_agrees(const int version[3], const struct partial *p, int parts)
{
	for (int i = 0; i < parts && i < p->count; i++)
		if (version[i] != p->part[i])
			return false;
	return true;
}

/* Whether all numbers up to the first that is not 0 are equal. */
static bool
version_is_compatible(const int version[3], const struct partial *p)
{
	int parts = 1;

	while (parts < 3 && !p->part[parts - 1])
		parts++;
	return version_agrees(version, p, parts);
}

static bool
version_meets(const int version[3], const char *op, size_t len,
	      const struct partial *p)
{
	int difference = version_compare(version, p);

	if (!len || (len == 1 && *op == '='))
		return difference == 0;
	if (len == 1 && *op == '^')
		return difference >= 0 && version_is_compatible(version, p);
	if (len == 1 && *op == '~')
		return difference >= 0 && version_agrees(version, p, 2);
	if (*op == '>')
		return difference > 0 || (len == 2 && difference == 0);
	return difference < 0 || (len == 2 && difference == 0);
}

/* Parses one condition. Returns the position after it, or NULL if it is
   malformed. */
static const char *
read_condition(const char *at, const int version[3], bool *is_met)
{
	static const char *const ops[] = {
		">=", "<=", ">", "<", "=", "^", "~"
	};
	const char *op = at;
	struct partial p;
	size_t len = 0;

	for (size_t i = 0; !len && i < ARRAY_LEN(ops); i++)
		if (!strncmp(at, ops[i], strlen(ops[i])))
			len = strlen(ops[i]);
	at += len;
	at += strspn(at, " ");
	at = read_partial(at, &p);
	*is_met = at && version_meets(version, op, len, &p);
	return at;
}

bool
piston_version_matches(const char *selector, const int version[3])
{
	bool is_any = false, is_all = true;
	const char *at = selector + strspn(selector, " ");

	if (!*at)
		return false;
	while (at && *at) {
		bool is_met;

		at = read_condition(at, version, &is_met);
		if (!at)
			return false;
		is_all &= is_met;
		at += strspn(at, " ");
		if (*at && *at != '|')
			continue;
		is_any |= is_all;
		is_all = true;
		if (!*at)
			return is_any;
		if (strncmp(at, "||", 2) != 0)
			return false;
		at += 2;
		at += strspn(at, " ");
	}
	return false;
}

/* ---- which interpreter ---- */

static bool
is_python(const char *language)
{
	for (size_t i = 0; piston_aliases[i]; i++)
		if (!strcmp(language, piston_aliases[i]))
			return true;
	return !strcmp(language, "python");
}

/* Returns the text if it contains no NUL, otherwise NULL. */
static const char *
plain_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int
check_runtime(const json_t *body, const struct key *key,
	      struct remit_error *err)
{
	const char *language = plain_text(json_object_get(body, "language"));
	const char *version = plain_text(json_object_get(body, "version"));
	char shown[2][64];

	if (!language)
		return fail(err, REMIT_E_INPUT,
			    "language is required as a string");
	if (!version)
		return fail(err, REMIT_E_INPUT,
			    "version is required as a string");
	if (key->python[0] && is_python(language) &&
	    piston_version_matches(version, key->python))
		return 0;
	return fail(err, REMIT_E_INPUT, "%s-%s runtime is unknown",
		    quote_bare(shown[0], sizeof(shown[0]), language),
		    quote_bare(shown[1], sizeof(shown[1]), version));
}

/* ---- files ---- */

/* Converts hexadecimal digits to base64. Returns NULL if they are malformed or
   memory is exhausted. */
static json_t *
from_hex(const char *text, size_t len)
{
	own_mem char *bytes = malloc(len / 2 + 1), *coded = NULL;

	if (!bytes || len % 2)
		return NULL;
	for (size_t i = 0; i < len; i += 2) {
		int high = number_hex_digit(text[i]),
		    low = number_hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return NULL;
		bytes[i / 2] = (char)(high * 16 + low);
	}
	coded = base64_encode(bytes, len / 2);
	return coded ? json_string(coded) : NULL;
}

/* The encoding of a file, "utf8" by default. */
static const char *
encoding_of(const json_t *file)
{
	const json_t *given = json_object_get(file, "encoding");

	return !given || json_is_null(given) ? "utf8"
					     : json_string_value(given);
}

static int
check_file(const json_t *file, size_t i, struct remit_error *err)
{
	static const char *const known[] = { "utf8", "base64", "hex" };
	const char *encoding = encoding_of(file);
	const json_t *name = json_object_get(file, "name");

	if (!json_is_string(json_object_get(file, "content")))
		return fail(err, REMIT_E_INPUT,
			    "files[%zu].content is required as a string", i);
	if (name && !json_is_null(name) && !plain_text(name))
		return fail(err, REMIT_E_INPUT,
			    "files[%zu].name must be a string", i);
	for (size_t k = 0; encoding && k < ARRAY_LEN(known); k++)
		if (!strcmp(encoding, known[k]))
			return 0;
	return fail(err, REMIT_E_INPUT,
		    "files[%zu].encoding must be utf8, base64 or hex", i);
}

/* The name of a file, or the one that Piston gives to a file without a name. */
static json_t *
name_of(const json_t *file, size_t i)
{
	json_t *name = json_object_get(file, "name");

	return json_string_length(name) ? json_incref(name)
					: json_sprintf("file%zu.code", i);
}

static json_t *
file_json(const json_t *file, size_t i, struct remit_error *err)
{
	json_t *content = json_object_get(file, "content");
	const char *encoding = encoding_of(file);
	bool is_text = !strcmp(encoding, "utf8");
	bool is_hex = !strcmp(encoding, "hex");

	content = is_hex ? from_hex(json_string_value(content),
				    json_string_length(content))
			 : json_incref(content);
	if (content)
		return json_pack("{s:o, s:o}", "path", name_of(file, i),
				 is_text ? "text" : "base64", content);
	fail(err, REMIT_E_INPUT, "files[%zu].content is not hexadecimal", i);
	return NULL;
}

/* The first text file is the program; the others are placed in the same
   directory. */
static int
parse_files(json_t *doc, const json_t *given, const struct policy *p,
	    struct remit_error *err)
{
	json_t *list = json_array(), *file, *made;
	bool has_program = false;
	size_t i;

	json_object_set_new(doc, "files", list);
	json_array_foreach(given, i, file)
	{
		if (!has_program && !strcmp(encoding_of(file), "utf8")) {
			json_auto_t *name = name_of(file, i);

			has_program = true;
			json_object_set(doc, "code",
					json_object_get(file, "content"));
			json_object_set_new(
				doc, "name",
				json_sprintf("%s/%s", p->workspace,
					     json_string_value(name)));
			continue;
		}
		made = file_json(file, i, err);
		if (!made)
			return -1;
		json_array_append_new(list, made);
	}
	return has_program ? 0
			   : fail(err, REMIT_E_INPUT,
				  "files must include at least one utf8 "
				  "encoded file");
}

static int
check_files(const json_t *files, struct remit_error *err)
{
	const json_t *file;
	size_t i;

	if (!json_is_array(files))
		return fail(err, REMIT_E_INPUT,
			    "files is required as an array");
	json_array_foreach(files, i, file)
	{
		if (check_file(file, i, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- limits ---- */

/* Parses a limit, which can lower that of the policy but not raise it. Sets
 *out to 0 if it is missing. */
static int
parse_limit(const json_t *body, const char *name, uint64_t most, uint64_t *out,
	    struct remit_error *err)
{
	const json_t *value = json_object_get(body, name);
	double wanted = json_number_value(value);

	*out = 0;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value))
		return fail(err, REMIT_E_INPUT,
			    "If specified, %s must be a number", name);
	if (wanted < 1)
		return fail(err, REMIT_E_INPUT, "%s must be at least 1", name);
	if (wanted > (double)most)
		return fail(err, REMIT_E_INPUT,
			    "%s cannot exceed the configured limit of %llu",
			    name, (unsigned long long)most);
	*out = number_whole(wanted);
	return 0;
}

/* Clients of Piston use -1 for unlimited memory. */
static bool
is_unlimited(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) == -1;
}

static int
parse_limits(json_t *doc, const json_t *body, const struct policy *p,
	     uint64_t *timeout_ms, struct remit_error *err)
{
	json_t *policy = json_object();
	uint64_t cpu_ms, memory = 0;

	json_object_set_new(doc, "policy", policy);
	if (parse_limit(body, "run_timeout", p->timeout_ms, timeout_ms, err) <
		    0 ||
	    parse_limit(body, "run_cpu_time", p->cpu_ms, &cpu_ms, err) < 0)
		return -1;
	if (!is_unlimited(json_object_get(body, "run_memory_limit")) &&
	    parse_limit(body, "run_memory_limit", p->memory_bytes, &memory,
			err) < 0)
		return -1;
	if (cpu_ms)
		json_object_set_new(
			policy, "cpu_seconds",
			json_sprintf("%llums", (unsigned long long)cpu_ms));
	/* A number beyond the range of JSON exceeds the memory of any
	   machine. */
	if (memory && memory <= INT64_MAX)
		json_object_set_new(policy, "memory_bytes",
				    json_integer((json_int_t)memory));
	/* An empty policy would need separate jails and a cold start. */
	if (!json_object_size(policy))
		json_object_del(doc, "policy");
	return 0;
}

/* Nothing is compiled, so any limit on compiling holds. */
static int
check_compile_limits(const json_t *body, struct remit_error *err)
{
	static const char *const names[] = { "compile_timeout",
					     "compile_cpu_time",
					     "compile_memory_limit" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(body, names[i]);

		if (value && !json_is_null(value) && !json_is_number(value))
			return fail(err, REMIT_E_INPUT,
				    "If specified, %s must be a number",
				    names[i]);
	}
	return 0;
}

/* ---- all of it ---- */

static int
check_members(const json_t *body, struct remit_error *err)
{
	static const char *const known[] = {
		"language",
		"version",
		"files",
		"stdin",
		"args",
		"run_timeout",
		"run_cpu_time",
		"run_memory_limit",
		"compile_timeout",
		"compile_cpu_time",
		"compile_memory_limit",
		NULL,
	};

	if (!json_is_object(body))
		return fail(err, REMIT_E_INPUT,
			    "language is required as a string");
	return json_value_members(body, known,
				  "requests have what Piston documents", "body",
				  err);
}

json_t *
piston_read_request(const json_t *body, const struct key *key,
		    uint64_t *timeout_ms, struct remit_error *err)
{
	const json_t *files = json_object_get(body, "files");
	json_t *doc;

	if (check_members(body, err) < 0 || check_files(files, err) < 0 ||
	    check_runtime(body, key, err) < 0 ||
	    check_compile_limits(body, err) < 0)
		return NULL;
	doc = json_object();
	if (parse_files(doc, files, &key->policy, err) == 0 &&
	    parse_limits(doc, body, &key->policy, timeout_ms, err) == 0) {
		json_object_set(doc, "stdin", json_object_get(body, "stdin"));
		json_object_set(doc, "argv", json_object_get(body, "args"));
		return doc;
	}
	json_decref(doc);
	return NULL;
}
