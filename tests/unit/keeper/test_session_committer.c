/*
 * session_committer: its report is used completely or not at all, whatever
 * happens to the process. test_commit.c covers what a commit writes.
 */
#include "keeper/session/committer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "wire/record.h"

struct world {
	struct loop loop;
	struct committer committer;
	struct buf changes;
	bool is_over;
};

static void
on_report(void *owner, uint32_t events)
{
	struct world *w = owner;

	(void)events;
	w->is_over = committer_read(&w->committer);
	w->loop.stop = w->is_over;
}

static void
open_world(struct world *w)
{
	struct remit_error err;

	*w = (struct world){ .committer = COMMITTER_INIT,
			     .changes = BUF_INIT(2 << 20) };
	assert_int_equal(loop_open(&w->loop, &err), 0);
}

static void
close_world(struct world *w)
{
	committer_free(&w->committer, &w->loop);
	buf_free(&w->changes);
	loop_free(&w->loop);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* Starts it with a plan without writable directories; `stopped` as in
   committer_start(). */
static void
start(struct world *w, pid_t stopped)
{
	static const struct policy policy = { 0 };
	static const struct buf prior = { 0 };
	static const struct plan plan = { .policy = &policy };
	struct commit_params o = {
		.plan = &plan,
		.runtime_dir = "/nowhere",
		.prior = &prior,
	};
	struct remit_error err;

	if (committer_start(&w->committer, &w->loop, &o, stopped, on_report, w,
			    &err) < 0)
		fail_msg("%s", err.message);
}

static void
finish(struct world *w)
{
	struct remit_error err;

	if (loop_run(&w->loop, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(w->is_over);
	assert_int_equal(
		committer_finish(&w->committer, &w->loop, &w->changes, &err),
		0);
	assert_int_equal(w->committer.process, -1);
	assert_int_equal(w->committer.report, -1);
}

/* Returns a list of the report, or "". */
static const char *
list_of(const struct world *w, const char *name)
{
	const struct buf *b = &w->changes;
	struct record r;
	size_t at = 0;

	while (record_next(buf_text(b), b->len, &at, &r))
		if (!strcmp(r.key, name))
			return r.value;
	return "";
}

static void
complete_report_gives_the_changes(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	start(&w, 0);
	finish(&w);
	assert_string_equal(list_of(&w, "changes"), "[]");
	assert_string_equal(list_of(&w, "changes_skipped"), "[]");
	/* The same session commits again. */
	w.loop.stop = w.is_over = false;
	start(&w, 0);
	finish(&w);
	assert_string_equal(list_of(&w, "changes"), "[]");
	assert_string_equal(list_of(&w, "changes_skipped"), "[]");
	close_world(&w);
}

/* The committer waits until this process stops, which never happens. */
static void
killed_process_is_reported(void **state)
{
	struct world w;

	(void)state;
	for (int late = 0; late < 2; late++) {
		open_world(&w);
		start(&w, getpid());
		committer_stop(&w.committer);
		w.committer.is_late = late;
		finish(&w);
		assert_non_null(strstr(list_of(&w, "changes_skipped"),
				       late ? "commit" : "was killed"));
		assert_int_equal(w.committer.prior.len, 0);
		close_world(&w);
	}
}

static void
incomplete_report_is_discarded(void **state)
{
	static const char whole[] = "\2\0\0\0knchanges\0[]\0\n";

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		struct remit_error err;
		struct world w;

		open_world(&w);
		assert_int_equal(buf_add(&w.committer.text, whole, len), 0);
		assert_int_equal(committer_finish(&w.committer, &w.loop,
						  &w.changes, &err),
				 0);
		if (len == sizeof(whole) - 1)
			assert_string_equal(list_of(&w, "changes"), "[]");
		else
			assert_non_null(strstr(list_of(&w, "changes_skipped"),
					       "not all written"));
		assert_int_equal(w.committer.prior.len,
				 len == sizeof(whole) - 1 ? 2 : 0);
		close_world(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_report_gives_the_changes),
		cmocka_unit_test(killed_process_is_reported),
		cmocka_unit_test(incomplete_report_is_discarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
