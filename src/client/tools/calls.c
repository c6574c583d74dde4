#include "client/tools/calls.h"

#include <stdio.h>
#include <string.h>

#include "wire/record.h"

/* Longer arguments are not listed. */
#define LISTED_BYTES 2048

int
tool_calls_open(struct tool_calls *c, const struct tools *tools,
		const struct remit_job *job, struct remit_error *err)
{
	c->tools = tools;
	c->on_question = job->on_question;
	c->user = job->user;
	c->list = json_array();
	if (!c->list)
		return fail_memory(err, "tools");
	if (!tools->count)
		return 0;
	c->decisions = calloc(tools->count, sizeof(*c->decisions));
	if (!c->decisions)
		return fail_memory(err, "tools");
	for (size_t i = 0; i < tools->count; i++)
		c->decisions[i] = REMIT_ALLOW_ONCE;
	c->hub = tool_hub_new(err);
	return c->hub ? 0 : -1;
}

void
tool_calls_free(struct tool_calls *c)
{
	if (c->hub)
		tool_hub_end(c->hub);
	c->hub = NULL;
	free(c->decisions);
	c->decisions = NULL;
	buf_free(&c->arguments);
	json_decref(c->list);
	c->list = NULL;
}

int
tool_calls_fd(const struct tool_calls *c)
{
	return c->hub ? tool_hub_fd(c->hub) : -1;
}

/* ---- the list for the result ---- */

static void
list_call(struct tool_calls *c, json_t *arguments)
{
	json_t *row;

	if (json_array_size(c->list) >= TOOL_CALLS_LISTED) {
		c->left_out++;
		return;
	}
	row = json_pack("{s:s, s:I, s:s}", "tool", c->name, "bytes",
			(json_int_t)c->arguments.len, "outcome", "none");
	if (arguments && c->arguments.len <= LISTED_BYTES)
		json_object_set(row, "arguments", arguments);
	c->last_listed = c->id;
	if (json_object_set_new(row, "id", json_integer((json_int_t)c->id)) <
		    0 ||
	    json_array_append_new(c->list, row) < 0)
		c->left_out++;
}

static void
list_outcome(struct tool_calls *c, const struct tool_answer *a)
{
	json_t *row;
	size_t i;

	if (a->id > c->last_listed)
		return;
	json_array_foreach(c->list, i, row)
	{
		json_t *id = json_object_get(row, "id");

		if (!id || json_integer_value(id) != (json_int_t)a->id)
			continue;
		json_object_set_new(row, "outcome", json_string(a->outcome));
		if (strcmp(a->outcome, "ok") != 0)
			json_object_set_new(row, "message",
					    json_stringn(a->text, a->len));
		return;
	}
}

int
tool_calls_report(struct tool_calls *c, json_t *result, struct remit_error *err)
{
	uint64_t left_out = c ? c->left_out : 0;
	json_t *list = c ? json_incref(c->list) : json_array(), *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		json_object_del(row, "id");
	}
	if (json_object_set_new(result, "calls", list) < 0 ||
	    json_object_set_new(result, "calls_left_out",
				json_integer((json_int_t)left_out)) < 0)
		return fail_memory(err, "result");
	return 0;
}

/* ---- a call ---- */

static enum remit_answer
prompt_user(struct tool_calls *c, const struct tool *tool)
{
	struct remit_question q = {
		.kind = "tool",
		.subject = tool->given.name,
		.detail = buf_text(&c->arguments),
	};

	return c->on_question ? c->on_question(c->user, &q) : REMIT_DENY;
}

/* Returns true if the call needs no approval, or the user approves it. */
static bool
is_allowed(struct tool_calls *c, const struct tool *tool)
{
	enum remit_answer *decision = &c->decisions[tool - c->tools->all];
	enum remit_answer now;

	if (tool->given.approval == REMIT_APPROVAL_NEVER ||
	    *decision == REMIT_ALLOW_RUN)
		return true;
	if (*decision == REMIT_DENY)
		return false;
	now = prompt_user(c, tool);
	if (now == REMIT_ALLOW_ALWAYS ||
	    (now == REMIT_ALLOW_ONCE &&
	     tool->given.approval == REMIT_APPROVAL_FIRST))
		now = REMIT_ALLOW_RUN;
	if (now == REMIT_ALLOW_RUN ||
	    tool->given.approval == REMIT_APPROVAL_FIRST)
		*decision = now;
	return now != REMIT_DENY;
}

static json_t *
read_arguments(const struct buf *text, struct remit_error *err)
{
	json_error_t where;
	json_t *value =
		json_loadb(buf_text(text), text->len,
			   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);

	if (!value)
		fail(err, REMIT_E_INPUT, "the arguments are not valid JSON: %s",
		     where.text);
	else if (!json_is_object(value))
		fail(err, REMIT_E_INPUT, "the arguments are not a JSON object");
	if (json_is_object(value))
		return value;
	json_decref(value);
	return NULL;
}

static void
perform_call(struct tool_calls *c)
{
	const struct tool *tool = tools_find(c->tools, c->name);
	struct remit_error err = { 0 };
	json_auto_t *value = read_arguments(&c->arguments, &err);
	struct remit_tool_call *call;

	list_call(c, value);
	if (!tool)
		fail(&err, REMIT_E_INPUT, "no tool has this name");
	if (!tool || !value ||
	    (tool->schema.root && schema_check(&tool->schema, value, &err))) {
		tool_hub_answer(c->hub, c->id, "error", err.message);
		return;
	}
	if (!is_allowed(c, tool)) {
		tool_hub_answer(c->hub, c->id, "denied",
				"the call was not allowed");
		return;
	}
	call = tool_hub_call(c->hub, c->id, c->name);
	if (!call) {
		tool_hub_answer(c->hub, c->id, "error", "no memory");
		return;
	}
	tool->given.call(tool->given.user, call, buf_text(&c->arguments),
			 c->arguments.len);
}

static int
begin_call(struct tool_calls *c, const struct frame *f, struct remit_error *err)
{
	struct call_head h;

	if (call_head_read(&h, "name", f->payload, f->len, err) < 0)
		return -1;
	/* No tool has a name that is too long for the buffer. */
	snprintf(c->name, sizeof(c->name), "%s", h.word);
	if (strlen(h.word) >= sizeof(c->name))
		c->name[0] = '\0';
	c->id = h.id;
	c->missing = h.bytes;
	c->arguments.len = 0;
	return 0;
}

int
tool_calls_receive(struct tool_calls *c, const struct frame *f,
		   struct remit_error *err)
{
	if (!c->hub)
		return fail(err, REMIT_E_PROTOCOL, "a call without tools");
	if (f->type == FRAME_CALL)
		return begin_call(c, f, err);
	if (f->len > c->missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "a call has more bytes than announced");
	if (buf_add(&c->arguments, f->payload, f->len) < 0)
		return fail_memory(err, "arguments");
	c->missing -= f->len;
	if (!c->missing)
		perform_call(c);
	return 0;
}

/* ---- answers ---- */

static int
send_answer(struct link *l, const struct tool_answer *a,
	    struct remit_error *err)
{
	own(buf) struct buf head = BUF_INIT(frame_rules[FRAME_REPLY].max);
	struct call_head h = {
		.id = a->id,
		.key = "outcome",
		.word = a->outcome,
		.bytes = a->len,
	};

	if (call_head_write(&head, &h) < 0)
		return fail_memory(err, "answer");
	if (link_send(l, FRAME_REPLY, head.data, head.len, err) < 0)
		return -1;
	return link_send_pieces(l, FRAME_REPLY_DATA, a->text, a->len, err);
}

int
tool_calls_flush(struct tool_calls *c, struct link *l, struct remit_error *err)
{
	struct tool_answer *a = c->hub ? tool_hub_pop_all(c->hub) : NULL;
	int failed = 0;

	while (a) {
		struct tool_answer *next = a->next;

		if (!failed)
			failed = send_answer(l, a, err);
		list_outcome(c, a);
		free(a->text);
		free(a);
		a = next;
	}
	return failed;
}
