/* bridge: calls and replies are forwarded within their limits; others are
   answered with an error. */
#include "keeper/session/bridge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

#include <cmocka.h>

static const struct bridge_limits limits = {
	.calls = 5,
	.bytes = 100,
	.concurrency = 2,
};

/* A bridge between two links whose other ends read nothing. */
struct world {
	struct bridge bridge;
	struct link client, jail;
	struct remit_error err;
	bool changed;
};

static struct world
opened(void)
{
	struct world w = {
		.bridge = BRIDGE_INIT,
		.client = LINK_INIT,
		.jail = LINK_INIT,
	};

	assert_int_equal(buf_add(&w.bridge.tools, "tool\0x\0", 7), 0);
	return w;
}

static void
world_free(struct world *w)
{
	bridge_free(&w->bridge);
	link_free(&w->client);
	link_free(&w->jail);
}

static int
head_within(struct world *w, const struct bridge_limits *max, bool is_call,
	    uint64_t id, const char *word, uint64_t bytes)
{
	own(buf) struct buf b = BUF_INIT(4096);
	const struct call_head h = {
		.id = id,
		.key = is_call ? "name" : "outcome",
		.word = word,
		.bytes = bytes,
	};
	struct frame f = { .type = is_call ? FRAME_CALL : FRAME_REPLY };

	assert_int_equal(call_head_write(&b, &h), 0);
	f.payload = b.data;
	f.len = (uint32_t)b.len;
	return is_call ? bridge_call(&w->bridge, max, &f, &w->client, &w->jail,
				     &w->changed, &w->err)
		       : bridge_reply(&w->bridge, max, &f, &w->jail,
				      &w->changed, &w->err);
}

static int
head(struct world *w, bool is_call, uint64_t id, const char *word,
     uint64_t bytes)
{
	return head_within(w, &limits, is_call, id, word, bytes);
}

static int
data(struct world *w, bool is_call, uint32_t len)
{
	static const char bytes[FRAME_PIECE];
	struct frame f = {
		.type = is_call ? FRAME_CALL_DATA : FRAME_REPLY_DATA,
		.payload = bytes,
		.len = len,
	};

	return is_call ? bridge_call(&w->bridge, &limits, &f, &w->client,
				     &w->jail, &w->changed, &w->err)
		       : bridge_reply(&w->bridge, &limits, &f, &w->jail,
				      &w->changed, &w->err);
}

static void
call(struct world *w, uint64_t id)
{
	assert_int_equal(head(w, true, id, "x", 3), 0);
	assert_false(w->changed);
	assert_int_equal(data(w, true, 2), 0);
	assert_false(w->changed);
	assert_int_equal(data(w, true, 1), 0);
}

static void
reply(struct world *w, uint64_t id)
{
	assert_int_equal(head(w, false, id, "ok", 1), 0);
	assert_int_equal(data(w, false, 1), 0);
}

/* The jail was sent this refusal, and the client nothing. */
static void
refused(struct world *w, size_t client_before, const char *words)
{
	assert_int_equal(w->client.out.len, client_before);
	/* Heads contain NULs, so they are not searched as text. */
	if (!memmem(w->jail.out.data, w->jail.out.len, words, strlen(words)))
		fail_msg("the code did not get the refusal \"%s\"", words);
}

static void
call_is_forwarded_and_waits_for_one_reply(void **state)
{
	own(world) struct world w = opened();

	(void)state;
	call(&w, 1);
	assert_true(w.changed);
	assert_int_equal(w.bridge.pending_count, 1);
	assert_true(w.client.out.len > 0 && w.jail.out.len == 0);
	reply(&w, 1);
	assert_true(w.changed);
	assert_int_equal(w.bridge.pending_count, 0);
	assert_true(w.jail.out.len > 0);
}

static void
call_numbers_must_be_consecutive(void **state)
{
	static const uint64_t wrong[] = { 0, 2, 100, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		own(world) struct world w = opened();

		assert_int_equal(head(&w, true, wrong[i], "x", 1), -1);
		assert_int_equal(w.err.code, REMIT_E_PROTOCOL);
	}
	own(world) struct world again = opened();
	call(&again, 1);
	reply(&again, 1);
	assert_int_equal(head(&again, true, 1, "x", 1), -1);
}

static void
malformed_frames_break_the_protocol(void **state)
{
	own(world) struct world w = opened();

	(void)state;
	assert_int_equal(data(&w, true, 1), -1);
	assert_int_equal(data(&w, false, 1), -1);
	assert_int_equal(head(&w, true, 1, "x", 0), -1);
	assert_int_equal(head(&w, true, 1, "x", (64 << 20) + 1), -1);
	assert_int_equal(head(&w, true, 1, "x", 2), 0);
	assert_int_equal(head(&w, true, 2, "x", 2), -1);
	assert_int_equal(data(&w, true, 3), -1);
	assert_int_equal(data(&w, true, 0), -1);
	/* The client replies to a call that does not exist. */
	assert_int_equal(head(&w, false, 2, "ok", 1), -1);
	assert_int_equal(head(&w, false, 0, "ok", 1), -1);
}

static void
call_beyond_a_limit_is_refused(void **state)
{
	own(world) struct world w = opened();
	size_t before;

	(void)state;
	assert_int_equal(head(&w, true, 1, "x", 101), 0);
	refused(&w, 0, "the arguments have 101 bytes, and tool_bytes");
	assert_int_equal(data(&w, true, 101), 0);
	assert_false(w.changed);
	call(&w, 2);
	call(&w, 3);
	before = w.client.out.len;
	assert_int_equal(head(&w, true, 4, "x", 1), 0);
	refused(&w, before, "tool_concurrency allows 2");
	assert_int_equal(data(&w, true, 1), 0);
	reply(&w, 2);
	reply(&w, 3);
	for (uint64_t id = 5; id < 8; id++) {
		call(&w, id);
		reply(&w, id);
	}
	before = w.client.out.len;
	assert_int_equal(head(&w, true, 8, "x", 1), 0);
	refused(&w, before, "tool_calls allows 5 calls");
	assert_int_equal(w.bridge.calls, 5);
}

static void
result_that_is_too_long_becomes_an_error(void **state)
{
	own(world) struct world w = opened();
	size_t before;

	(void)state;
	call(&w, 1);
	assert_int_equal(head(&w, false, 1, "ok", 5000), 0);
	assert_true(w.changed);
	refused(&w, w.client.out.len, "the result has 5000 bytes");
	before = w.jail.out.len;
	assert_int_equal(data(&w, false, 5000), 0);
	assert_int_equal(w.jail.out.len, before);
	assert_int_equal(w.bridge.pending_count, 0);
}

static void
replies_without_a_waiting_call_are_dropped(void **state)
{
	own(world) struct world w = opened();

	(void)state;
	call(&w, 1);
	bridge_end(&w.bridge);
	reply(&w, 1);
	assert_false(w.changed);
	assert_int_equal(w.jail.out.len, 0);
}

static void
code_that_does_not_read_replies_is_cut_off(void **state)
{
	own(world) struct world w = opened();
	uint64_t id = 0;

	(void)state;
	/* Refusals fill the space that is there for replies. */
	while (++id < 1000 && head(&w, true, id, "x", 101) == 0)
		assert_int_equal(data(&w, true, 101), 0);
	assert_true(id < 100);
	assert_non_null(strstr(w.err.message, "not read"));
}

/* The space for replies of tools is not there for refusals. */
static void
unread_refusals_end_the_calls(void **state)
{
	static const struct bridge_limits wide = {
		.calls = UINT64_MAX,
		.bytes = 16 * 1024 * 1024,
		.concurrency = 64,
	};
	own(world) struct world w = opened();
	uint64_t id = 0;

	(void)state;
	w.bridge.tools.len = 0;
	while (++id < 100000 && head_within(&w, &wide, true, id, "x", 1) == 0)
		assert_int_equal(data(&w, true, 1), 0);
	assert_true(id > 64 && id < 1000);
	assert_non_null(strstr(w.err.message, "not read"));
	assert_true(link_backlog(&w.jail) < 512 * 1024);
}

static void
run_without_tools_cannot_call(void **state)
{
	own(world) struct world w = opened();

	(void)state;
	w.bridge.tools.len = 0;
	assert_int_equal(head(&w, true, 1, "x", 1), 0);
	refused(&w, 0, "this run has no tools");
}

/* ---- requests for packages ---- */

static void
request(struct world *w, uint64_t id)
{
	assert_int_equal(head(w, true, id, BRIDGE_INSTALL, 3), 0);
	assert_int_equal(data(w, true, 2), 0);
	assert_false(w->changed);
	assert_int_equal(data(w, true, 1), 0);
}

static bool
jail_was_sent(const struct world *w, const char *words)
{
	return memmem(w->jail.out.data, w->jail.out.len, words, strlen(words));
}

static void
request_for_packages_is_kept_and_needs_no_tools(void **state)
{
	own(world) struct world w = opened();

	(void)state;
	w.bridge.tools.len = 0;
	request(&w, 1);
	assert_true(w.changed);
	assert_int_equal(w.bridge.request_id, 1);
	assert_int_equal(w.bridge.request.len, 3);
	assert_int_equal(w.client.out.len, 0);
	assert_int_equal(w.bridge.calls, 0);
	/* The client cannot answer it. */
	reply(&w, 1);
	assert_false(w.changed);
	assert_int_equal(w.jail.out.len, 0);
	assert_int_equal(
		bridge_send_progress(&w.bridge, &w.jail, "a line", &w.err), 0);
	assert_true(jail_was_sent(&w, "progress"));
	assert_int_equal(
		bridge_answer(&w.bridge, &w.jail, "ok", "done", &w.err), 0);
	assert_true(jail_was_sent(&w, "done"));
	assert_int_equal(w.bridge.pending_count, 0);
	assert_int_equal(w.bridge.request_id, 0);
	request(&w, 2);
}

static void
requests_beyond_a_limit_are_refused(void **state)
{
	static const struct bridge_limits between = { .no_request = true,
						      .concurrency = 2 };
	own(world) struct world w = opened();

	(void)state;
	assert_int_equal(head_within(&w, &between, true, 1, BRIDGE_INSTALL, 1),
			 0);
	refused(&w, 0, "no cell is running");
	assert_int_equal(data(&w, true, 1), 0);
	assert_int_equal(
		head(&w, true, 2, BRIDGE_INSTALL, BRIDGE_REQUEST_MAX + 1), 0);
	refused(&w, 0, "too long");
	assert_int_equal(data(&w, true, FRAME_PIECE), 0);
	assert_int_equal(data(&w, true, 1), 0);
	request(&w, 3);
	assert_int_equal(head(&w, true, 4, BRIDGE_INSTALL, 1), 0);
	refused(&w, 0, "being installed already");
	assert_int_equal(w.bridge.request_id, 3);
}

static void
answer_waits_for_the_rest_of_a_reply(void **state)
{
	own(world) struct world w = opened();
	size_t before;

	(void)state;
	call(&w, 1);
	request(&w, 2);
	assert_int_equal(head(&w, false, 1, "ok", 2), 0);
	assert_int_equal(data(&w, false, 1), 0);
	before = w.jail.out.len;
	assert_int_equal(
		bridge_send_progress(&w.bridge, &w.jail, "line", &w.err), 0);
	assert_int_equal(
		bridge_answer(&w.bridge, &w.jail, "ok", "done", &w.err), 0);
	assert_int_equal(w.jail.out.len, before);
	assert_int_equal(data(&w, false, 1), 0);
	assert_true(jail_was_sent(&w, "done"));
	assert_int_equal(w.bridge.pending_count, 0);
}

static void
answers_that_are_not_read_end_the_calls(void **state)
{
	own(world) struct world w = opened();
	uint64_t id = 0;
	int done = 0;

	(void)state;
	while (done == 0 && ++id < 100000) {
		done = head(&w, true, id, BRIDGE_INSTALL, 1);
		if (done == 0)
			done = data(&w, true, 1);
		if (done == 0)
			done = bridge_answer(&w.bridge, &w.jail, "error", "no",
					     &w.err);
	}
	assert_true(id < 1000);
	assert_non_null(strstr(w.err.message, "not read"));
}

static void
tools_are_sent_once(void **state)
{
	own(world) struct world w = opened();
	size_t once;

	(void)state;
	assert_int_equal(bridge_send_tools(&w.bridge, &limits, &w.jail, &w.err),
			 0);
	once = w.jail.out.len;
	assert_non_null(
		memmem(w.jail.out.data, once, "concurrency\0002\0tool", 18));
	assert_int_equal(bridge_send_tools(&w.bridge, &limits, &w.jail, &w.err),
			 0);
	assert_int_equal(w.jail.out.len, once);
	/* A new list of tools is sent again. */
	assert_int_equal(bridge_set_tools(&w.bridge, "tool\0y\0", 7, &w.err),
			 0);
	assert_int_equal(bridge_send_tools(&w.bridge, &limits, &w.jail, &w.err),
			 0);
	assert_true(w.jail.out.len > once);
	assert_int_equal(bridge_set_tools(&w.bridge, "tool", 4, &w.err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_is_forwarded_and_waits_for_one_reply),
		cmocka_unit_test(call_numbers_must_be_consecutive),
		cmocka_unit_test(malformed_frames_break_the_protocol),
		cmocka_unit_test(call_beyond_a_limit_is_refused),
		cmocka_unit_test(result_that_is_too_long_becomes_an_error),
		cmocka_unit_test(replies_without_a_waiting_call_are_dropped),
		cmocka_unit_test(code_that_does_not_read_replies_is_cut_off),
		cmocka_unit_test(unread_refusals_end_the_calls),
		cmocka_unit_test(run_without_tools_cannot_call),
		cmocka_unit_test(
			request_for_packages_is_kept_and_needs_no_tools),
		cmocka_unit_test(requests_beyond_a_limit_are_refused),
		cmocka_unit_test(answer_waits_for_the_rest_of_a_reply),
		cmocka_unit_test(answers_that_are_not_read_end_the_calls),
		cmocka_unit_test(tools_are_sent_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
