#include "batch_result.h"

#include <jansson.h>
#include <string.h>

#include "text.h"

static int
no_memory(struct remit_error *err)
{
	return fail_sys(err, REMIT_E_MEMORY, "result");
}

/* An object behind its id, as one line. */
static int
write_line(struct buf *out, const char *id, uint64_t line, const char *json,
	   struct remit_error *err)
{
	size_t len = strlen(json);

	*out = (struct buf)BUF_INIT(strlen(id) + len + 64);
	if (buf_addf(out, "{\"id\":%s,", id) < 0 ||
	    (line &&
	     buf_addf(out, "\"line\":%llu,", (unsigned long long)line) < 0) ||
	    buf_add(out, json + 1, len - 1) < 0 || buf_add(out, "\n", 1) < 0) {
		buf_free(out);
		return no_memory(err);
	}
	return 0;
}

int
batch_result_of_run(struct batch_result *out, const char *id,
		    const struct remit_result *res, struct remit_error *err)
{
	int known = status_find(remit_result_status(res));
	const char *json = remit_result_json(res);

	if (!json)
		return no_memory(err);
	/* A shared keeper may be newer than we are. */
	out->status = known < 0 ? STATUS_INTERNAL : (enum status)known;
	out->is_good = remit_result_exit_code(res) == 0;
	return write_line(&out->line, id, 0, json, err);
}

static enum status
status_of(const struct remit_error *why)
{
	bool by_caller =
		why->code == REMIT_E_INPUT || why->code == REMIT_E_REFUSED;

	return by_caller ? STATUS_REFUSED : STATUS_INTERNAL;
}

/* As the keeper writes an error of its own. */
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

static json_t *
document(enum status s, const struct remit_error *why)
{
	return json_pack(
		"{s:s, s:n, s:n, s:n, s:n, s:s, s:s, s:b, s:b, s:o, s:[], "
		"s:{s:n, s:n, s:n, s:n, s:n, s:i, s:n}, s:[], s:[], s:i, s:n, "
		"s:[], "
		"s:[], "
		"s:[], s:[], s:n, s:[], s:i, s:n, s:s, s:i}",
		"status", statuses[s].name, "tier", "start", "exit_code",
		"signal", "stdout", "", "stderr", "", "stdout_truncated", 0,
		"stderr_truncated", 0, "error", error_of(why), "reported",
		"usage", "wall_ms", "cpu_ms", "memory_peak_bytes",
		"processes_peak", "network", "tool_calls", 0, "tool_wait_ms",
		"enforcement", "denials", "denials_left_out", 0, "denials_seen",
		"artifacts", "artifacts_skipped", "changes", "changes_skipped",
		"committed", "calls", "calls_left_out", 0, "run_id",
		"remit_version", remit_version(), "remit_exit_code",
		statuses[s].exit_code);
}

int
batch_result_of_error(struct batch_result *out, const char *id, uint64_t line,
		      const struct remit_error *why, struct remit_error *err)
{
	enum status s = status_of(why);
	json_auto_t *doc = document(s, why);
	own_mem char *json = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	if (!json)
		return no_memory(err);
	out->status = s;
	out->is_good = false;
	return write_line(&out->line, id, line, json, err);
}

void
batch_result_free(struct batch_result *r)
{
	buf_free(&r->line);
	free(r->folder);
}
