/* Requests of E2B's clients: text in them never becomes code that was not meant
   to be. The first byte selects the kind of request. */
#include "fuzz.h"
#include "serve/e2b/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Names are quoted as Python strings: they add no line and no non-ASCII
   character. */
static void
check_code(char *code, size_t lines)
{
	must(code != NULL);
	for (const char *at = code; *at; at++) {
		must(*at == '\n' || *at >= ' ');
		lines -= *at == '\n';
	}
	must(lines == 0);
	free(code);
}

static char home[] = SANDBOX_HOME, work[] = "/workspace";
static char *paths[] = { home, work, NULL };
static const struct list names = { .items = paths, .count = 2 };

static void
try_execute(const json_t *body)
{
	own(list) struct list env = { 0 };
	char *code;

	if (e2b_code_problem(body))
		return;
	code = e2b_dedent(e2b_request_text(body, "code"));
	must(code && strlen(code) <= strlen(e2b_request_text(body, "code")));
	free(code);
	if (e2b_parse_variables(&env, json_object_get(body, "env_vars")) == 0)
		for (size_t i = 0; i < env.count; i++)
			must(strchr(env.items[i], '=') > env.items[i]);
}

static void
try_context(const json_t *body)
{
	const char *cwd = e2b_request_text(body, "cwd");

	if (!e2b_context_problem(body) && cwd)
		check_code(e2b_chdir_code(cwd, &names), 0);
}

static void
try_process(const json_t *message)
{
	const json_t *process = json_object_get(message, "process");
	own(list) struct list argv = { 0 };

	if (!e2b_is_program(process))
		return;
	must(e2b_program_argv(&argv, process) == 0);
	must(argv.count ==
	     1 + json_array_size(json_object_get(process, "args")));
}

static void
try_file(const json_t *body)
{
	const char *path = e2b_request_text(body, "path");
	char *inside = path ? e2b_path(path, &names) : NULL;

	must(!path || (inside && *inside));
	free(inside);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const json_t *) = {
		try_execute,
		try_context,
		try_process,
		try_file,
	};
	json_auto_t *body = NULL;

	if (!size)
		return 0;
	if (data[0] == 'E') {
		struct buf b = { (char *)data + 1, size - 1, size - 1, size };

		/* No NUL follows the bytes: the parser must not need one. */
		body = e2b_read_envelope(&b);
		must(!body || json_is_object(body));
		if (body)
			try_process(body);
		return 0;
	}
	body = json_loadb((const char *)data + 1, size - 1,
			  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (json_is_object(body))
		tries[data[0] % 4](body);
	return 0;
}
