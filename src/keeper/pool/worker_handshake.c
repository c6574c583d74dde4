/*
 * worker_handshake: what is read from a worker until it has a job, and what pid
 * 1 and its zygote report about it.
 */
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "base/text.h"
#include "jail/seccomp/filter.h"
#include "keeper/keeper.h"
#include "keeper/pool/branch.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/watch.h"
#include "keeper/pool/worker_part.h"
#include "keeper/pool/zygote_server.h"
#include "keeper/session/session.h"
#include "keeper/session/task.h"

/* How soon to check again whether a copy is asleep. */
#define BRANCH_RETRY_US 1000

static void
worker_become_ready(struct worker *i)
{
	loop_set_timer(&i->keeper->loop, &i->deadline_timer, 0);
	i->state = WORKER_WAITING;
	if (i->session)
		session_attach_worker(i->session, i);
	else
		pool_add_ready(i->pool, i);
}

/* The process that the zygote has forked must be the one at the channel. */
static void
check_ready(struct worker *i)
{
	struct remit_error err;

	if (!i->warmed_up || (i->jail.warm && !i->joined_pid))
		return;
	if (!i->jail.warm || i->joined_pid == i->jail.run_pid) {
		worker_become_ready(i);
		return;
	}
	fail(&err, REMIT_E_INTERNAL,
	     "process %d reported, but the zygote forked process %d",
	     (int)i->jail.run_pid, (int)i->joined_pid);
	worker_failed(i, &err);
}

int
worker_send_task(struct worker *i, struct remit_error *err)
{
	own(buf) struct buf task = BUF_INIT(frame_rules[FRAME_TASK].max);

	/* Warming up takes time, so it is skipped while a session waits. */
	enum task_kind kind = !i->jail.warm		 ? TASK_COLD
			      : pool_is_pressed(i->pool) ? TASK_WARM
							 : TASK_WARM_UP;

	/* The runner of a session reports when it can be interrupted. */
	i->warmed_up = kind != TASK_WARM_UP && !i->pool->plan.session &&
		       !pool_imports_inside(i->pool);
	if (task_write(&task, &i->pool->plan, kind, i->jail.workspace.path,
		       err) < 0 ||
	    link_send(&i->jail.channel, FRAME_TASK, task.data, task.len, err) <
		    0 ||
	    link_flush(&i->jail.channel, err) < 0)
		return -1;
	i->state = WORKER_WARMING;
	if (pool_imports_inside(i->pool))
		loop_set_timer(&i->keeper->loop, &i->deadline_timer,
			       loop_now_us() + deadline_us(DEADLINE_IMPORT));
	check_ready(i);
	return 0;
}

static void
on_retry_timer(void *owner)
{
	worker_check_branch(owner);
}

/* The worker's deadline ends these checks. */
static int
check_branch_later(struct worker *i)
{
	i->retry_timer.ring = on_retry_timer;
	i->retry_timer.owner = i;
	loop_set_timer(&i->keeper->loop, &i->retry_timer,
		       loop_now_us() + BRANCH_RETRY_US);
	return 0;
}

/* Checks that a branch is locked and asleep, and that no other process has its
   descriptors. */
static int
check_branch(struct worker *i, struct remit_error *err)
{
	struct pollfd helper = { .fd = i->helper_fd, .events = POLLIN };
	uint64_t before = 0, after;

	if (!i->reported_locked || !i->warmed_up || i->parent->forking == i ||
	    i->state != WORKER_LOCKING ||
	    (i->fork == FORK_COPIED && poll(&helper, 1, 0) == 0))
		return 0;
	if (!i->is_verified) {
		*err = i->verify_error;
		return -1;
	}
	if (i->fork == FORK_COPIED && !branch_is_asleep(i, &before))
		return check_branch_later(i);
	if (branch_verify(i, err) < 0)
		return -1;
	if (!branch_is_asleep(i, &after) || after != before)
		return check_branch_later(i);
	jail_branch_joined(&i->jail);
	i->state = WORKER_WARMING;
	check_ready(i);
	return 0;
}

void
worker_check_branch(struct worker *i)
{
	struct remit_error err;

	if (check_branch(i, &err) < 0)
		worker_failed(i, &err);
}

static void
on_helper(void *owner, uint32_t events)
{
	struct worker *i = owner;

	(void)events;
	loop_remove(&i->keeper->loop, &i->on_helper);
	worker_check_branch(i);
}

int
worker_watch_helper(struct worker *i, struct remit_error *err)
{
	return loop_add(&i->keeper->loop, &i->on_helper, i->helper_fd, EPOLLIN,
			on_helper, i, err);
}

static int
recv_report(struct worker *i, const struct frame *f, struct remit_error *err)
{
	struct step_report r;

	if (i->state != WORKER_LOCKING || f->len != sizeof(r))
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected frame \"report\"");
	memcpy(&r, f->payload, sizeof(r));
	if (r.step != STEP_READY)
		return jail_step_failed(&r, &i->pool->plan, err);
	if (i->parent) {
		i->reported_locked = true;
		return check_branch(i, err);
	}
	if (!i->is_verified) {
		*err = i->verify_error;
		return -1;
	}
	if (jail_attest(&i->jail, &i->pool->plan, err) < 0)
		return -1;
	return worker_send_task(i, err);
}

/* The text comes from foreign code: replace control characters and drop invalid
   UTF-8. */
static int
fail_import(struct worker *i, const struct frame *f, struct remit_error *err)
{
	char why[256];
	size_t len;

	if (!worker_is_importing(i))
		return fail(err, REMIT_E_PROTOCOL,
			    "a failed import without a request to import");
	snprintf(why, sizeof(why), "%.*s", (int)f->len,
		 (const char *)f->payload);
	len = text_valid_prefix(why, strlen(why));
	why[len] = '\0';
	for (size_t at = 0; at < len; at++)
		if (iscntrl((unsigned char)why[at]))
			why[at] = ' ';
	pool_fail_import(i->pool, why, err);
	return -1;
}

static int
recv_worker_frame(struct worker *i, const struct frame *f,
		  struct remit_error *err)
{
	if (f->type == FRAME_REPORT)
		return recv_report(i, f, err);
	if (f->type == FRAME_LISTENER && i->state == WORKER_LOCKING &&
	    !i->parent)
		return watch_start(i, err);
	if (f->type != FRAME_WARM ||
	    (i->state != WORKER_WARMING && !i->reported_locked))
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	if (f->len)
		return fail_import(i, f, err);
	i->warmed_up = true;
	if (i->parent)
		return check_branch(i, err);
	check_ready(i);
	return 0;
}

static void
died_early(struct worker *i)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL, "%s died before it got a job",
	     i->parent ? "the branch of a session" : "a warm interpreter");
	if (worker_is_importing(i))
		worker_fail_import(i, &err);
	worker_failed(i, &err);
}

static void
read_channel(struct worker *i)
{
	struct link *l = &i->jail.channel;
	struct frame f = { .type = FRAME_NONE };
	struct remit_error err;

	/* Keep the error until the report is read: a jail that failed before
	   its lock-down is not locked, and its report has the reason. */
	if (!i->has_reported) {
		i->has_reported = true;
		i->state = WORKER_LOCKING;
		i->is_verified = jail_identify(&i->jail, &i->verify_error) == 0;
	}
	if (link_fill(l, &err) < 0) {
		worker_failed(i, &err);
		return;
	}
	do {
		if (link_next(l, &f, &err) < 0 ||
		    (f.type != FRAME_NONE &&
		     recv_worker_frame(i, &f, &err) < 0)) {
			worker_failed(i, &err);
			return;
		}
	} while (f.type == FRAME_LISTENER ||
		 (i->parent && f.type != FRAME_NONE &&
		  i->state < WORKER_IN_USE));
	if (!l->ended || i->state >= WORKER_IN_USE)
		return;
	/* A cold worker's exit will be reported, and for a child that was not
	   forked the zygote will. Both have a better reason than this. */
	loop_remove(&i->keeper->loop, &i->on_channel);
	if (i->joined_pid || i->parent)
		died_early(i);
}

static void
on_channel(void *owner, uint32_t events)
{
	struct worker *i = owner;

	if (i->session && i->state == WORKER_IN_USE)
		session_on_channel(i->session, events);
	else if (i->state < WORKER_IN_USE)
		read_channel(i);
	else /* the channel is no longer used */
		loop_remove(&i->keeper->loop, &i->on_channel);
}

static bool
is_to_be_built(const struct worker *i)
{
	return i->jail.unbuilt &&
	       (i->state == WORKER_BUILDING || !i->jail.warm);
}

static void
recv_built(struct worker *i)
{
	struct remit_error err;

	if (jail_recv_built(&i->jail, &i->pool->plan, &err) < 0) {
		/* A cold worker reports the reason on its channel. */
		if (i->jail.warm || i->parent)
			worker_failed(i, &err);
		return;
	}
	if (!i->jail.warm && !i->parent)
		return;
	i->state = WORKER_JOINING;
	if (!i->parent) {
		zygote_server_join(i->pool->zygote_server, i);
		return;
	}
	loop_set_timer(&i->keeper->loop, &i->deadline_timer,
		       loop_now_us() + deadline_us(DEADLINE_COPY));
	if (branch_begin(i, &err) < 0)
		worker_failed(i, &err);
}

/* Reads which children of pid 1 have ended. */
static void
recv_ends(struct worker *i)
{
	struct link *l = &i->jail.lifeline;
	struct remit_error err;
	struct exit_report end;
	struct frame f = { .type = FRAME_NONE };

	if (link_fill(l, &err) < 0)
		l->ended = true;
	do {
		struct worker *branch;

		if (link_next(l, &f, &err) < 0)
			l->ended = true;
		else if (f.type == FRAME_EXITED && f.len == sizeof(end)) {
			memcpy(&end, f.payload, sizeof(end));
			branch = end.pid == FILTER_RUN_PID
					 ? i
					 : branch_of_child(i, end.pid);
			/* NULL: a copy that was never verified */
			if (branch)
				worker_run_ended(branch, &end);
		}
	} while (f.type != FRAME_NONE && !l->ended);
	/* Pid 1 is dead, and will be reaped. */
	if (l->ended)
		loop_remove(&i->keeper->loop, &i->on_lifeline);
}

static void
on_lifeline(void *owner, uint32_t events)
{
	struct worker *i = owner;

	(void)events;
	if (is_to_be_built(i)) {
		recv_built(i);
		return;
	}
	recv_ends(i);
}

/* The worker has no session yet, or no longer. */
static void
ignore_output(struct worker *i, struct source *s)
{
	if (i->state < WORKER_IN_USE)
		loop_want(&i->keeper->loop, s, 0);
	else
		loop_remove(&i->keeper->loop, s);
}

static void
on_out(void *owner, uint32_t events)
{
	struct worker *i = owner;

	(void)events;
	if (i->session)
		session_on_stdout(i->session);
	else
		ignore_output(i, &i->on_out);
}

static void
on_err(void *owner, uint32_t events)
{
	struct worker *i = owner;

	(void)events;
	if (i->session)
		session_on_stderr(i->session);
	else
		ignore_output(i, &i->on_err);
}

int
worker_watch(struct worker *i, struct remit_error *err)
{
	struct loop *l = &i->keeper->loop;
	struct jail *j = &i->jail;

	loop_set_timer(l, &i->deadline_timer,
		       i->made_us + deadline_us(DEADLINE_START));
	/* Output is not read before a session enables that. */
	if (loop_add(l, &i->on_out, j->out, 0, on_out, i, err) < 0 ||
	    loop_add(l, &i->on_err, j->err, 0, on_err, i, err) < 0 ||
	    loop_add(l, &i->on_channel, j->channel.fd, EPOLLIN, on_channel, i,
		     err) < 0)
		return -1;
	if (j->lifeline.fd < 0)
		return 0;
	return loop_add(l, &i->on_lifeline, j->lifeline.fd, EPOLLIN,
			on_lifeline, i, err);
}

void
worker_joined(struct worker *i, pid_t pid)
{
	i->joined_pid = pid;
	if (i->jail.run_pid <= 0)
		i->jail.run_pid = pid;
	if (i->state == WORKER_JOINING)
		i->state = WORKER_LOCKING;
	if (i->state == WORKER_LOCKING || i->state == WORKER_WARMING)
		loop_set_timer(&i->keeper->loop, &i->deadline_timer,
			       i->made_us + deadline_us(DEADLINE_START));
	if (i->jail.channel.ended)
		died_early(i);
	else
		check_ready(i);
}

void
worker_read_last_frames(struct worker *i)
{
	bool reads_channel =
		i->state < WORKER_WAITING && i->state != WORKER_BUILDING;

	if (is_to_be_built(i))
		recv_built(i);
	if (reads_channel && !i->jail.channel.ended)
		read_channel(i);
}
