/*
 * session: every event in every state of a session, with a fake jail, a real
 * client's socket and the real loop; then each again with an allocation that
 * fails. The export and the commit are faked here: they end when the test says
 * so.
 */
#include "keeper/session/session.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fake_jail.h"
#include "keeper/output/export.h"
#include "keeper/output/result.h"
#include "keeper/pool/pool.h"
#include "keeper/session/part.h"
#include "keeper_world.h"

/* cmocka defines fail() as a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

/* ---- what leaves a jail ---- */

static bool export_is_over;
static unsigned committer_stops;

int
export_open(struct export *h, const struct plan *plan, int workspace,
	    struct remit_error *err)
{
	(void)err;
	h->plan = plan;
	own_fd_close(&workspace);
	return 0;
}

int
export_step(struct export *h, struct link *client, struct remit_error *err)
{
	(void)client;
	(void)err;
	h->over = export_is_over;
	return 0;
}

int
export_stop(struct export *h, struct remit_error *err)
{
	(void)err;
	h->over = true;
	return 0;
}

int
export_write_skipped(const struct export *h, struct buf *out)
{
	(void)h;
	return buf_add(out, "[]", 2);
}

void
export_free(struct export *h)
{
	buf_free(&h->skipped);
	buf_free(&h->given);
}

int
committer_start(struct committer *c, struct loop *l,
		const struct commit_params *o, pid_t stopped,
		void (*readable)(void *owner, uint32_t events), void *owner,
		struct remit_error *err)
{
	(void)c;
	(void)l;
	(void)o;
	(void)stopped;
	(void)readable;
	(void)owner;
	(void)err;
	return 0;
}

bool
committer_read(struct committer *c)
{
	(void)c;
	return true;
}

int
committer_finish(struct committer *c, struct loop *l, struct buf *changes,
		 struct remit_error *err)
{
	static const char none[] = "changes\0[]\0changes_skipped\0[]";

	(void)c;
	(void)l;
	return buf_add(changes, none, sizeof(none)) < 0
		       ? fail_with(err, REMIT_E_MEMORY, "changes")
		       : 0;
}

void
committer_stop(struct committer *c)
{
	(void)c;
	committer_stops++;
}

void
committer_free(struct committer *c, struct loop *l)
{
	(void)l;
	buf_free(&c->prior);
}

/* ---- how a session gets into each state ---- */

static const char job[] = "name\0x\0once\0yes";
static const char cell[] = "name\0x";
static const char checked_policy[] = "{\"blocked_imports\": [\"os\"]}";

static void
to_reading(struct world *w)
{
	send_as_client(w, FRAME_JOB, job, sizeof(job));
	SEND_AS_CLIENT(w, FRAME_CODE, "pass");
	settle(w);
}

static void
to_waiting(struct world *w)
{
	to_reading(w);
	w->keeper->running = KEEPER_RUNNING_MAX;
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
	w->keeper->running = 0;
	/* All slots are in use, so the session stays in the queue. */
	w->keeper->worker_count += KEEPER_WORKERS_MAX;
}

static void
to_seeking(struct world *w)
{
	to_reading(w);
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
}

static void
to_running(struct world *w)
{
	to_seeking(w);
	ready(w);
}

static void
to_checking(struct world *w)
{
	SEND_AS_CLIENT(w, FRAME_POLICY, checked_policy);
	to_running(w);
}

static void
to_idle(struct world *w)
{
	SEND_AS_CLIENT(w, FRAME_OPEN, "");
	settle(w);
	ready(w);
	send_as_code(w, FRAME_WARM, "", 0);
	settle(w);
}

static void
to_filing(struct world *w)
{
	static const char task[] = "do\0read\0length\0009";

	to_idle(w);
	send_as_client(w, FRAME_FILE_TASK, task, sizeof(task));
	settle(w);
}

static void
to_saving(struct world *w)
{
	to_idle(w);
	w->session->pool->plan.write_roots = 1;
	SEND_AS_CLIENT(w, FRAME_COMMIT, "");
	settle(w);
}

static void
to_dying(struct world *w)
{
	to_running(w);
	session_post(w->session, SESSION_OVER_CEILING);
	settle(w);
}

static void
reap(struct world *w)
{
	struct fake_jail *f = jail_of(w);
	struct exit_report end = { .wait_status = SIGKILL };

	if (f)
		assert_true(worker_reaped(w->session->worker, f->init, &end));
}

static void
to_committing(struct world *w)
{
	to_dying(w);
	w->session->pool->plan.write_roots = 1;
	reap(w);
	settle(w);
}

static void
to_exporting(struct world *w)
{
	to_dying(w);
	w->session->pool->plan.exports = true;
	w->session->options |= SESSION_OPTION_ARTIFACTS;
	w->session->worker->jail.export = dup(2);
	reap(w);
	settle(w);
}

/* Ends a session whose output has filled the client's socket. */
static void
to_done(struct world *w)
{
	static const char output[4096];

	to_running(w);
	assert_int_equal(write(jail_of(w)->out, output, sizeof(output)),
			 sizeof(output));
	send_as_code(w, FRAME_ENDED, "kind\0ok\0exit\0000", 15);
	settle(w);
}

/* A cell of an open session, in both of its states. */
static void
to_cell_waiting(struct world *w)
{
	to_idle(w);
	send_as_client(w, FRAME_JOB, cell, sizeof(cell));
	w->keeper->running = KEEPER_RUNNING_MAX;
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
	w->keeper->running = 0;
	w->keeper->worker_count += KEEPER_WORKERS_MAX;
}

static void
to_cell_running(struct world *w)
{
	to_idle(w);
	send_as_client(w, FRAME_JOB, cell, sizeof(cell));
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
}

static void
to_cell_dying(struct world *w)
{
	to_cell_running(w);
	session_post(w->session, SESSION_OVER_CEILING);
	settle(w);
}

static void
to_closing(struct world *w)
{
	to_idle(w);
	SEND_AS_CLIENT(w, FRAME_CLOSE, "");
	settle(w);
}

/* ---- what may happen ---- */

static void
client_leaves(struct world *w)
{
	read_client(w);
	own_fd_close(&w->client);
	w->client = -1;
}

/* Only a keeper may send a result. */
static void
client_breaks(struct world *w)
{
	SEND_AS_CLIENT(w, FRAME_RESULT, "{}");
}

static void
client_interrupts(struct world *w)
{
	SEND_AS_CLIENT(w, FRAME_INTERRUPT, "");
}

static void
client_listens(struct world *w)
{
	read_client(w);
}

static void
jail_dies(struct world *w)
{
	reap(w);
}

static void
code_ends(struct world *w)
{
	struct fake_jail *f = jail_of(w);
	struct exit_report end = { .wait_status = 0, .pid = 2 };

	if (f)
		fake_send(f->lifeline, FRAME_EXITED, &end, sizeof(end));
}

static void
channel_closes(struct world *w)
{
	struct fake_jail *f = jail_of(w);

	if (!f)
		return;
	own_fd_close(&f->channel);
	f->channel = -1;
}

/* A jail may not send lock_params. */
static void
channel_breaks(struct world *w)
{
	send_as_code(w, FRAME_LOCK_PARAMS, "x", 1);
}

static void
code_reports_end(struct world *w)
{
	send_as_code(w, FRAME_ENDED, "kind\0ok\0exit\0000", 15);
}

static void
deadline_strikes(struct world *w)
{
	if (!is_alive(w))
		return;
	w->session->clock.deadline_us = 1;
	loop_set_timer(&w->keeper->loop, &w->session->timer, 1);
}

static void
something_fails(struct world *w)
{
	struct remit_error err;

	fail_with(&err, REMIT_E_KERNEL, "something failed");
	if (is_alive(w))
		session_fail(w->session, &err);
}

static void
output_is_over(struct world *w)
{
	if (is_alive(w))
		session_post(w->session, SESSION_OVER_CEILING);
}

static void
committer_ends(struct world *w)
{
	if (is_alive(w))
		session_post(w->session, SESSION_COMMITTED);
}

static void
keeper_is_busy(struct world *w)
{
	if (is_alive(w))
		session_post(w->session, SESSION_BUSY);
}

static void
export_ends(struct world *w)
{
	export_is_over = true;
	(void)w;
}

static const struct {
	const char *name;
	void (*happens)(struct world *w);
} events[] = {
	{ "the client leaves", client_leaves },
	{ "the client breaks the protocol", client_breaks },
	{ "the client interrupts", client_interrupts },
	{ "the client reads all", client_listens },
	{ "the jail dies", jail_dies },
	{ "the code ends", code_ends },
	{ "the channel closes", channel_closes },
	{ "the code breaks the protocol", channel_breaks },
	{ "the code says it is done", code_reports_end },
	{ "the deadline strikes", deadline_strikes },
	{ "something fails", something_fails },
	{ "the output is over its ceiling", output_is_over },
	{ "the committer ends", committer_ends },
	{ "the keeper is busy", keeper_is_busy },
	{ "the export ends", export_ends },
};

#define EVENTS ARRAY_LEN(events)

/* A letter for each state; '.' if the session is gone. */
static const char letters[SESSION_STATES + 1] = "rwsifvcxdmeD";

/* A letter for each event above: the state that it leads to. */
static const struct {
	const char *name;
	void (*reach)(struct world *w);
	enum session_state state;
	const char *expected;
} starts[] = {
	{ "reading", to_reading, SESSION_READING, "...rrrrrrr.rrrr" },
	{ "waiting", to_waiting, SESSION_WAITING, "...wwwwwww..w.w" },
	{ "seeking", to_seeking, SESSION_SEEKING, "ddds.dsddsddsss" },
	{ "idle", to_idle, SESSION_IDLE, ".Diiiiiiiiiiiii" },
	{ "filing", to_filing, SESSION_FILING, ".Dffiiiiiiiffff" },
	{ "saving", to_saving, SESSION_SAVING, "vvvvvvvvvvvvivv" },
	{ "checking", to_checking, SESSION_CHECKING, "dddc.dcdddddccc" },
	{ "running", to_running, SESSION_RUNNING, "ddxx.dxx.dddxxx" },
	{ "dying", to_dying, SESSION_DYING, "dddd.dddddddddd" },
	{ "committing", to_committing, SESSION_COMMITTING, "mmmmmmmmmmmm.mm" },
	{ "exporting", to_exporting, SESSION_EXPORTING, ".eeeeeeee.eeee." },
	{ "done", to_done, SESSION_DONE, ".DD.DDDDDDDDDDD" },
	{ "a cell waiting", to_cell_waiting, SESSION_WAITING,
	  "ddwwidwddwddwiw" },
	{ "a cell running", to_cell_running, SESSION_RUNNING,
	  "ddxxidxxixddxxx" },
	{ "a cell dying", to_cell_dying, SESSION_DYING, "ddddidddddddddd" },
	{ "closing", to_closing, SESSION_RUNNING, "ddxxDdxxDdddxxx" },
};

static char
letter_of(const struct world *w)
{
	return is_alive(w) ? letters[w->session->state] : '.';
}

/* After every event the counts are right, and a waiting client was answered. */
static void
check_books(struct world *w, const char *start, const char *event)
{
	char at = letter_of(w);
	bool left = w->client < 0;

	read_client(w);
	if (w->keeper->worker_count >= KEEPER_WORKERS_MAX)
		w->keeper->worker_count -= KEEPER_WORKERS_MAX;
	if (!left && (at == '.' || at == 'D') && !w->results && !w->ended)
		fail_msg("%s, %s: the client was never answered", start, event);
	if (!left && w->results > 1)
		fail_msg("%s, %s: %u results", start, event, w->results);
	if (at == '.' &&
	    (w->keeper->running || w->keeper->open_count || w->keeper->dead))
		fail_msg("%s, %s: %zu run and %zu are open", start, event,
			 w->keeper->running, w->keeper->open_count);
}

/* In the event, `memory` allocations succeed and the next one fails. */
static char
try(size_t start, size_t event, long memory)
{
	struct world *w = world_new();
	char at;

	export_is_over = false;
	starts[start].reach(w);
	if (!is_alive(w) || w->session->state != starts[start].state)
		fail_msg("%s is not reached, but '%c'", starts[start].name,
			 letter_of(w));
	fake_memory_left = memory;
	events[event].happens(w);
	settle(w);
	fake_memory_left = -1;
	at = letter_of(w);
	check_books(w, starts[start].name, events[event].name);
	world_free(w);
	return at;
}

static void
session_events_lead_to_the_expected_state(void **state)
{
	size_t before = count_fds();
	bool failed = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		char got[EVENTS + 1] = { 0 };

		for (size_t e = 0; e < EVENTS; e++)
			got[e] = try(i, e, -1);
		if (strcmp(got, starts[i].expected) != 0) {
			print_error("%s: \"%s\", not \"%s\"\n", starts[i].name,
				    got, starts[i].expected);
			failed = true;
		}
	}
	assert_false(failed);
	assert_int_equal(count_fds(), before);
}

static void
session_events_survive_any_failed_allocation(void **state)
{
	size_t before = count_fds(), failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		for (size_t e = 0; e < EVENTS; e++)
			for (long n = 0;; n++) {
				fake_memory_failed = false;
				try(i, e, n);
				if (!fake_memory_failed)
					break;
				failures++;
			}
	/* Enough failures to prove that the hooks work. */
	assert_true(failures > 100);
	assert_int_equal(count_fds(), before);
}

/* The runner rejects the code and exits; the keeper may see its exit first. */
static void
rejection_is_read_after_the_runner_exits(void **state)
{
	struct world *w = world_new();

	(void)state;
	to_checking(w);
	assert_int_equal(w->session->state, SESSION_CHECKING);
	send_as_code(w, FRAME_CHECKED, "name\0PolicyError", 17);
	w->session->worker->end =
		(struct exit_report){ .wait_status = 1 << 8, .pid = 2 };
	session_post(w->session, SESSION_CODE_ENDED);
	settle(w);
	assert_int_equal(w->session->cell.error.code, REMIT_OK);
	assert_int_equal(result_status(w->session), STATUS_REJECTED);
	world_free(w);
}

/* Reads what the client was sent: the output, and '|' for each result. */
static void
read_output(struct world *w, char *out, size_t size)
{
	size_t n = 0;

	read_client(w);
	for (size_t at = 0; at + FRAME_HEADER <= w->len;) {
		const char *payload = w->in + at + FRAME_HEADER;
		uint32_t len;

		memcpy(&len, w->in + at, sizeof(len));
		assert_true(n + len + 1 < size ||
			    w->in[at + 4] != FRAME_STDOUT);
		if (w->in[at + 4] == FRAME_STDOUT) {
			memcpy(out + n, payload, len);
			n += len;
		} else if (w->in[at + 4] == FRAME_RESULT) {
			out[n++] = '|';
		}
		at += FRAME_HEADER + len;
	}
	out[n] = '\0';
}

static void
print(struct world *w, const char *text)
{
	assert_int_equal(write(jail_of(w)->out, text, strlen(text)),
			 (ssize_t)strlen(text));
}

/* The keeper reads both at once, in either sequence. */
static void
output_racing_the_end_of_a_cell_is_not_lost(void **state)
{
	struct world *w = world_new();
	char got[256];

	(void)state;
	to_cell_running(w);
	print(w, "late ");
	code_reports_end(w);
	settle(w);
	assert_int_equal(w->session->state, SESSION_IDLE);
	send_as_client(w, FRAME_JOB, cell, sizeof(cell));
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
	code_reports_end(w);
	print(w, "later ");
	settle(w);
	assert_int_equal(w->session->state, SESSION_IDLE);
	/* A thread continues between two cells. */
	print(w, "between ");
	settle(w);
	send_as_client(w, FRAME_JOB, cell, sizeof(cell));
	SEND_AS_CLIENT(w, FRAME_START, "");
	settle(w);
	print(w, "last ");
	settle(w);
	code_reports_end(w);
	settle(w);
	read_output(w, got, sizeof(got));
	assert_string_equal(got, "late |later |between last |");
	world_free(w);
}

/* Used by this cell, which is over, and by an earlier one. */
static void
processor_time_is_counted_per_cell(void **state)
{
	const uint64_t most = 29 * 1000000ull; /* of the 30 s of cpu_seconds */
	struct world *w = world_new();

	(void)state;
	to_cell_running(w);
	for (int i = 1; i <= 3; i++) {
		jail_of(w)->cpu_us += most;
		code_reports_end(w);
		settle(w);
		assert_int_equal(w->session->state, SESSION_IDLE);
		/* Makes the clock check what the threads of the cell use. */
		w->session->clock.cpu_check_us = 1;
		loop_set_timer(&w->keeper->loop, &w->session->timer, 1);
		settle(w);
		assert_int_equal(w->session->loss.code, REMIT_OK);
		send_as_client(w, FRAME_JOB, cell, sizeof(cell));
		SEND_AS_CLIENT(w, FRAME_START, "");
		settle(w);
		assert_int_equal(w->session->state, SESSION_RUNNING);
	}
	/* Threads that the cell left running have exceeded the limit: the jail
	   is lost. */
	code_reports_end(w);
	settle(w);
	jail_of(w)->cpu_us += 2 * most;
	w->session->clock.cpu_check_us = 1;
	loop_set_timer(&w->keeper->loop, &w->session->timer, 1);
	settle(w);
	assert_int_equal(w->session->loss.code, REMIT_E_REFUSED);
	world_free(w);
}

static void
illegal_transition_aborts_in_a_test_build(void **state)
{
	struct world *w = world_new();
	int wait_status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		(void)session_enter(w->session, SESSION_COMMITTING);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_true(WIFSIGNALED(wait_status));
	assert_int_equal(WTERMSIG(wait_status), SIGABRT);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_events_lead_to_the_expected_state),
		cmocka_unit_test(session_events_survive_any_failed_allocation),
		cmocka_unit_test(rejection_is_read_after_the_runner_exits),
		cmocka_unit_test(output_racing_the_end_of_a_cell_is_not_lost),
		cmocka_unit_test(processor_time_is_counted_per_cell),
		cmocka_unit_test(illegal_transition_aborts_in_a_test_build),
	};

	world_hook_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
