#include "base/loop.h"

#include <sched.h>
#include <time.h>

uint64_t
loop_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int
loop_open(struct loop *l, struct remit_error *err)
{
	l->stop = false;
	l->fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "epoll_create");
	return 0;
}

void
loop_free(struct loop *l)
{
	own_fd_close(&l->fd);
	l->fd = -1;
}

int
loop_add(struct loop *l, struct source *s, int fd, uint32_t events,
	 void (*ready)(void *owner, uint32_t events), void *owner,
	 struct remit_error *err)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	*s = (struct source){
		.fd = fd,
		.events = events,
		.ready = ready,
		.owner = owner,
	};
	if (epoll_ctl(l->fd, EPOLL_CTL_ADD, fd, &e) < 0) {
		s->fd = -1;
		return fail_sys(err, REMIT_E_KERNEL, "epoll_ctl");
	}
	return 0;
}

void
loop_want(struct loop *l, struct source *s, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	if (s->fd < 0 || s->events == events)
		return;
	s->events = events;
	epoll_ctl(l->fd, EPOLL_CTL_MOD, s->fd, &e);
}

/* What came for it already is for nobody. */
static void
loop_forget_events(struct loop *l, struct source *s)
{
	s->fd = -1;
	for (int i = 0; i < l->batch_count; i++)
		if (l->batch[i].data.ptr == s)
			l->batch[i].data.ptr = NULL;
}

void
loop_move(struct loop *l, struct source *from, struct source *to, void *owner)
{
	struct epoll_event e = { .events = from->events, .data.ptr = to };

	*to = *from;
	to->owner = owner;
	epoll_ctl(l->fd, EPOLL_CTL_MOD, to->fd, &e);
	loop_forget_events(l, from);
}

void
loop_remove(struct loop *l, struct source *s)
{
	if (s->fd < 0)
		return;
	epoll_ctl(l->fd, EPOLL_CTL_DEL, s->fd, NULL);
	loop_forget_events(l, s);
}

void
loop_set_timer(struct loop *l, struct timer *t, uint64_t at_us)
{
	struct timer **at = &l->timers;

	if (t->at_us && !at_us) {
		while (*at != t)
			at = &(*at)->next;
		*at = t->next;
	} else if (!t->at_us && at_us) {
		t->next = l->timers;
		l->timers = t;
	}
	t->at_us = at_us;
}

/* The one that rings first, or NULL. */
static struct timer *
first_timer(const struct loop *l)
{
	struct timer *first = NULL;

	for (struct timer *t = l->timers; t; t = t->next)
		if (!first || t->at_us < first->at_us)
			first = t;
	return first;
}

void
loop_defer(struct loop *l, struct deferred *d)
{
	if (d->queued)
		return;
	d->queued = true;
	d->next = NULL;
	if (l->last_deferred)
		l->last_deferred->next = d;
	else
		l->first_deferred = d;
	l->last_deferred = d;
}

void
loop_undefer(struct loop *l, struct deferred *d)
{
	struct deferred **at = &l->first_deferred, *before = NULL;

	if (!d->queued)
		return;
	while (*at != d) {
		before = *at;
		at = &(*at)->next;
	}
	*at = d->next;
	if (l->last_deferred == d)
		l->last_deferred = before;
	d->queued = false;
}

static void
loop_run_deferred(struct loop *l)
{
	struct deferred *d;

	while ((d = l->first_deferred)) {
		loop_undefer(l, d);
		d->run(d->owner);
	}
}

/* A handler has returned. The call of `after` may leave work, and what that
   leaves must not wait for the next event. */
static void
loop_run_after(struct loop *l)
{
	do {
		loop_run_deferred(l);
		if (l->after)
			l->after(l->after_owner);
	} while (l->first_deferred);
}

/* Milliseconds until the next is due, or -1. */
static int
loop_timer_ms(const struct loop *l)
{
	const struct timer *t = first_timer(l);
	uint64_t now = t ? loop_now_us() : 0;

	if (!t)
		return -1;
	return t->at_us > now ? (int)((t->at_us - now + 999) / 1000) : 0;
}

/* Those that are due by now: one that is set again meanwhile, for a moment that
   has come already, must not keep events from being dispatched. */
static void
loop_ring_timers(struct loop *l)
{
	uint64_t now = loop_now_us();
	struct timer *t;

	while ((t = first_timer(l)) && t->at_us <= now) {
		loop_set_timer(l, t, 0);
		t->ring(t->owner);
		loop_run_after(l);
	}
}

void
loop_stay_awake(struct loop *l, uint64_t us)
{
	l->awake_until_us = us ? loop_now_us() + us : 0;
}

/* Whoever got the processor meanwhile wants it more. */
#define YIELD_US 50

static int
loop_wait_awake(struct loop *l)
{
	uint64_t now = loop_now_us(), before;

	while (now < l->awake_until_us && !l->stop) {
		int n = epoll_wait(l->fd, l->batch, LOOP_BATCH, 0);

		if (n)
			return n;
		before = now;
		sched_yield();
		now = loop_now_us();
		if (now - before > YIELD_US)
			break;
	}
	l->awake_until_us = 0;
	return 0;
}

static int
loop_wait(struct loop *l, int ms)
{
	int n = ms && l->awake_until_us ? loop_wait_awake(l) : 0;

	/* A signal may have stopped it. */
	return n || l->stop ? n : epoll_wait(l->fd, l->batch, LOOP_BATCH, ms);
}

/* What came in the same round as an event whose handler does not want it any
   more is nobody's either. */
static void
loop_dispatch(struct loop *l, const struct epoll_event *e)
{
	struct source *s = e->data.ptr;
	uint32_t events = s ? e->events & (s->events | EPOLLHUP | EPOLLERR) : 0;

	if (!events)
		return;
	s->ready(s->owner, events);
	loop_run_after(l);
}

int
loop_run(struct loop *l, struct remit_error *err)
{
	/* Work that was deferred before the loop began. */
	if (l->first_deferred)
		loop_run_after(l);
	while (!l->stop) {
		int wait = loop_timer_ms(l);

		l->batch_count = loop_wait(l, wait);
		if (l->batch_count < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "epoll_wait");
		for (int i = 0; i < l->batch_count && !l->stop; i++)
			loop_dispatch(l, &l->batch[i]);
		l->batch_count = 0;
		/* Who waits in vain is told what has come before its time is
		   over: this thread may be the one that was late. */
		if (!wait && !l->stop)
			loop_ring_timers(l);
	}
	return 0;
}
