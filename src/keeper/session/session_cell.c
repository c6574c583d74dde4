/*
 * session_cell: the sequence of cells in a session, and what happens between
 * them: an idle jail, a lost one, a fresh one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "keeper/output/result.h"
#include "keeper/session/part.h"
#include "wire/record.h"

#define RESET_REMEDY "Reset the session to get a fresh jail."
/* How much old input is discarded at most: more than a pipe can contain
   (pipe(7)). */
#define STDIN_DRAIN_MAX (2 << 20)

bool
session_has_cells(const struct session *s)
{
	return s->open_id[0] != '\0';
}

bool
session_is_opened(const struct session *s)
{
	return s->life == LIFE_OPEN || s->life == LIFE_CLOSING;
}

bool
session_is_between_cells(const struct session *s)
{
	return session_state_is_between_cells(s->state);
}

/* ---- opening ---- */

/* Sessions do not share pools with runs: parse the policy again from the pool's
   key. */
static int
leave_run_pool(struct session *s, struct remit_error *err)
{
	struct pool *p = s->pool;

	if (!p)
		return 0;
	if (policy_init(&s->policy) < 0)
		return fail_memory(err, "policy");
	s->pool = NULL;
	if (policy_parse(&s->policy, p->key, strlen(p->key), "policy", err) < 0)
		return -1;
	pool_unref(p);
	return 0;
}

void
session_enqueue(struct session *s)
{
	s->requested_us = loop_now_us();
	if (session_enter(s, SESSION_WAITING) < 0)
		return;
	/* The idle time no longer counts. */
	s->clock.deadline_us = 0;
	keeper_enqueue(s->keeper, s);
}

int
session_open(struct session *s, const struct frame *f, struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		int failed = 0;

		if (!strcmp(r.key, "artifacts"))
			s->options |= SESSION_OPTION_ARTIFACTS;
		else if (!strcmp(r.key, "forkable"))
			s->options |= SESSION_OPTION_FORKABLE;
		else if (!strcmp(r.key, "tenant"))
			failed = cell_set_tenant(&s->cell, r.value, err);
		else if (!strcmp(r.key, "secrets"))
			failed = secrets_read(&s->secrets, s->client.passed_fd,
					      err);
		else
			failed = fail(err, REMIT_E_PROTOCOL,
				      "unknown member \"%.40s\" in a request "
				      "for a session",
				      r.key);
		if (failed)
			return -1;
	}
	own_fd_close(&s->client.passed_fd);
	s->client.passed_fd = -1;
	if (s->cell.arrival != CELL_ABSENT)
		return fail(err, REMIT_E_PROTOCOL,
			    "a job before the session is open");
	if (leave_run_pool(s, err) < 0)
		return -1;
	if (keeper_reserve_session(s->keeper) < 0)
		return fail(err, REMIT_E_BUSY,
			    "too many open sessions (limit %d)",
			    KEEPER_SESSIONS_MAX);
	cell_make_id(s->open_id);
	s->life = LIFE_OPENING;
	session_enqueue(s);
	return 0;
}

/* Writers come and go with the cells, so the keeper keeps a reader to keep the
   pipe open. */
static int
open_stdin_reader(struct session *s, struct remit_error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->worker->in);
	s->stdin_pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (s->stdin_pipe < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	own_fd_close(&s->worker->in);
	s->worker->in = -1;
	return 0;
}

int
session_open_stdin(struct session *s, struct remit_error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->stdin_pipe);
	s->cell.input.fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return s->cell.input.fd < 0
		       ? fail_sys(err, REMIT_E_KERNEL, "open %s", path)
		       : 0;
}

void
session_send_opened(struct session *s)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_OPENED].max);
	struct remit_error err;

	if (open_stdin_reader(s, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	s->committer.since = ctime_mark_now();
	s->life = LIFE_OPEN;
	if (record_add(&records, "id", s->open_id) < 0 ||
	    record_add(&records, "start",
		       s->worker->jail.warm ? "warm" : "cold") < 0 ||
	    link_send(&s->client, FRAME_OPENED, records.data, records.len,
		      &err) < 0) {
		s->client_gone = true; /* memory is short */
		session_remove(s);
		return;
	}
	keeper_note_latency(s->keeper, s->requested_us);
	session_end_fork(s);
	if (session_enter(s, SESSION_IDLE) == 0)
		session_go_idle(s);
}

/* ---- between cells ---- */

/* Discards input that the cell did not read: it is not meant for the next
   one. */
static void
drain_stdin(struct session *s)
{
	char piece[FRAME_PIECE];
	size_t left = STDIN_DRAIN_MAX;
	ssize_t n;

	loop_remove(&s->keeper->loop, &s->on_in);
	while (s->stdin_pipe >= 0 && left &&
	       (n = read(s->stdin_pipe, piece, sizeof(piece))) > 0)
		left -= (size_t)n < left ? (size_t)n : left;
}

/* Resets the cell, except for what belongs to the jail: processor time used
   before counts neither for the next cell nor for threads that this one left
   running. */
static void
reset_cell(struct session *s)
{
	char *tenant = take_ptr(&s->cell.tenant);
	uint64_t cpu_before_us = s->cell.cpu_before_us;
	bool stirred = s->cell.stirred;

	drain_stdin(s);
	/* An incomplete cell is sent again under the same number. */
	s->cells -= s->cell.claim.incomplete;
	if (!s->cell.facts.closed) /* a commit is not a cell */
		stirred = s->cell.facts.interrupted ||
			  s->cell.facts.timed_out || s->cell.facts.over_cpu;
	session_reset_tools(s);
	cell_free(&s->cell);
	s->cell = (struct cell)CELL_INIT;
	cell_make_id(s->cell.id);
	s->cell.tenant = tenant;
	s->cell.stirred = stirred;
	s->cell.cpu_before_us = cpu_before_us;
	s->cell.facts.cpu_limit_ms = session_cpu_limit_ms(s);
	/* The rest of an unfinished display does not belong to the next
	   cell. */
	s->display.dropped = true;
	s->clock.output_us = s->clock.deadline_us = 0;
	s->clock.cut_short = false;
}

void
session_go_idle(struct session *s)
{
	if (s->loss.code)
		session_detach_worker(s);
	reset_cell(s);
	if (s->worker) {
		loop_want(&s->keeper->loop, &s->worker->on_out, 0);
		loop_want(&s->keeper->loop, &s->worker->on_err, 0);
		session_start_idle_timer(s);
	}
	keeper_session_ended(s->keeper, s);
	session_flush_client(s);
	if (s->client_gone)
		session_remove(s);
}

static void
record_loss(struct session *s, const char *why)
{
	if (s->loss.code)
		return;
	fail(&s->loss, REMIT_E_REFUSED,
	     "the session has ended and its variables are lost: %s", why);
	snprintf(s->loss.remedy, sizeof(s->loss.remedy), RESET_REMEDY);
}

void
session_lose_jail(struct session *s, const struct remit_error *why)
{
	record_loss(s, why->message);
	s->clock.cpu_check_us = 0;
	session_detach_worker(s);
	if (s->state == SESSION_FILING)
		session_abandon_file(s, why->code == REMIT_E_BUSY);
	/* A commit in progress has its own process and deadline. */
	if (s->state == SESSION_SAVING)
		session_start_commit_timer(s);
}

void
session_fail_between_cells(struct session *s)
{
	if (s->life != LIFE_BROKEN) {
		session_lose_jail(s, &s->queue.trouble);
		return;
	}
	s->cell.error = s->queue.trouble;
	session_answer(s);
}

void
session_note_loss(struct session *s)
{
	char why[80];

	if (s->life == LIFE_CLOSING)
		return;
	snprintf(why, sizeof(why), "its jail ended in cell %u (%s)", s->cells,
		 statuses[result_status(s)].name);
	record_loss(s, why);
}

/* ---- the next one ---- */

/* Returns -1 if the cell must not run. */
static int
check_cell(const struct session *s, struct remit_error *err)
{
	if (cell_has_failed(&s->cell)) {
		*err = s->cell.error;
		return -1;
	}
	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	if (inputs_check(&s->cell.files, &s->pool->plan, err) < 0)
		return -1;
	return audit_writer_check(&s->keeper->audit_writer, err);
}

void
session_begin_cell(struct session *s)
{
	struct remit_error err;

	if (check_cell(s, &err) < 0) {
		session_refuse_cell(s, &err);
		return;
	}
	s->cells++;
	link_next_cell(&s->worker->jail.channel);
	s->cell.cpu_before_us = session_cpu_us(s);
	jail_sample(&s->worker->jail, &s->cell.exit);
	s->cell.own_cpu_before_us = s->cell.exit.cpu_us;
	session_reset_captures(s);
	session_start(s);
	/* The interrupt came while the cell waited for its turn. */
	if (s->cell.facts.interrupted && s->state == SESSION_RUNNING)
		jail_interrupt(&s->worker->jail);
}

int
session_reset(struct session *s, const struct frame *f, struct remit_error *err)
{
	(void)f;
	if (!session_is_opened(s) || s->cell.arrival != CELL_ABSENT)
		return fail(err, REMIT_E_PROTOCOL, "a reset during a cell");
	session_detach_worker(s);
	own_fd_close(&s->stdin_pipe);
	s->stdin_pipe = -1;
	s->loss = (struct remit_error){ 0 };
	free(s->network.before);
	s->network.before = NULL;
	s->clock.cpu_check_us = 0;
	s->committer.prior.len = 0;
	bridge_reset(&s->bridge);
	s->branch_of[0] = '\0';
	session_enqueue(s);
	return 0;
}

int
session_close(struct session *s, const struct frame *f, struct remit_error *err)
{
	(void)f;
	(void)err;
	s->life = LIFE_CLOSING;
	s->cell.arrival = CELL_COMPLETE;
	s->cell.facts.closed = true;
	s->cell.input.ended = true;
	s->requested_us = loop_now_us();
	if (s->loss.code)
		session_answer(s); /* it has no code to run, and ends well */
	else /* its jail is already counted: it need not wait */
		session_begin_cell(s);
	return 0;
}
