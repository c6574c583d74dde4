#include "serve/e2b/request.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"

const char *
e2b_request_text(const json_t *body, const char *name)
{
	const json_t *value = json_object_get(body, name);
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* Whether the member is missing, null, or a string. */
static bool
is_text_or_nothing(const json_t *body, const char *name)
{
	const json_t *value = json_object_get(body, name);

	return !value || json_is_null(value) || e2b_request_text(body, name);
}

char *
e2b_path(const char *path, const struct list *names)
{
	char *out;

	for (size_t i = 0; i < names->count; i++)
		if (path_lies_in(path, names->items[i]))
			return asprintf(&out, "%s%s", names->items[0],
					path + strlen(names->items[i])) < 0
				       ? NULL
				       : out;
	return strdup(*path ? path : ".");
}

/* ---- code ---- */

char *
e2b_dedent(const char *code)
{
	size_t len = strlen(code), indent, n = 0;
	const char *first = code + strspn(code, " \t\r\n");
	const char *line = first;
	char *out = malloc(len + 1);

	while (line > code && line[-1] != '\n')
		line--;
	indent = (size_t)(first - line);
	for (const char *at = code; out && *at;) {
		size_t have = strcspn(at, "\n");
		bool is_indented = have >= indent && !memcmp(at, line, indent);

		have += at[have] == '\n';
		if (is_indented) {
			memcpy(out + n, at + indent, have - indent);
			n += have - indent;
		} else {
			memcpy(out + n, at, have);
			n += have;
		}
		at += have;
	}
	if (out)
		out[n] = '\0';
	return out;
}

int
e2b_read_language(const json_t *body, enum e2b_language *out)
{
	static const struct {
		const char *name;
		enum e2b_language language;
	} known[] = {
		{ "python", E2B_PYTHON },
		{ "py", E2B_PYTHON },
		{ "bash", E2B_BASH },
	};
	const json_t *given = json_object_get(body, "language");
	const char *name = json_string_value(given);

	*out = E2B_PYTHON;
	if (!given || json_is_null(given))
		return 0;
	for (size_t i = 0; name && i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].name, name)) {
			*out = known[i].language;
			return 0;
		}
	return -1;
}

#define LANGUAGES "language: only python and bash are supported here"

const char *
e2b_code_problem(const json_t *body)
{
	const json_t *env = json_object_get(body, "env_vars");
	enum e2b_language language;

	if (!e2b_request_text(body, "code"))
		return "code: must be a string";
	if (json_is_string(json_object_get(body, "context_id")) &&
	    json_is_string(json_object_get(body, "language")))
		return "only one of context_id and language can be given";
	if (e2b_read_language(body, &language) < 0)
		return LANGUAGES;
	if (env && !json_is_object(env) && !json_is_null(env))
		return "env_vars: must be an object of strings";
	return NULL;
}

const char *
e2b_context_problem(const json_t *body)
{
	enum e2b_language language;

	if (e2b_read_language(body, &language) < 0)
		return LANGUAGES;
	if (!is_text_or_nothing(body, "cwd"))
		return "cwd: must be a string";
	return json_string_length(json_object_get(body, "cwd")) < PATH_MAX
		       ? NULL
		       : "cwd: the path is too long";
}

char *
e2b_script_code(const char *script)
{
	char *code;

	return asprintf(&code, "%%%%bash\n%s", script) < 0 ? NULL : code;
}

char *
e2b_chdir_code(const char *cwd, const struct list *names)
{
	own_mem char *path = e2b_path(cwd, names), *text = NULL;
	json_auto_t *name = path ? json_string(path) : NULL;
	char *code;

	text = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ENSURE_ASCII)
		    : NULL;
	return text && asprintf(&code, "__import__('os').chdir(%s)", text) > 0
		       ? code
		       : NULL;
}

int
e2b_parse_variables(struct list *env, const json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value)
	{
		own_mem char *pair = NULL;

		if (!json_is_string(value) || !*name || strchr(name, '=') ||
		    asprintf(&pair, "%s=%s", name, json_string_value(value)) <
			    0 ||
		    list_add(env, pair) < 0)
			return -1;
	}
	return 0;
}

/* ---- programs ---- */

int
e2b_program_argv(struct list *argv, const json_t *process)
{
	const json_t *cmd = json_object_get(process, "cmd"), *arg;
	size_t i;

	if (list_add(argv, json_string_value(cmd)) < 0)
		return -1;
	json_array_foreach(json_object_get(process, "args"), i, arg)
	{
		if (list_add(argv, json_string_value(arg)) < 0)
			return -1;
	}
	return 0;
}

bool
e2b_is_program(const json_t *process)
{
	const json_t *args = json_object_get(process, "args"), *arg;
	size_t i;

	json_array_foreach(args, i, arg)
	{
		if (!json_is_string(arg))
			return false;
	}
	return json_is_string(json_object_get(process, "cmd")) &&
	       (!args || json_is_null(args) || json_is_array(args)) &&
	       is_text_or_nothing(process, "cwd");
}

int
e2b_terminal_size(const json_t *pty, unsigned *columns, unsigned *rows)
{
	const json_t *size = json_object_get(pty, "size");
	json_int_t cols = json_integer_value(json_object_get(size, "cols"));
	json_int_t lines = json_integer_value(json_object_get(size, "rows"));

	if (cols < 1 || cols > UINT16_MAX || lines < 1 || lines > UINT16_MAX)
		return -1;
	*columns = (unsigned)cols;
	*rows = (unsigned)lines;
	return 0;
}

json_t *
e2b_read_envelope(const struct buf *b)
{
	const unsigned char *h = (const unsigned char *)buf_text(b);
	size_t len;
	json_t *message;

	if (b->len < E2B_ENVELOPE || h[0])
		return NULL;
	len = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 |
	      h[4];
	if (len != b->len - E2B_ENVELOPE)
		return NULL;
	message = json_loadb(b->data + E2B_ENVELOPE, len,
			     JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(message))
		return message;
	json_decref(message);
	return NULL;
}
