/* tool_calls: checks of arguments, approval by the user, and answers. */
#include "client/tools/calls.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

#include <cmocka.h>

#define SCHEMA                                                \
	"{\"properties\": {\"a\": {\"type\": \"integer\"}}, " \
	"\"additionalProperties\": false}"

/* Records how the tool was called, and controls its answers. */
struct tool_world {
	unsigned called, questions;
	char arguments[64];
	const char *reply; /* NULL: answer later */
	size_t reply_len;
	struct remit_tool_call *pending;
	enum remit_answer say;
};

static void
on_call(void *user, struct remit_tool_call *call, const char *arguments,
	size_t len)
{
	struct tool_world *w = user;

	w->called++;
	snprintf(w->arguments, sizeof(w->arguments), "%.*s", (int)len,
		 arguments);
	assert_string_equal(remit_tool_call_name(call), "t");
	if (w->reply)
		remit_tool_reply(call, w->reply,
				 w->reply_len ? w->reply_len
					      : strlen(w->reply));
	else
		w->pending = call;
}

static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	struct tool_world *w = user;

	w->questions++;
	assert_string_equal(q->kind, "tool");
	assert_string_equal(q->subject, "t");
	assert_non_null(q->detail);
	return w->say;
}

/* Open a run with one tool. */
struct run {
	struct tool_world world;
	struct tools tools;
	struct tool_calls calls;
	struct link link;
	uint64_t id;
};

static void
run_free(struct run *r)
{
	tool_calls_free(&r->calls);
	tools_free(&r->tools);
	link_free(&r->link);
}

static void
open_run(struct run *r, const char *schema, enum remit_approval approval)
{
	struct remit_tool tool = {
		.name = "t",
		.schema_json = schema,
		.approval = approval,
		.call = on_call,
		.user = &r->world,
	};
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_error err;

	*r = (struct run){
		.calls = TOOL_CALLS_INIT,
		.link = LINK_INIT,
		.world = { .reply = "1", .say = REMIT_ALLOW_ONCE },
	};
	job.on_question = on_question;
	job.user = &r->world;
	assert_int_equal(tools_open(&r->tools, &tool, 1, &err), 0);
	assert_int_equal(tool_calls_open(&r->calls, &r->tools, &job, &err), 0);
}

static void
call_tool(struct run *r, const char *name, const char *arguments)
{
	own(buf) struct buf b = BUF_INIT(4096);
	const struct call_head h = {
		.id = ++r->id,
		.key = "name",
		.word = name,
		.bytes = strlen(arguments),
	};
	struct frame f = { .type = FRAME_CALL };
	struct remit_error err;

	assert_int_equal(call_head_write(&b, &h), 0);
	f.payload = b.data;
	f.len = (uint32_t)b.len;
	assert_int_equal(tool_calls_receive(&r->calls, &f, &err), 0);
	f = (struct frame){
		.type = FRAME_CALL_DATA,
		.payload = arguments,
		.len = (uint32_t)strlen(arguments),
	};
	assert_int_equal(tool_calls_receive(&r->calls, &f, &err), 0);
}

/* Check that the code gets exactly this answer. */
static void
expect_answer(struct run *r, const char *outcome, const char *text)
{
	struct remit_error err;
	struct buf *out = &r->link.out;

	out->len = 0;
	assert_int_equal(tool_calls_flush(&r->calls, &r->link, &err), 0);
	if (!outcome) {
		assert_int_equal(out->len, 0);
		return;
	}
	if (!out->len ||
	    !memmem(out->data, out->len, outcome, strlen(outcome)) ||
	    !memmem(out->data, out->len, text, strlen(text)))
		fail_msg("wanted %s \"%s\"", outcome, text);
}

static void
tool_arguments_are_checked_before_the_call(void **state)
{
	static const struct {
		const char *name, *arguments, *words;
	} rows[] = {
		{ "u", "{}", "no tool has this name" },
		{ "", "{}", "no tool has this name" },
		{ "t", "{", "not valid JSON" },
		{ "t", "{} {}", "not valid JSON" },
		{ "t", "[]", "not a JSON object" },
		{ "t", "1", "not valid JSON" },
		{ "t", "{\"a\": NaN}", "not valid JSON" },
		{ "t", "{\"a\": 1, \"a\": 2}", "duplicate" },
		{ "t", "{\"a\": \"\xff\"}", "not valid JSON" },
		{ "t", "{\"a\": \"\\ud800\"}", "not valid JSON" },
		{ "t", "{\"a\": 99999999999999999999999}", "too big" },
		{ "t", "{\"a\": \"x\"}", "must be of type integer" },
		{ "t", "{\"b\": 1}", "unknown name \"b\"" },
	};
	own(run) struct run r;

	(void)state;
	open_run(&r, SCHEMA, REMIT_APPROVAL_NEVER);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		call_tool(&r, rows[i].name, rows[i].arguments);
		expect_answer(&r, "error", rows[i].words);
	}
	assert_int_equal(r.world.called, 0);
	call_tool(&r, "t", "{\"a\": 7}");
	assert_int_equal(r.world.called, 1);
	assert_string_equal(r.world.arguments, "{\"a\": 7}");
	expect_answer(&r, "ok", "1");
}

static void
tool_arguments_have_a_depth_limit(void **state)
{
	enum { DEEP = 60000 };
	own_mem char *text = malloc(DEEP + 1);
	own(run) struct run r;

	(void)state;
	assert_non_null(text);
	memset(text, '[', DEEP);
	text[DEEP] = '\0';
	open_run(&r, NULL, REMIT_APPROVAL_NEVER);
	call_tool(&r, "t", text);
	expect_answer(&r, "error", "maximum parsing depth");
	assert_int_equal(r.world.called, 0);
}

static void
tool_results_must_be_json(void **state)
{
	static const struct {
		const char *reply;
		const char *outcome, *text;
	} rows[] = {
		{ "null", "ok", "null" },
		{ "99999999999999999999999999", "ok", "9999" },
		{ "[1.5, {\"a\": \"\\u0000\"}]", "ok", "u0000" },
		{ "NaN", "error", "not valid JSON" },
		{ "\"\xff\"", "error", "not valid JSON" },
		{ "", "error", "not valid JSON" },
		{ "1 2", "error", "not valid JSON" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(run) struct run r;

		open_run(&r, NULL, REMIT_APPROVAL_NEVER);
		r.world.reply = rows[i].reply;
		call_tool(&r, "t", "{}");
		expect_answer(&r, rows[i].outcome, rows[i].text);
	}
}

static void
tool_approval_decides_how_often_the_user_is_asked(void **state)
{
	static const struct {
		enum remit_approval approval;
		enum remit_answer say;
		unsigned questions, called; /* of three calls */
	} rows[] = {
		{ REMIT_APPROVAL_NEVER, REMIT_DENY, 0, 3 },
		{ REMIT_APPROVAL_ALWAYS, REMIT_ALLOW_ONCE, 3, 3 },
		{ REMIT_APPROVAL_ALWAYS, REMIT_ALLOW_RUN, 1, 3 },
		{ REMIT_APPROVAL_ALWAYS, REMIT_ALLOW_ALWAYS, 1, 3 },
		{ REMIT_APPROVAL_ALWAYS, REMIT_DENY, 3, 0 },
		{ REMIT_APPROVAL_FIRST, REMIT_ALLOW_ONCE, 1, 3 },
		{ REMIT_APPROVAL_FIRST, REMIT_ALLOW_RUN, 1, 3 },
		{ REMIT_APPROVAL_FIRST, REMIT_DENY, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(run) struct run r;

		open_run(&r, SCHEMA, rows[i].approval);
		r.world.say = rows[i].say;
		for (int n = 0; n < 3; n++) {
			call_tool(&r, "t", "{\"a\": 1}");
			expect_answer(&r, rows[i].called ? "ok" : "denied",
				      rows[i].called ? "1" : "not allowed");
			/* The user must not be asked about invalid calls. */
			call_tool(&r, "t", "{\"a\": null}");
			expect_answer(&r, "error", "integer");
		}
		assert_int_equal(r.world.questions, rows[i].questions);
		assert_int_equal(r.world.called, rows[i].called);
	}
}

static void
tool_needing_approval_is_denied_without_a_user(void **state)
{
	own(run) struct run r;

	(void)state;
	open_run(&r, NULL, REMIT_APPROVAL_ALWAYS);
	r.calls.on_question = NULL;
	call_tool(&r, "t", "{}");
	expect_answer(&r, "denied", "not allowed");
	assert_int_equal(r.world.called, 0);
}

static void *
reply_from_elsewhere(void *call)
{
	remit_tool_reply(call, "\"late\"", 6);
	return NULL;
}

static void
tool_answer_from_another_thread_wakes_the_run(void **state)
{
	own(run) struct run r;
	struct pollfd p;
	pthread_t thread;

	(void)state;
	open_run(&r, NULL, REMIT_APPROVAL_NEVER);
	r.world.reply = NULL;
	call_tool(&r, "t", "{}");
	expect_answer(&r, NULL, "");
	p = (struct pollfd){ .fd = tool_calls_fd(&r.calls), .events = POLLIN };
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, reply_from_elsewhere,
					r.world.pending),
			 0);
	assert_int_equal(poll(&p, 1, 60000), 1);
	expect_answer(&r, "ok", "late");
	assert_int_equal(poll(&p, 1, 0), 0);
	pthread_join(thread, NULL);
}

static void
tool_answer_after_the_run_has_no_effect(void **state)
{
	struct remit_tool_call *call_left;
	struct pollfd over;

	(void)state;
	{
		own(run) struct run r;

		open_run(&r, NULL, REMIT_APPROVAL_NEVER);
		r.world.reply = NULL;
		call_tool(&r, "t", "{}");
		call_left = r.world.pending;
		over = (struct pollfd){
			.fd = remit_tool_call_over_fd(call_left),
			.events = POLLIN,
		};
		assert_int_equal(poll(&over, 1, 0), 0);
	}
	assert_int_equal(poll(&over, 1, 0), 1);
	remit_tool_fail(call_left, "too late");
}

static void
unusable_tool_names_are_refused(void **state)
{
	static const char *const names[] = {
		"",
		"2a",
		"a-b",
		"a b",
		"\xc3\xa4",
		"class",
		"await",
		"call_tool",
		"ToolError",
		"__x",
		"a.b",
		("a234567890123456789012345678901234567890123456789012345678901"
		 "2"
		 "345"),
	};
	struct remit_tool twice[] = {
		{ .name = "a", .call = on_call },
		{ .name = "a", .call = on_call },
	};
	struct remit_tool none = { .name = "a" };
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct remit_tool t = { .name = names[i], .call = on_call };
		own(tools) struct tools all = { 0 };

		if (tools_open(&all, &t, 1, &err) == 0)
			fail_msg("\"%s\" was accepted", names[i]);
	}
	own(tools) struct tools two = { 0 }, nothing = { 0 };
	assert_int_equal(tools_open(&two, twice, 2, &err), -1);
	assert_int_equal(tools_open(&nothing, &none, 1, &err), -1);
}

static void
result_lists_the_tool_calls(void **state)
{
	own(run) struct run r;
	json_auto_t *doc = json_object();
	own_mem char *text = NULL;
	struct remit_error err;

	(void)state;
	open_run(&r, SCHEMA, REMIT_APPROVAL_NEVER);
	call_tool(&r, "t", "{\"a\": 1}");
	call_tool(&r, "x", "{}");
	expect_answer(&r, "ok", "1");
	for (int i = 0; i < TOOL_CALLS_LISTED; i++)
		call_tool(&r, "t", "{}");
	assert_int_equal(tool_calls_report(&r.calls, doc, &err), 0);
	assert_int_equal(
		json_integer_value(json_object_get(doc, "calls_left_out")), 2);
	assert_int_equal(json_array_size(json_object_get(doc, "calls")),
			 TOOL_CALLS_LISTED);
	text = json_dumps(json_array_get(json_object_get(doc, "calls"), 0),
			  JSON_COMPACT);
	assert_string_equal(text, "{\"tool\":\"t\",\"bytes\":8,\"outcome\":"
				  "\"ok\",\"arguments\":{\"a\":1}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tool_arguments_are_checked_before_the_call),
		cmocka_unit_test(tool_arguments_have_a_depth_limit),
		cmocka_unit_test(tool_results_must_be_json),
		cmocka_unit_test(
			tool_approval_decides_how_often_the_user_is_asked),
		cmocka_unit_test(
			tool_needing_approval_is_denied_without_a_user),
		cmocka_unit_test(tool_answer_from_another_thread_wakes_the_run),
		cmocka_unit_test(tool_answer_after_the_run_has_no_effect),
		cmocka_unit_test(unusable_tool_names_are_refused),
		cmocka_unit_test(result_lists_the_tool_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
