#include "wire/command.h"

#include <stdio.h>
#include <string.h>

#include "wire/record.h"
#include "wire/result.h"

int
command_end_read(struct command_end *out, const char *payload, size_t len,
		 enum command_end_kind last_kind)
{
	struct command_ended e;
	size_t text_len;

	if (len < sizeof(e) || len - sizeof(e) > COMMAND_TEXT_MAX)
		return -1;
	memcpy(&e, payload, sizeof(e));
	if (!e.kind || e.kind > (uint32_t)last_kind ||
	    e.kind >= COMMAND_END_KINDS)
		return -1;
	*out = (struct command_end){
		.id = e.id,
		.kind = (enum command_end_kind)e.kind,
		.value = e.value,
	};
	text_len = len - sizeof(e);
	memcpy(out->text, payload + sizeof(e), text_len);
	out->text[text_len] = '\0';
	return 0;
}

size_t
command_end_write(const struct command_end *e,
		  char out[sizeof(struct command_ended) + COMMAND_TEXT_MAX])
{
	struct command_ended head = { e->id, e->kind, e->value };
	size_t len = strlen(e->text);

	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), e->text, len);
	return sizeof(head) + len;
}

/* ---- its start ---- */

static int
add_number(struct buf *out, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return n ? record_add(out, key, text) : 0;
}

static int
add_list(struct buf *out, const char *key, const struct list *l)
{
	for (size_t i = 0; l && i < l->count; i++)
		if (record_add(out, key, l->items[i]) < 0)
			return -1;
	return 0;
}

int
command_params_write(struct buf *out, const struct command_params *p)
{
	if (add_number(out, "id", p->id) < 0 ||
	    add_list(out, "argv", p->argv) < 0 ||
	    add_list(out, "env", p->env) < 0 ||
	    (p->cwd && record_add(out, "cwd", p->cwd) < 0) ||
	    (p->reads && record_add(out, "input", "yes") < 0) ||
	    add_number(out, "columns", p->columns) < 0 ||
	    add_number(out, "rows", p->rows) < 0)
		return -1;
	return add_number(out, "timeout_ms", p->timeout_ms);
}

/* ---- the result ---- */

const char *
command_end_status(const struct command_end *e)
{
	static const enum status by_kind[COMMAND_END_KINDS] = {
		[COMMAND_EXITED] = STATUS_EXIT,
		[COMMAND_SIGNALLED] = STATUS_KILLED,
		[COMMAND_FAILED] = STATUS_ERROR,
		[COMMAND_REFUSED] = STATUS_REFUSED,
		[COMMAND_TIMEOUT] = STATUS_TIMEOUT,
		[COMMAND_CPU_LIMIT] = STATUS_CPU_LIMIT,
		[COMMAND_OUTPUT_LIMIT] = STATUS_OUTPUT_LIMIT,
		[COMMAND_INPUT_LIMIT] = STATUS_INTERRUPTED,
		[COMMAND_GONE] = STATUS_INTERRUPTED,
	};

	if (e->kind == COMMAND_EXITED && !e->value)
		return statuses[STATUS_OK].name;
	return statuses[by_kind[e->kind]].name;
}

json_t *
command_result(const struct command_end *e, const char *id, const char *tier,
	       uint64_t wall_ms)
{
	bool exited = e->kind == COMMAND_EXITED;
	bool killed = e->kind == COMMAND_SIGNALLED;

	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, "
		"s:{s:I, s:n, s:n, s:n, s:n, s:i, s:n}, "
		"s:[], s:[], s:[], s:[], s:[s, s, s], s:[], s:i}",
		"run_id", id, "status", command_end_status(e), "tier", tier,
		"exit_code", exited ? json_integer(e->value) : json_null(),
		"signal", killed ? json_integer(e->value) : json_null(),
		"usage", "wall_ms", (json_int_t)wall_ms, "cpu_ms",
		"memory_peak_bytes", "processes_peak", "network", "tool_calls",
		0, "tool_wait_ms", "denials", "artifacts", "changes",
		"installed", "reported", "status", "exit_code", "signal",
		"calls", "calls_left_out", 0);
}
