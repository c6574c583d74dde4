#include "inmate.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "branch.h"
#include "feed.h"
#include "filter.h"
#include "keeper.h"
#include "linux_abi.h"
#include "nursery.h"
#include "pool.h"
#include "session.h"
#include "task.h"
#include "watch.h"

/* An interpreter that has not locked itself down by then never will. */
#define PATIENCE_US (30 * 1000000ull)
/* A zygote only forks: one that has not done so by then hangs, as libraries
   with handlers for forks have done. */
#define JOIN_PATIENCE_US (5 * 1000000ull)

static void
make_name(char *out, size_t size)
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = loop_now_us();
	snprintf(out, size, "%016llx", (unsigned long long)noise);
}

static void
stop_watching(struct inmate *i)
{
	struct source *all[] = { &i->on_channel, &i->on_out, &i->on_err,
				 &i->on_helper, &i->on_lifeline };
	/* Its branches are heard of by its pid 1 and its listener. */
	size_t count = ARRAY_LEN(all) - (i->branches > 0);

	for (size_t n = 0; n < count; n++)
		loop_remove(&i->keeper->loop, all[n]);
	loop_set_timer(&i->keeper->loop, &i->patience, 0);
	if (!i->branches)
		watch_stop(i);
}

void
inmate_free(struct inmate *i)
{
	stop_watching(i);
	jail_free(&i->jail);
	proxy_free(&i->proxy);
	own_fd_close(&i->in);
	own_fd_close(&i->helper_fd);
	pool_drop(i->pool);
	free(i);
}

/* The code that was to be copied is about to die. */
static void
lose_fork(struct inmate *i)
{
	struct inmate *branch = i->forking;
	struct remit_error err;

	i->forking = NULL;
	if (branch->state >= INMATE_TAKEN)
		return;
	fail(&err, REMIT_E_GONE, "the session ended while it was copied");
	inmate_failed(branch, &err);
}

/* Its pid 1 must stay: with it all branches would die. It has one process. */
static void
kill_run(struct inmate *i)
{
	if (i->jail.run_pidfd >= 0)
		sys_pidfd_kill(i->jail.run_pidfd, SIGKILL);
	/* Whoever killed it does not expect its end just now. */
	if (i->run_ended)
		loop_set_timer(&i->keeper->loop, &i->patience, loop_now_us());
}

/* For its session this is the end. */
static void
end_run(struct inmate *i)
{
	if (i->session)
		session_on_dead(i->session, &i->end);
}

void
inmate_lose_branch(struct inmate *i, const struct inmate *branch)
{
	if (i->forking == branch)
		i->forking = NULL;
	i->branches--;
	if (!i->branches && i->state == INMATE_DYING)
		jail_kill(&i->jail);
}

void
inmate_kill(struct inmate *i)
{
	if (i->state == INMATE_DYING)
		return;
	if (i->in_pool)
		pool_forget(i->pool, i);
	i->state = INMATE_DYING;
	loop_set_timer(&i->keeper->loop, &i->patience, 0);
	if (i->forking)
		lose_fork(i);
	if (i->parent)
		branch_end_helper(i);
	if (i->branches) {
		kill_run(i);
		return;
	}
	jail_kill(&i->jail);
	/* Nothing was started: nobody will be reaped. */
	if (!i->jail.init_pid)
		keeper_bury(i->keeper, i);
}

void
inmate_leave(struct inmate *i)
{
	/* One process that has said it is done waits for its end without a
	   sound. Dying takes longer than many a run, so not just now. */
	bool can_wait = i->state == INMATE_TAKEN && i->session &&
			i->session->claim.has_exit_code &&
			!i->pool->plan.limits.many_processes &&
			!i->jail.unjailed && !i->proxy.pid;

	i->session = NULL;
	stop_watching(i);
	if (can_wait) {
		i->state = INMATE_SPENT;
		keeper_refill_soon(i->keeper);
	} else {
		inmate_kill(i);
	}
}

void
inmate_failed(struct inmate *i, const struct remit_error *err)
{
	if (i->state == INMATE_DYING)
		return;
	if (i->session) {
		session_give_up(i->session, err);
		return;
	}
	stop_watching(i);
	inmate_kill(i);
	pool_failed(i->pool, err);
}

/* Whose code has not done what it was told is not to be trusted with more. */
static void
branch_give_up(struct inmate *i)
{
	struct inmate *parent = i->parent;
	bool hangs = parent->forking == i;
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL, "the session was not copied in time");
	parent->forking = NULL;
	inmate_failed(i, &err);
	if (hangs)
		inmate_failed(parent, &err);
}

static void
on_patience(void *owner)
{
	struct inmate *i = owner;
	struct remit_error err;

	if (i->state == INMATE_DYING) {
		end_run(i);
		return;
	}
	if (i->parent) {
		branch_give_up(i);
		return;
	}
	if (i->state == INMATE_JOINING) {
		nursery_give_up(i->pool->nursery);
		return;
	}
	fail(&err, REMIT_E_INTERNAL,
	     "the interpreter did not start within %llu s",
	     PATIENCE_US / 1000000);
	inmate_failed(i, &err);
}

/* ---- what it says before it has a job ---- */

static void
become_ready(struct inmate *i)
{
	loop_set_timer(&i->keeper->loop, &i->patience, 0);
	i->state = INMATE_WAITING;
	if (i->session)
		session_take(i->session, i);
	else
		pool_add(i->pool, i);
}

/* Whom the zygote has forked and who speaks for the jail must be one. */
static void
consider_ready(struct inmate *i)
{
	struct remit_error err;

	if (!i->rehearsed || (i->jail.warm && !i->joined))
		return;
	if (!i->jail.warm || i->joined == i->jail.run_pid) {
		become_ready(i);
		return;
	}
	fail(&err, REMIT_E_INTERNAL, "process %d speaks for process %d",
	     (int)i->jail.run_pid, (int)i->joined);
	inmate_failed(i, &err);
}

static int
send_task(struct inmate *i, struct remit_error *err)
{
	own(buf) struct buf task = BUF_INIT(frame_rules[FRAME_TASK].max);

	/* To rehearse is to work ahead, for which there must be time. */
	enum task_kind kind = !i->jail.warm		 ? TASK_COLD
			      : pool_is_pressed(i->pool) ? TASK_WARM
							 : TASK_REHEARSE;

	/* The runner of a session says when it can be interrupted. */
	i->rehearsed = kind != TASK_REHEARSE && !i->pool->plan.session;
	if (task_write(&task, &i->pool->plan, kind, i->jail.workspace.path,
		       err) < 0 ||
	    link_send(&i->jail.channel, FRAME_TASK, task.data, task.len, err) <
		    0 ||
	    link_flush(&i->jail.channel, err) < 0)
		return -1;
	i->state = INMATE_WARMING;
	consider_ready(i);
	return 0;
}

/* A branch is locked and rests, and nobody else has what it has. */
static int
consider_branch(struct inmate *i, struct remit_error *err)
{
	struct pollfd helper = { .fd = i->helper_fd, .events = POLLIN };

	if (!i->reported || !i->rehearsed || i->parent->forking == i ||
	    i->state != INMATE_LOCKING ||
	    (i->fork == FORK_COPIED && poll(&helper, 1, 0) == 0))
		return 0;
	if (!i->met) {
		*err = i->unmet;
		return -1;
	}
	if (branch_meet(i, err) < 0)
		return -1;
	i->state = INMATE_WARMING;
	consider_ready(i);
	return 0;
}

void
inmate_consider(struct inmate *i)
{
	struct remit_error err;

	if (consider_branch(i, &err) < 0)
		inmate_failed(i, &err);
}

static void
on_helper(void *owner, uint32_t events)
{
	struct inmate *i = owner;

	(void)events;
	loop_remove(&i->keeper->loop, &i->on_helper);
	inmate_consider(i);
}

int
inmate_watch_helper(struct inmate *i, struct remit_error *err)
{
	return loop_add(&i->keeper->loop, &i->on_helper, i->helper_fd, EPOLLIN,
			on_helper, i, err);
}

static int
take_report(struct inmate *i, const struct frame *f, struct remit_error *err)
{
	struct step_report r;

	if (i->state != INMATE_LOCKING || f->len != sizeof(r))
		return fail(err, REMIT_E_PROTOCOL, "an unexpected report");
	memcpy(&r, f->payload, sizeof(r));
	if (r.step != STEP_READY)
		return jail_step_failed(&r, &i->pool->plan, err);
	if (i->parent) {
		i->reported = true;
		return consider_branch(i, err);
	}
	if (!i->met) {
		*err = i->unmet;
		return -1;
	}
	if (jail_attest(&i->jail, &i->pool->plan, err) < 0)
		return -1;
	return send_task(i, err);
}

static int
take_frame(struct inmate *i, const struct frame *f, struct remit_error *err)
{
	if (f->type == FRAME_REPORT)
		return take_report(i, f, err);
	if (f->type == FRAME_LISTENER && i->state == INMATE_LOCKING)
		return watch_start(i, err);
	if (f->type != FRAME_WARM ||
	    (i->state != INMATE_WARMING && !i->reported))
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	i->rehearsed = true;
	if (i->parent)
		return consider_branch(i, err);
	consider_ready(i);
	return 0;
}

static void end_alone(struct inmate *i, const struct exit_report *end);

static void
died_early(struct inmate *i)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL, "%s died before its job",
	     i->parent ? "the copy of a session" : "a warm interpreter");
	inmate_failed(i, &err);
}

static void
hear(struct inmate *i)
{
	struct link *l = &i->jail.channel;
	struct frame f = { .type = FRAME_NONE };
	struct remit_error err;

	/* Judged when the report is read: a jail that failed before its lock
	   is not locked, and its report says why. */
	if (!i->heard) {
		i->heard = true;
		i->state = INMATE_LOCKING;
		i->met = jail_meet(&i->jail, &i->unmet) == 0;
	}
	if (link_fill(l, &err) < 0) {
		inmate_failed(i, &err);
		return;
	}
	do {
		if (link_next(l, &f, &err) < 0 ||
		    (f.type != FRAME_NONE && take_frame(i, &f, &err) < 0)) {
			inmate_failed(i, &err);
			return;
		}
	} while (
		f.type == FRAME_LISTENER ||
		(i->parent && f.type != FRAME_NONE && i->state < INMATE_TAKEN));
	if (!l->ended || i->state >= INMATE_TAKEN)
		return;
	/* Of a cold one the end is on the way, and of one that was not forked
	   yet the zygote's word: both say more than this. */
	loop_remove(&i->keeper->loop, &i->on_channel);
	if (i->joined || i->parent)
		died_early(i);
}

static void
on_channel(void *owner, uint32_t events)
{
	struct inmate *i = owner;

	if (i->session && i->state == INMATE_TAKEN)
		session_on_channel(i->session, events);
	else if (i->state < INMATE_TAKEN)
		hear(i);
}

static bool
is_to_be_built(const struct inmate *i)
{
	return i->jail.unbuilt &&
	       (i->state == INMATE_BUILDING || !i->jail.warm);
}

static void
hear_built(struct inmate *i)
{
	struct remit_error err;

	if (jail_take_built(&i->jail, &i->pool->plan, &err) < 0) {
		/* A cold one says over its channel what went wrong. */
		if (i->jail.warm || i->parent)
			inmate_failed(i, &err);
		return;
	}
	if (!i->jail.warm && !i->parent)
		return;
	i->state = INMATE_JOINING;
	loop_set_timer(&i->keeper->loop, &i->patience,
		       loop_now_us() + JOIN_PATIENCE_US);
	if (!i->parent)
		nursery_join(i->pool->nursery, i);
	else if (branch_begin(i, &err) < 0)
		inmate_failed(i, &err);
}

/* The code has ended, by itself or because it was killed. */
static void
run_ended(struct inmate *i, const struct exit_report *end)
{
	i->run_ended = true;
	i->end = *end;
	if (i->state == INMATE_DYING && i->branches)
		end_run(i);
	else if (i->session)
		session_on_end(i->session, end);
	else
		end_alone(i, end);
}

/* What pid 1 says of the ends of its children. */
static void
hear_ends(struct inmate *i)
{
	struct link *l = &i->jail.lifeline;
	struct remit_error err;
	struct exit_report end;
	struct frame f = { .type = FRAME_NONE };

	if (link_fill(l, &err) < 0)
		l->ended = true;
	do {
		struct inmate *branch;

		if (link_next(l, &f, &err) < 0)
			l->ended = true;
		else if (f.type == FRAME_EXITED && f.len == sizeof(end)) {
			memcpy(&end, f.payload, sizeof(end));
			branch = end.pid == FILTER_RUN_PID
					 ? i
					 : branch_of_child(i, end.pid);
			/* NULL: a copy that was never met. */
			if (branch)
				run_ended(branch, &end);
		}
	} while (f.type != FRAME_NONE && !l->ended);
	/* Pid 1 is dead: that it is reaped tells. */
	if (l->ended)
		loop_remove(&i->keeper->loop, &i->on_lifeline);
}

static void
on_lifeline(void *owner, uint32_t events)
{
	struct inmate *i = owner;

	(void)events;
	if (is_to_be_built(i)) {
		hear_built(i);
		return;
	}
	hear_ends(i);
}

static void
on_out(void *owner, uint32_t events)
{
	struct inmate *i = owner;

	(void)events;
	if (i->session)
		session_on_out(i->session);
	else
		loop_want(&i->keeper->loop, &i->on_out, 0);
}

static void
on_err(void *owner, uint32_t events)
{
	struct inmate *i = owner;

	(void)events;
	if (i->session)
		session_on_err(i->session);
	else
		loop_want(&i->keeper->loop, &i->on_err, 0);
}

/* ---- the beginning ---- */

static struct inmate *
make(struct keeper *k, struct pool *p, struct remit_error *err)
{
	struct inmate *i = calloc(1, sizeof(*i));

	if (!i) {
		fail_sys(err, REMIT_E_MEMORY, "jail");
		return NULL;
	}
	*i = (struct inmate){
		.keeper = k,
		.pool = pool_use(p),
		.jail = JAIL_INIT,
		.proxy = PROXY_INIT,
		.in = -1,
		.root = i,
		.helper_fd = -1,
		.on_helper = SOURCE_INIT,
		.made_us = loop_now_us(),
		.on_channel = SOURCE_INIT,
		.on_lifeline = SOURCE_INIT,
		.on_out = SOURCE_INIT,
		.on_err = SOURCE_INIT,
		.on_notice = SOURCE_INIT,
		.patience = { .ring = on_patience, .owner = i },
	};
	keeper_admit(k, i);
	return i;
}

static int
watch(struct inmate *i, struct remit_error *err)
{
	struct loop *l = &i->keeper->loop;
	struct jail *j = &i->jail;

	loop_set_timer(l, &i->patience, i->made_us + PATIENCE_US);
	/* Its session asks for the output when it is time. */
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

/* Half a jail is watched by nobody. */
static struct inmate *
give_up(struct inmate *i)
{
	if (i->session)
		i->session->inmate = NULL;
	i->in_pool = false;
	inmate_leave(i);
	return NULL;
}

/* First, if the plan has one: pid 1 sends it the ways out. */
static int
start_proxy(struct inmate *i, struct jail_site *site, struct remit_error *err)
{
	*site = i->keeper->site;
	site->ways_out = -1;
	if (!i->pool->plan.proxied)
		return 0;
	if (keeper_need_porter(i->keeper, err) < 0 ||
	    proxy_start(&i->proxy, &i->keeper->porter, &i->pool->plan, err) < 0)
		return -1;
	site->ways_out = i->proxy.ways_out;
	return 0;
}

/* Pid 1 has it now. */
static void
close_ways_out(struct inmate *i)
{
	own_fd_close(&i->proxy.ways_out);
	i->proxy.ways_out = -1;
}

static int
open_cold(struct inmate *i, int in, const char *name, struct remit_error *err)
{
	struct jail_site site;
	int opened;

	if (start_proxy(i, &site, err) < 0)
		return -1;
	opened = jail_open(&i->jail, &i->pool->plan, &site, in, name, err);
	close_ways_out(i);
	return opened;
}

/* For a zygote's child, by the mould of its pool, if it has one. */
static int
open_warm(struct inmate *i, int in, const char *name, struct remit_error *err)
{
	struct pool *p = i->pool;
	const struct mould *mould;
	struct jail_site site;
	int opened;

	if (pool_mould(p, &mould, err) < 0 || start_proxy(i, &site, err) < 0)
		return -1;
	opened = jail_prepare(&i->jail, &p->plan, &site, mould,
			      nursery_uid(p->nursery), in, name, err);
	close_ways_out(i);
	return opened;
}

struct inmate *
inmate_new_cold(struct session *s, struct remit_error *err)
{
	struct keeper *k = s->keeper;
	struct inmate *i = make(k, s->pool, err);
	const struct plan *plan = &s->pool->plan;
	own_fd int reader = -1;
	char name[24];
	int opened = -1;

	if (!i)
		return NULL;
	i->session = s;
	s->inmate = i;
	i->state = INMATE_LOCKING;
	make_name(name, sizeof(name));
	/* Nobody locks down who would have to be met first. */
	i->heard = i->met = !tiers[plan->tier].jailed;
	if (feed_pipe(&reader, &i->in, err) == 0)
		opened = tiers[plan->tier].jailed
				 ? open_cold(i, reader, name, err)
				 : jail_open_unsafe(&i->jail, plan, &k->site,
						    reader, err);
	/* There is nothing to lock in the unsafe tier. */
	if (opened < 0 || watch(i, err) < 0 ||
	    (i->jail.unjailed && send_task(i, err) < 0))
		return give_up(i);
	return i;
}

struct inmate *
inmate_new_warm(struct pool *p, struct remit_error *err)
{
	struct keeper *k = p->keeper;
	struct inmate *i = make(k, p, err);
	own_fd int reader = -1;
	char name[24];

	if (!i)
		return NULL;
	i->in_pool = true;
	i->state = INMATE_BUILDING;
	make_name(name, sizeof(name));
	if (feed_pipe(&reader, &i->in, err) < 0 ||
	    open_warm(i, reader, name, err) < 0 || watch(i, err) < 0)
		return give_up(i);
	return i;
}

/* The next workspace of the family, which is used once. */
static int
take_slot(struct inmate *root)
{
	for (int i = 0; i < PLAN_BRANCHES_MAX; i++)
		if (root->jail.slots[i] >= 0)
			return take_fd(&root->jail.slots[i]);
	return -1;
}

struct inmate *
inmate_new_branch(struct session *s, struct inmate *parent,
		  struct remit_error *err)
{
	struct inmate *i = make(s->keeper, parent->pool, err);
	own_fd int reader = -1, slot = -1;
	char name[24];

	if (!i)
		return NULL;
	i->session = s;
	s->inmate = i;
	i->parent = parent;
	i->root = parent->root;
	i->root->has_branched = true;
	parent->branches++;
	i->state = INMATE_BUILDING;
	make_name(name, sizeof(name));
	slot = take_slot(i->root);
	if (feed_pipe(&reader, &i->in, err) < 0 ||
	    jail_branch(&i->jail, &i->pool->plan, &s->keeper->site,
			&parent->jail, &slot, reader, name, err) < 0 ||
	    watch(i, err) < 0)
		return give_up(i);
	return i;
}

void
inmate_joined(struct inmate *i, pid_t pid)
{
	i->joined = pid;
	if (i->jail.run_pid <= 0)
		i->jail.run_pid = pid;
	if (i->state == INMATE_JOINING)
		i->state = INMATE_LOCKING;
	if (i->state == INMATE_LOCKING || i->state == INMATE_WARMING)
		loop_set_timer(&i->keeper->loop, &i->patience,
			       i->made_us + PATIENCE_US);
	if (i->jail.channel.ended)
		died_early(i);
	else
		consider_ready(i);
}

/* ---- the end ---- */

static void
end_early(struct inmate *i, const struct exit_report *end)
{
	struct remit_error err;

	if (WIFSIGNALED(end->wait_status))
		fail(&err, REMIT_E_INTERNAL,
		     "the interpreter was killed by signal %d before the "
		     "program began",
		     WTERMSIG(end->wait_status));
	else
		fail(&err, REMIT_E_INTERNAL,
		     "the interpreter ended before the program began (exit "
		     "code %d)",
		     WEXITSTATUS(end->wait_status));
	inmate_failed(i, &err);
}

/* It may have said why before it died. */
static void
hear_last_words(struct inmate *i)
{
	bool hears = i->state < INMATE_WAITING && i->state != INMATE_BUILDING;

	if (is_to_be_built(i))
		hear_built(i);
	if (hears && !i->jail.channel.ended)
		hear(i);
}

/* It has no session. One that is spent may end by itself: that concerns nobody
   any more, least of all those who wait for another. */
static void
end_alone(struct inmate *i, const struct exit_report *end)
{
	if (i->state == INMATE_SPENT)
		inmate_kill(i);
	else if (i->state != INMATE_DYING)
		end_early(i, end);
}

/* There is no way out any more; the program shall not go on as if there were.
   One that is dying anyway is beyond that. */
static void
lost_proxy(struct inmate *i)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL, "the network proxy died");
	inmate_failed(i, &err);
}

bool
inmate_reaped(struct inmate *i, pid_t pid, const struct exit_report *end)
{
	if (proxy_reaped(&i->proxy, pid)) {
		lost_proxy(i);
		return true;
	}
	switch (jail_reaped(&i->jail, pid)) {
	case JAIL_NOT_MINE:
		return false;
	case JAIL_RUN_DEAD:
		nursery_note_end(i->pool->nursery, end->wait_status);
		run_ended(i, end);
		return true;
	case JAIL_INIT_DEAD:
		hear_last_words(i);
		if (i->session)
			session_on_dead(i->session, end);
		else
			end_alone(i, end);
		keeper_bury(i->keeper, i);
		return true;
	}
	return false;
}
