#include "watch.h"

#include "denial_rule.h"
#include "keeper.h"
#include "pool.h"
#include "session.h"

static void
on_again(void *owner)
{
	struct inmate *i = owner;

	loop_want(&i->keeper->loop, &i->on_notice, EPOLLIN);
}

/* False: not now. */
static bool
may_answer(struct inmate *i)
{
	struct loop *l = &i->keeper->loop;
	uint64_t next;

	if (bucket_take(&i->answers, loop_now_us(), &next))
		return true;
	loop_want(l, &i->on_notice, 0);
	loop_set_timer(l, &i->again, next);
	return false;
}

static void
count(struct session *s, const struct notice *n)
{
	struct denial d;

	denial_of_notice(&d, n, session_policy(s));
	denials_add(&s->denials, &d);
}

static void
on_notice(void *owner, uint32_t events)
{
	struct inmate *i = owner;
	/* What comes before a program is our own self-test. */
	bool counts = i->session && i->state == INMATE_TAKEN;
	struct notice n;

	/* No more than the end of all who could ask, or close to it. */
	if (!(events & EPOLLIN) || i->state > INMATE_TAKEN) {
		watch_stop(i);
		return;
	}
	if (counts && !may_answer(i))
		return;
	if (notice_take(i->jail.listener, &n) < 0) {
		/* Killed or interrupted while it waited; or no listener. */
		if (errno != ENOENT && errno != EINTR)
			watch_stop(i);
		return;
	}
	if (counts)
		count(i->session, &n);
	notice_refuse(&n, jail_filter(&i->pool->plan));
}

int
watch_start(struct inmate *i, struct remit_error *err)
{
	if (i->jail.listener < 0)
		return 0;
	i->again = (struct timer){ .ring = on_again, .owner = i };
	return loop_add(&i->keeper->loop, &i->on_notice, i->jail.listener,
			EPOLLIN, on_notice, i, err);
}

void
watch_stop(struct inmate *i)
{
	loop_remove(&i->keeper->loop, &i->on_notice);
	loop_set_timer(&i->keeper->loop, &i->again, 0);
}
