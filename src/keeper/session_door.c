/*
 * session_door: what a door sends to its session, and what it is sent.
 */
#include <string.h>

#include "installed.h"
#include "instructions.h"
#include "number.h"
#include "overview.h"
#include "record.h"
#include "session_part.h"

/* A file that the jail does not take yet waits with the door. */
static bool
reads_door(const struct session *s)
{
	if (s->state >= SESSION_EXPORTING)
		return s->state == SESSION_DONE && s->stays &&
		       !link_wants_write(&s->door);
	return !s->filing.missing_bytes || !s->inmate ||
	       link_backlog(&s->inmate->jail.channel) <= DOOR_BACKLOG;
}

void
session_want_door(struct session *s)
{
	uint32_t events = reads_door(s) ? EPOLLIN : 0;

	if (link_wants_write(&s->door))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->on_door, events);
}

void
session_flush_door(struct session *s)
{
	struct remit_error err;
	uint32_t events;

	if (s->door_gone)
		return;
	if (link_flush(&s->door, &err) < 0)
		s->door_gone = true;
	session_want_door(s);
	/* A door that does not read stops the program's output, and thereby
	   the program, but not its clock. */
	events = link_backlog(&s->door) > DOOR_BACKLOG ? 0 : EPOLLIN;
	if (s->inmate && (s->state == SESSION_RUNNING || s->filing.asked))
		session_flush_channel(s);
	if (s->inmate && !s->output_us && !session_rests(s)) {
		loop_want(&s->keeper->loop, &s->inmate->on_out, events);
		loop_want(&s->keeper->loop, &s->inmate->on_err, events);
	}
}

int
session_set_tenant(struct session *s, const char *name, struct remit_error *err)
{
	free(s->tenant);
	s->tenant = strdup(name);
	return s->tenant ? 0 : fail_sys(err, REMIT_E_MEMORY, "tenant");
}

static int
take_job(struct session *s, const struct frame *f, struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	s->has_job = true;
	s->answers = false;
	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		if (!strcmp(r.key, "name")) {
			free(s->name);
			s->name = strdup(r.value);
		} else if (!strcmp(r.key, "argv")) {
			if (list_add(&s->argv, r.value) < 0)
				return fail_sys(err, REMIT_E_MEMORY, "argv");
		} else if (!strcmp(r.key, "artifacts") && !s->opened) {
			s->wants_artifacts = true;
		} else if (!strcmp(r.key, "once")) {
			s->is_once = true;
		} else if (!strcmp(r.key, "stays") && !s->opened) {
			s->may_stay = true;
		} else if (!strcmp(r.key, "questions")) {
			s->answers = true;
		} else if (!strcmp(r.key, "interactive") && s->opened) {
			s->interactive = true;
		} else if (!strcmp(r.key, "tenant")) {
			if (session_set_tenant(s, r.value, err) < 0)
				return -1;
		} else if (!strcmp(r.key, "context") && s->opened) {
			free(s->context);
			s->context = strdup(r.value);
		} else if (!strcmp(r.key, "env") && s->opened) {
			if (list_add(&s->env, r.value) < 0)
				return fail_sys(err, REMIT_E_MEMORY, "env");
		} else if (!strcmp(r.key, "fresh") && s->opened) {
			s->fresh = true;
		} else if (!strcmp(r.key, "timeout_ms")) {
			if (number_parse(&s->timeout_ms, r.value) < 0 ||
			    s->timeout_ms > UINT64_MAX / 4000)
				return fail(err, REMIT_E_PROTOCOL,
					    "timeout_ms is no time");
		} else {
			return fail(err, REMIT_E_PROTOCOL,
				    "a job has no \"%.40s\"", r.key);
		}
	}
	return 0;
}

static int
take_code(struct session *s, const struct frame *f, uint64_t max,
	  struct remit_error *err)
{
	if (s->code.len + f->len > max)
		return fail(err, REMIT_E_INPUT,
			    "the code is longer than code_bytes allows (%llu "
			    "bytes)",
			    (unsigned long long)max);
	if (buf_add(&s->code, f->payload, f->len) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "code");
	return 0;
}

void
session_flush_input(struct session *s)
{
	if (feed_flush(&s->input)) {
		/* In this order: a copy of the pipe in a jail that is just
		   being born would keep a closed descriptor in the epoll. */
		loop_remove(&s->keeper->loop, &s->on_in);
		feed_free(&s->input);
		return;
	}
	loop_want(&s->keeper->loop, &s->on_in,
		  feed_wants_write(&s->input) ? EPOLLOUT : 0);
}

void
session_on_in(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	/* An error is a reader that is gone: nothing more to write. */
	if (events & EPOLLERR && !feed_wants_write(&s->input))
		loop_remove(&s->keeper->loop, &s->on_in);
	else
		session_flush_input(s);
}

static void
interrupt(struct session *s)
{
	uint64_t grace = loop_now_us() + SESSION_GRACE_US;

	s->facts.interrupted = true;
	/* A cell that is not there yet gets it when it begins. */
	if (s->opened && s->state != SESSION_RUNNING)
		return;
	if (s->state != SESSION_RUNNING) {
		session_die(s);
		return;
	}
	jail_interrupt(&s->inmate->jail);
	/* A cell has its own deadline, and variables that would be lost. */
	if (session_is_open(s))
		return;
	if (!s->deadline_us || grace < s->deadline_us)
		s->deadline_us = grace;
	session_set_timer(s);
}

/* The default policy, as long as the door has sent none. */
static int
need_policy(struct session *s, struct remit_error *err)
{
	if (s->pool || s->policy.python || s->policy_text.len)
		return 0;
	s->pool = pool_find(s->keeper, "", 0);
	if (s->pool)
		pool_use(s->pool);
	else if (policy_init(&s->policy) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	return 0;
}

static int
take_policy(struct session *s, const struct frame *f, struct remit_error *err)
{
	/* What was asked for before need not be read again. */
	s->pool = pool_find(s->keeper, f->payload, f->len);
	if (s->pool) {
		pool_use(s->pool);
		return 0;
	}
	if (policy_init(&s->policy) < 0 ||
	    buf_add(&s->policy_text, f->payload, f->len) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	return policy_parse(&s->policy, f->payload, f->len, "policy", err);
}

/* Not a run at all: the answer is the end. */
static int
tell_status(struct session *s, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_STATUS].max);

	if (overview_write(&text, s->keeper) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "status");
	if (link_send(&s->door, FRAME_STATUS, text.data, text.len, err) < 0)
		return -1;
	s->state = SESSION_DONE;
	session_flush_door(s);
	if (s->door_gone || !link_wants_write(&s->door))
		keeper_remove(s->keeper, s);
	return 0;
}

static int
write_instructions(const struct session *s, bool session,
		   const struct list *packages, struct buf *text,
		   struct remit_error *err)
{
	own(list) struct list installed = { 0 };
	own(buf) struct buf part =
		BUF_INIT(frame_rules[FRAME_INSTRUCTIONS].max);
	struct instructions in = {
		.plan = &s->pool->plan,
		.session = session,
		.packages = packages->count ? packages
					    : &session_policy(s)->packages,
		.installed = &installed,
	};

	if (installed_list(&installed, s->pool->plan.interpreter, err) < 0)
		return -1;
	if (instructions_write(&part, &in) < 0 ||
	    record_add(text, "text", buf_text(&part)) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "instructions");
	buf_free(&part);
	if (instructions_write_tools(&part, &in) < 0 ||
	    record_add(text, "tools", buf_text(&part)) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "instructions");
	return 0;
}

/* The plan is made as for a run, and nothing runs. Nor is anything installed:
   a plan without its packages is one of another policy. */
static int
tell_instructions(struct session *s, const struct frame *f,
		  struct remit_error *err)
{
	own(buf) struct buf text =
		BUF_INIT(frame_rules[FRAME_INSTRUCTIONS].max);
	own(list) struct list packages = { 0 };
	bool session = f->len == 7;

	if (!s->pool && s->policy.packages.count) {
		packages = s->policy.packages;
		s->policy.packages = (struct list){ 0 };
		buf_free(&s->policy_text);
	}
	if (session_plan(s, session, err) < 0 ||
	    write_instructions(s, session, &packages, &text, err) < 0 ||
	    link_send(&s->door, FRAME_INSTRUCTIONS, text.data, text.len, err) <
		    0)
		return -1;
	s->state = SESSION_DONE;
	session_flush_door(s);
	if (s->door_gone || !link_wants_write(&s->door))
		keeper_remove(s->keeper, s);
	return 0;
}

/* All is there. */
static void
start(struct session *s)
{
	s->started = true;
	s->asked_us = loop_now_us();
	session_fingerprint(s);
	s->state = SESSION_WAITING;
	keeper_enqueue(s->keeper, s);
}

/* What a job is made of. */
static int
take_part(struct session *s, const struct frame *f, struct remit_error *err)
{
	const struct policy *p = session_policy(s);
	bool caps = true;

#ifdef REMIT_HOLES
	caps = !(host_left_out(&s->keeper->host) & MECH(FRAME_CAP));
#endif
	switch (f->type) {
	case FRAME_JOB:
		return take_job(s, f, err);
	case FRAME_CODE:
		return take_code(s, f, caps ? p->code_bytes : s->code.cap, err);
	case FRAME_FILE:
		return inputs_begin(&s->files, f->payload, f->len,
				    caps ? p->input_bytes : UINT64_MAX, err);
	case FRAME_TOOLS:
		return bridge_take_tools(&s->bridge, f->payload, f->len, err);
	case FRAME_REPLY:
	case FRAME_REPLY_DATA:
		return session_take_reply(s, f, err);
	case FRAME_ANSWER:
		return session_take_answer(s, f, err);
	case FRAME_FILE_DATA:
		return inputs_add(&s->files, f->payload, f->len, err);
	case FRAME_STDIN:
		if (feed_add(&s->input, f->payload, f->len,
			     caps ? p->stdin_bytes : UINT64_MAX, err) < 0)
			return -1;
		session_flush_input(s);
		return 0;
	case FRAME_STDIN_END:
		s->input.ended = true;
		session_flush_input(s);
		return 0;
	case FRAME_START:
		start(s);
		return 0;
	case FRAME_INTERRUPT:
		interrupt(s);
		return 0;
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

/* What may come while the code runs; and after it, if its end was not known. */
static bool
is_late(const struct frame *f)
{
	return f->type == FRAME_STDIN || f->type == FRAME_STDIN_END ||
	       f->type == FRAME_INTERRUPT || f->type == FRAME_REPLY ||
	       f->type == FRAME_REPLY_DATA || f->type == FRAME_ANSWER;
}

/*
 * Between cells. What is wrong with the next one is its result, when all of it
 * has come.
 */
static int
take_between(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (!s->has_job) {
		link_next_cell(&s->door);
		if (is_late(f))
			return 0;
		if (s->filing.asked && f->type == FRAME_FILE_DATA)
			return session_take_file_data(s, f, err);
		if (s->filing.asked)
			return fail(err, REMIT_E_PROTOCOL,
				    "frame \"%s\" while a file is asked for",
				    frame_rules[f->type].name);
		if (s->branch)
			return fail(err, REMIT_E_PROTOCOL,
				    "frame \"%s\" while the session is copied",
				    frame_rules[f->type].name);
		if (f->type == FRAME_RESET)
			return session_reset(s, err);
		if (f->type == FRAME_FORK)
			return session_fork(s, f, err);
		if (f->type == FRAME_FILE_TASK)
			return session_take_file_task(s, f, err);
		if (f->type == FRAME_COMMIT) {
			session_save(s);
			return 0;
		}
		if (f->type == FRAME_CLOSE) {
			session_close(s);
			return 0;
		}
	}
	if (s->has_job != (f->type != FRAME_JOB))
		return fail(err, REMIT_E_PROTOCOL, "frame \"%s\" between cells",
			    frame_rules[f->type].name);
	if (s->failed && f->type != FRAME_START)
		return 0;
	if (take_part(s, f, err) == 0)
		return 0;
	if (err->code == REMIT_E_PROTOCOL)
		return -1;
	s->error = *err;
	s->failed = true;
	return 0;
}

static int
take_frame(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state == SESSION_IDLE)
		return take_between(s, f, err);
	/* It came too late for the one before. */
	if (s->comes_after && is_late(f))
		return 0;
	s->comes_after = false;
	if ((s->started && !is_late(f)) ||
	    (session_is_open(s) && !s->started && f->type != FRAME_INTERRUPT))
		return fail(err, REMIT_E_PROTOCOL, "frame \"%s\" after start",
			    frame_rules[f->type].name);
	if (f->type == FRAME_POLICY)
		return take_policy(s, f, err);
	if (f->type == FRAME_STATUS)
		return tell_status(s, err);
	if (need_policy(s, err) < 0)
		return -1;
	if (f->type == FRAME_OPEN)
		return session_open(s, f, err);
	if (f->type == FRAME_INSTRUCTIONS)
		return tell_instructions(s, f, err);
	return take_part(s, f, err);
}

bool
session_door_stays(const struct session *s)
{
	/* What came after the start belongs to no other job. */
	return s->may_stay && s->started && s->door.parsed == s->door.in.len &&
	       !(s->failed && s->error.code == REMIT_E_PROTOCOL);
}

static void
door_left(struct session *s)
{
	s->door_gone = true;
	loop_remove(&s->keeper->loop, &s->on_door);
	if (s->state == SESSION_COMMITTING)
		return; /* it is seen to its end */
	if (s->state == SESSION_DONE || s->state == SESSION_IDLE || !s->inmate)
		keeper_remove(s->keeper, s);
	else
		session_die(s);
}

/* What it sends makes no sense: this is the end of all of it. */
static void
break_off(struct session *s, const struct remit_error *err)
{
	/* Too much input is the end of its cell only. */
	if (err->code == REMIT_E_PROTOCOL || s->state == SESSION_IDLE)
		s->opened = false;
	if (s->state == SESSION_IDLE) {
		s->error = *err;
		s->failed = true;
		session_answer(s);
		return;
	}
	session_give_up(s, err);
}

/* Every release understands the status, and a result of protocol 0. */
static void
refuse_protocol(struct session *s, unsigned protocol)
{
	struct remit_error err;
	struct frame f;

	if (link_next(&s->door, &f, &err) == 0 && f.type == FRAME_STATUS &&
	    s->state == SESSION_READING) {
		s->door.protocol = (uint8_t)protocol;
		if (tell_status(s, &err) == 0)
			return;
	}
	s->door.protocol = 0;
	fail_refused(&err, "",
		     "Install the same release of both, and restart what still "
		     "runs.",
		     "this keeper is Remit %s (protocol %d), and the client is "
		     "of another release (protocol %u)",
		     REMIT_VERSION, FRAME_PROTOCOL, protocol);
	/* Whatever this client sent before, nothing more is read from it. */
	s->opened = s->may_stay = false;
	break_off(s, &err);
}

void
session_on_door(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct remit_error err;
	unsigned protocol;
	struct frame f;

	if (events & EPOLLOUT) {
		session_flush_door(s);
		if (s->state == SESSION_DONE && !link_wants_write(&s->door)) {
			keeper_remove(s->keeper, s);
			return;
		}
		if (s->state == SESSION_EXPORTING && !s->door_gone) {
			session_export_more(s);
			return;
		}
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (s->state >= SESSION_EXPORTING || link_fill(&s->door, &err) < 0 ||
	    s->door.ended) {
		door_left(s);
		return;
	}
	/* A door that is found gone while it is answered has no more to say. */
	while (s->state < SESSION_DYING && !s->door_gone) {
		if (link_is_foreign(&s->door, &protocol)) {
			refuse_protocol(s, protocol);
			return;
		}
		if (link_next(&s->door, &f, &err) < 0 ||
		    (f.type != FRAME_NONE && take_frame(s, &f, &err) < 0)) {
			break_off(s, &err);
			return;
		}
		if (f.type == FRAME_NONE)
			return;
	}
}
