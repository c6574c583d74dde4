/*
 * session_cell: from one cell of a session to the next, and what is between
 * them: an idle jail, a lost one, a fresh one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "record.h"
#include "result.h"
#include "session_part.h"

#define RESET_REMEDY "Reset the session: it gets a fresh jail."
/* More than a pipe can hold (pipe(7)). */
#define STDIN_LEFT_MAX (2 << 20)

bool
session_is_open(const struct session *s)
{
	return s->open_id[0] != '\0';
}

bool
session_rests(const struct session *s)
{
	return s->state == SESSION_IDLE || s->saving;
}

/* ---- opening ---- */

/* A run's pool is no session's: the policy is read again from its key. */
static int
leave_pool(struct session *s, struct remit_error *err)
{
	struct pool *p = s->pool;

	if (!p)
		return 0;
	if (policy_init(&s->policy) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	s->pool = NULL;
	if (policy_parse(&s->policy, p->key, strlen(p->key), "policy", err) < 0)
		return -1;
	pool_drop(p);
	return 0;
}

static void
enqueue(struct session *s)
{
	s->asked_us = loop_now_us();
	s->state = SESSION_WAITING;
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
		if (!strcmp(r.key, "artifacts"))
			s->wants_artifacts = true;
		else if (!strcmp(r.key, "forkable"))
			s->forkable = true;
		else if (!strcmp(r.key, "tenant")) {
			if (session_set_tenant(s, r.value, err) < 0)
				return -1;
		} else if (strcmp(r.key, "secrets") != 0)
			return fail(err, REMIT_E_PROTOCOL,
				    "a session has no \"%.40s\"", r.key);
		else if (secrets_read(&s->secrets, s->door.passed, err) < 0)
			return -1;
	}
	own_fd_close(&s->door.passed);
	s->door.passed = -1;
	if (s->has_job || s->started)
		return fail(err, REMIT_E_PROTOCOL, "a job before the session");
	if (leave_pool(s, err) < 0)
		return -1;
	if (keeper_open_session(s->keeper) < 0)
		return fail(err, REMIT_E_BUSY,
			    "%d sessions are open already, as many as may be",
			    KEEPER_SESSIONS_MAX);
	session_make_id(s->open_id);
	enqueue(s);
	return 0;
}

/* Writers come and go with cells; a reader of ours keeps the pipe. */
static int
keep_stdin(struct session *s, struct remit_error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->inmate->in);
	s->stdin_pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (s->stdin_pipe < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	own_fd_close(&s->inmate->in);
	s->inmate->in = -1;
	return 0;
}

int
session_open_stdin(struct session *s, struct remit_error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->stdin_pipe);
	s->input.fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return s->input.fd < 0 ? fail_sys(err, REMIT_E_KERNEL, "open %s", path)
			       : 0;
}

void
session_tell_opened(struct session *s)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_OPENED].max);
	struct remit_error err;

	if (keep_stdin(s, &err) < 0) {
		session_give_up(s, &err);
		return;
	}
	s->since = stamp_now();
	s->opened = true;
	if (record_add(&records, "id", s->open_id) < 0 ||
	    record_add(&records, "start", s->was_warm ? "warm" : "cold") < 0 ||
	    link_send(&s->door, FRAME_OPENED, records.data, records.len, &err) <
		    0) {
		s->door_gone = true; /* no memory */
		keeper_remove(s->keeper, s);
		return;
	}
	keeper_note_latency(s->keeper, s->asked_us);
	session_end_fork(s);
	session_rest(s);
}

/* ---- between cells ---- */

/* What the cell did not read is not the next one's. */
static void
empty_stdin(struct session *s)
{
	char piece[FRAME_PIECE];
	size_t left = STDIN_LEFT_MAX;
	ssize_t n;

	loop_remove(&s->keeper->loop, &s->on_in);
	feed_free(&s->input);
	s->input = (struct feed)FEED_INIT;
	while (s->stdin_pipe >= 0 && left &&
	       (n = read(s->stdin_pipe, piece, sizeof(piece))) > 0)
		left -= (size_t)n < left ? (size_t)n : left;
}

static void
forget_cell(struct session *s)
{
	empty_stdin(s);
	/* What is not complete comes again. */
	s->cells -= s->claim.incomplete;
	if (!s->facts.closed) /* a commit is no cell */
		s->was_stirred = s->facts.interrupted || s->facts.timed_out ||
				 s->facts.over_cpu;
	s->facts = (struct facts){ .cpu_limit_ms = s->facts.cpu_limit_ms };
	s->exit = (struct exit_report){ 0 };
	s->used = (struct cgroup_usage){ 0 };
	s->failed = false;
	s->started = s->has_job = s->interactive = s->overdue = false;
	s->timeout_ms = 0;
	s->was_audited = false;
	s->code_sha256[0] = '\0';
	s->code_bytes = s->began_us = s->ended_us = 0;
	s->was_committed = false;
	s->changes.len = 0;
	session_rest_tools(s);
	claim_free(&s->claim);
	session_forget_displays(s);
	denials_free(&s->denials);
	inputs_free(&s->files);
	s->files = (struct inputs)INPUTS_INIT;
	list_free(&s->argv);
	buf_free(&s->code);
	free(s->name);
	s->name = NULL;
	free(s->context);
	s->context = NULL;
	s->fresh = false;
	list_free(&s->env);
	free(s->network);
	s->network = NULL;
	session_forget_files(s);
	session_make_id(s->id);
}

void
session_rest(struct session *s)
{
	if (s->loss.code)
		session_part(s);
	forget_cell(s);
	s->state = SESSION_IDLE;
	s->output_us = 0;
	s->deadline_us = 0;
	if (s->inmate) {
		loop_want(&s->keeper->loop, &s->inmate->on_out, 0);
		loop_want(&s->keeper->loop, &s->inmate->on_err, 0);
		session_set_idle(s);
	}
	keeper_ended(s->keeper, s);
	session_flush_door(s);
	if (s->door_gone)
		keeper_remove(s->keeper, s);
}

static void
note_loss(struct session *s, const char *why)
{
	if (s->loss.code)
		return;
	fail(&s->loss, REMIT_E_REFUSED,
	     "the session has ended, and its variables are gone: %s", why);
	snprintf(s->loss.remedy, sizeof(s->loss.remedy), RESET_REMEDY);
}

void
session_lose(struct session *s, const struct remit_error *why)
{
	note_loss(s, why->message);
	s->cpu_check_us = 0;
	session_part(s);
	session_lose_file(s);
	/* A commit that is under way has a process and a deadline of its own.
	 */
	if (s->saving)
		session_commit_wait(s);
}

void
session_note_loss(struct session *s)
{
	char why[80];

	if (s->closing)
		return;
	snprintf(why, sizeof(why), "its jail was ended in cell %u (%s)",
		 s->cells, statuses[result_status(s)].name);
	note_loss(s, why);
}

/* It may be on its way out, and its end says more than we can. */
void
session_lose_channel(struct session *s)
{
	struct remit_error why;

	if (session_rests(s)) {
		fail(&why, REMIT_E_GONE, "the code has closed its channel");
		session_lose(s, &why);
		return;
	}
	if (s->state == SESSION_RUNNING || s->state == SESSION_CHECKING)
		session_hasten(s);
}

/* ---- the next one ---- */

void
session_begin_cell(struct session *s)
{
	struct remit_error err;

	if (s->loss.code && !s->failed) {
		s->error = s->loss;
		s->failed = true;
	}
	if (!s->failed && inputs_check(&s->files, &s->pool->plan, &err) < 0) {
		s->error = err;
		s->failed = true;
	}
	if (!s->failed && clerk_check(&s->keeper->clerk, &err) < 0) {
		s->error = err;
		s->failed = true;
	}
	if (s->failed) {
		session_answer(s);
		return;
	}
	s->cells++;
	link_next_cell(&s->inmate->jail.channel);
	s->cpu_before_us = session_cpu_us(s);
	jail_sample(&s->inmate->jail, &s->exit);
	s->own_cpu_before_us = s->exit.cpu_us;
	session_renew_captures(s);
	session_start(s);
	/* Asked for while it waited for its turn. */
	if (s->facts.interrupted && s->state == SESSION_RUNNING)
		jail_interrupt(&s->inmate->jail);
}

int
session_reset(struct session *s, struct remit_error *err)
{
	if (!s->opened || s->state != SESSION_IDLE || s->has_job)
		return fail(err, REMIT_E_PROTOCOL, "a reset in a cell");
	session_part(s);
	own_fd_close(&s->stdin_pipe);
	s->stdin_pipe = -1;
	s->loss = (struct remit_error){ 0 };
	free(s->network_before);
	s->network_before = NULL;
	s->cpu_check_us = 0;
	s->known.len = 0;
	bridge_reset(&s->bridge);
	s->branch_of[0] = '\0';
	enqueue(s);
	return 0;
}

void
session_close(struct session *s)
{
	s->closing = s->started = true;
	s->facts.closed = true;
	s->input.ended = true;
	s->asked_us = loop_now_us();
	if (s->loss.code) {
		session_answer(s);
		return;
	}
	/* It has its jail: no need to wait for room. */
	session_begin_cell(s);
}
