#include "keeper/pool/watch.h"

#include "keeper/keeper.h"
#include "keeper/output/denial.h"
#include "keeper/pool/branch.h"
#include "keeper/pool/pool.h"
#include "keeper/session/session.h"

bool
bucket_take(struct bucket *b, uint64_t now_us, uint64_t *next_us)
{
	const uint64_t most = (uint64_t)BUCKET_TOKENS * BUCKET_EACH_US;
	uint64_t full = b->full_us > now_us ? b->full_us : now_us;

	full += BUCKET_EACH_US;
	if (full - now_us > most) {
		*next_us = full - most;
		return false;
	}
	b->full_us = full;
	return true;
}

static void
on_retry_timer(void *owner)
{
	struct worker *i = owner;

	loop_want(&i->keeper->loop, &i->on_notice, EPOLLIN);
}

/* Returns false if the answer has to wait; a timer is set then. */
static bool
acquire_refusal_token(struct worker *i)
{
	struct loop *l = &i->keeper->loop;
	uint64_t next;

	if (bucket_take(&i->refusal_bucket, loop_now_us(), &next))
		return true;
	loop_want(l, &i->on_notice, 0);
	loop_set_timer(l, &i->retry_timer, next);
	return false;
}

static void
count_denial(struct session *s, const struct notice *n)
{
	struct denial d;

	denial_of_notice(&d, n, session_policy(s));
	denials_add(&s->cell.denials, &d);
}

/* Calls before a program are those of the self-test. */
static bool
is_running(const struct worker *i)
{
	return i->session && i->state == WORKER_IN_USE;
}

static void
answer_notice(struct worker *i, const struct notice *n)
{
	struct worker *by;

	if (i->has_branched && branch_notice(i, n))
		return;
	by = branch_of_thread(i, n->thread);
	if (by && is_running(by))
		count_denial(by->session, n);
	notice_refuse(n, jail_filter(&i->pool->plan));
}

static void
on_notice(void *owner, uint32_t events)
{
	struct worker *i = owner;
	struct notice n;

	/* The listener reports only hang-ups now, because all processes that
	   could make calls are dead, or nearly. */
	if (!(events & EPOLLIN) || (i->state > WORKER_IN_USE && !i->branches)) {
		watch_stop(i);
		return;
	}
	if ((is_running(i) || i->has_branched) && !branch_fork_is_pending(i) &&
	    !acquire_refusal_token(i))
		return;
	if (notice_recv(i->jail.listener, &n) < 0) {
		/* ENOENT and EINTR: the caller was killed or interrupted while
		   it waited. */
		if (errno != ENOENT && errno != EINTR)
			watch_stop(i);
		return;
	}
	answer_notice(i, &n);
}

int
watch_start(struct worker *i, struct remit_error *err)
{
	if (i->jail.listener < 0)
		return 0;
	i->retry_timer = (struct timer){ .ring = on_retry_timer, .owner = i };
	return loop_add(&i->keeper->loop, &i->on_notice, i->jail.listener,
			EPOLLIN, on_notice, i, err);
}

void
watch_stop(struct worker *i)
{
	loop_remove(&i->keeper->loop, &i->on_notice);
	loop_set_timer(&i->keeper->loop, &i->retry_timer, 0);
}
