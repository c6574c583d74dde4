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

/* Discards events of this round that have not been dispatched. */
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

/* Returns the timer that rings first, or NULL. */
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

/* Called after each handler. The hook `after` may defer more work, which must
   not wait for the next event. */
static void
loop_run_after(struct loop *l)
{
	do {
		loop_run_deferred(l);
		if (l->after)
			l->after(l->after_owner);
	} while (l->first_deferred);
}

/* Returns the milliseconds until the next timer, or -1 if none is set. */
static int
loop_timer_ms(const struct loop *l)
{
	const struct timer *t = first_timer(l);
	uint64_t now = t ? loop_now_us() : 0;

	if (!t)
		return -1;
	return t->at_us > now ? (int)((t->at_us - now + 999) / 1000) : 0;
}

/* Rings the timers that are due now. The time is read once: a timer that sets
   itself again for a past time must not starve events. */
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

/* If sched_yield() takes longer than this, another thread needs the
   processor. */
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

	/* A signal handler may have stopped the loop. */
	return n || l->stop ? n : epoll_wait(l->fd, l->batch, LOOP_BATCH, ms);
}

/* A handler of the same round may have changed the events that the source waits
   for, so the mask is checked again. */
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
	/* Runs work that was deferred before the loop began. */
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
		/* Dispatch ready descriptors before expired timers: if this
		   thread was late, the awaited event may already be here. */
		if (!wait && !l->stop)
			loop_ring_timers(l);
	}
	return 0;
}
