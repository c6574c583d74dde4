/*
 * piston: Piston's API, for Python only.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "jail/probe/discover.h"
#include "serve/compat/oneshot.h"
#include "serve/compat/piston_request.h"

/* ---- the interpreter ---- */

static void
find_python(struct key *k)
{
	own(site) struct site site = { 0 };
	struct remit_error err;

	/* If no interpreter is found, runs report it. */
	if (site_find_host(&site, &err) < 0 ||
	    site_find_interpreter(&site, &k->policy, &err) < 0)
		return;
	k->python[0] = site.interpreter.major;
	k->python[1] = site.interpreter.minor;
	k->python[2] = site.interpreter.micro;
}

void
piston_find_pythons(struct keys *k)
{
	for (size_t i = 0; i < k->count; i++) {
		struct key *all = k->all;

		/* Most keys use the interpreter of the server's policy. */
		if (i &&
		    !strcmp(all[i].policy.python, all[i - 1].policy.python))
			memcpy(all[i].python, all[i - 1].python,
			       sizeof(all[i].python));
		else
			find_python(&all[i]);
	}
}

static json_t *
version_json(const struct key *k)
{
	return json_sprintf("%d.%d.%d", k->python[0], k->python[1],
			    k->python[2]);
}

static void
get_runtimes(struct exchange *x)
{
	json_t *list = json_array(), *aliases = json_array();

	for (size_t i = 0; piston_aliases[i]; i++)
		json_array_append_new(aliases, json_string(piston_aliases[i]));
	if (x->key->python[0])
		json_array_append_new(
			list, json_pack("{s:s, s:o, s:O}", "language", "python",
					"version", version_json(x->key),
					"aliases", aliases));
	json_decref(aliases);
	reply_json(x, 200, list);
}

/* ---- results ---- */

static json_t *
piston_failure(const char *message)
{
	return json_pack("{s:s}", "message", message);
}

#define MESSAGE_SIZE 64

/* Returns Piston's abbreviation for how a run ended; NULL: successfully. */
static const char *
status_letters(const json_t *result, char message[MESSAGE_SIZE])
{
	static const struct {
		const char *status, *letters, *message;
	} ends[] = {
		{ "timeout", "TO", "Time limit exceeded (wall clock)" },
		{ "cpu_limit", "TO", "Time limit exceeded" },
		{ "memory_limit", "SG", "Memory limit exceeded" },
		{ "output_limit", "OL", "output length exceeded" },
		{ "killed", "SG", "Caught fatal signal" },
		{ "interrupted", "SG", "Interrupted" },
	};
	const char *status = oneshot_text(result, "status");
	json_int_t code =
		json_integer_value(json_object_get(result, "exit_code"));

	message[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (!strcmp(status, ends[i].status)) {
			snprintf(message, MESSAGE_SIZE, "%s", ends[i].message);
			return ends[i].letters;
		}
	if (!code)
		return NULL;
	snprintf(message, MESSAGE_SIZE, "Exited with error status %d",
		 (int)code);
	return "RE";
}

/* The name of the signal. A program that exceeded a limit counts as killed,
   even if it stopped on request before. */
static json_t *
signal_json(const json_t *result, const char *letters)
{
	json_int_t number =
		json_integer_value(json_object_get(result, "signal"));
	const char *name =
		number > 0 && number < NSIG ? sigabbrev_np((int)number) : NULL;

	if (name)
		return json_sprintf("SIG%s", name);
	if (letters && strcmp(letters, "RE") != 0)
		return json_string("SIGKILL");
	return json_null();
}

/* The message for a successful run with truncated output. */
static const char *
cut_message(const json_t *result)
{
	if (json_is_true(json_object_get(result, "stdout_truncated")))
		return "stdout was cut at the policy's limit";
	if (json_is_true(json_object_get(result, "stderr_truncated")))
		return "stderr was cut at the policy's limit";
	return NULL;
}

static json_t *
stage_json(const json_t *result, const struct buf *output)
{
	const json_t *usage = json_object_get(result, "usage");
	char message[MESSAGE_SIZE];
	const char *letters = status_letters(result, message);
	json_t *signal = signal_json(result, letters);
	json_t *code = json_is_null(signal)
			       ? json_object_get(result, "exit_code")
			       : NULL;

	return json_pack(
		"{s:O, s:O, s:o, s:O?, s:o, s:s?, s:s?, s:O?, s:O?, s:O?}",
		"stdout", json_object_get(result, "stdout"), "stderr",
		json_object_get(result, "stderr"), "output",
		text_to_json(buf_text(output), output->len), "code", code,
		"signal", signal, "message",
		*message ? message : cut_message(result), "status", letters,
		"cpu_time", json_object_get(usage, "cpu_ms"), "wall_time",
		json_object_get(usage, "wall_ms"), "memory",
		json_object_get(usage, "memory_peak_bytes"));
}

static json_t *
piston_answer(const struct exchange *x, const json_t *result,
	      const struct buf *output, int *status)
{
	/* Statuses of programs that never began. */
	static const struct {
		const char *name;
		int status;
	} refusals[] = {
		{ "refused", 400 },	   { "rejected", 400 },
		{ "install_failed", 400 }, { "busy", 429 },
		{ "internal", 500 },
	};
	const char *ended = oneshot_text(result, "status");
	const char *why =
		oneshot_text(json_object_get(result, "error"), "value");

	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		if (!strcmp(ended, refusals[i].name)) {
			*status = refusals[i].status;
			return piston_failure(*why ? why : ended);
		}
	return json_pack("{s:o, s:s, s:o}", "run", stage_json(result, output),
			 "language", "python", "version", version_json(x->key));
}

/* ---- requests ---- */

static void
post_execute(struct exchange *x)
{
	static const struct oneshot_form form = { piston_answer, piston_failure,
						  false };
	struct remit_error err;
	uint64_t timeout_ms;
	json_t *doc = piston_read_request(x->json, x->key, &timeout_ms, &err);

	if (doc)
		oneshot_run(x, doc, timeout_ms, &form);
	else
		reply_json(x, 400, piston_failure(err.message));
}

/* Piston's own path, and that of its public instance. */
#define PISTON(path)                                                           \
	{                                                                      \
		.method = "GET",                                               \
		.pattern = path "/runtimes",                                   \
		.serve = get_runtimes,                                         \
		.summary = "The interpreter, in Piston's format",              \
		.reply_schema = "PistonRuntimes",                              \
	},                                                                     \
	{                                                                      \
		.method = "POST", .pattern = path "/execute",                  \
		.serve = post_execute, .body = BODY_JSON,                      \
		.summary = "Run one program, as Piston does",                  \
		.request_schema = "PistonJob", .reply_schema = "PistonResult", \
		.error_schema = "PistonError",                                 \
	}

const struct route piston_routes[] = {
	PISTON("/api/v2"),
	PISTON("/api/v2/piston"),
	{ 0 },
};
