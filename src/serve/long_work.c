/*
 * long_work: work for requests in threads, few at once for each key, so that
 * one key neither keeps the HTTP thread from running nor fills the memory with
 * replies that nobody reads.
 */
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "serve/exchange_part.h"
#include "serve/server.h"

/* How many exchanges of one owner do long work at once. */
#define LONG_WORK_MAX 2
/* How long an attempt is repeated, and the pause before the next. */
#define RETRY_US       (10 * UINT64_C(1000000))
#define RETRY_PAUSE_US 10000

struct long_work {
	struct long_work *next;
	struct exchange *x;
	/* One of the two. */
	void (*work)(struct exchange *x);
	exchange_attempt *attempt;
	bool runs;
};

/* The next one of the owner that may run, which is marked as running; NULL if
   there is none. Called with the server's lock held. */
static struct long_work *
next_work(struct server *s, const char *owner)
{
	struct long_work *next = NULL;
	unsigned running = 0;

	for (struct long_work *t = s->long_work; t; t = t->next) {
		if (strcmp(t->x->owner, owner) != 0)
			continue;
		running += t->runs;
		if (!next && !t->runs)
			next = t;
	}
	if (!next || running >= LONG_WORK_MAX)
		return NULL;
	next->runs = true;
	return next;
}

static struct long_work *
end_work(struct server *s, struct long_work *t)
{
	struct long_work **at, *next;

	pthread_mutex_lock(&s->lock);
	for (at = &s->long_work; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	next = next_work(s, t->x->owner);
	pthread_mutex_unlock(&s->lock);
	return next;
}

static bool
is_gone(struct exchange *x)
{
	bool gone;

	pthread_mutex_lock(&x->lock);
	gone = x->is_gone;
	pthread_mutex_unlock(&x->lock);
	return gone;
}

static void
repeat(struct exchange *x, exchange_attempt *attempt)
{
	uint64_t end_us = loop_now_us() + RETRY_US;

	while (!attempt(x, loop_now_us() >= end_us || is_gone(x)))
		usleep(RETRY_PAUSE_US);
}

static void *
run_work(void *work)
{
	struct long_work *t = work, *next;
	struct server *s = t->x->server;

	for (; t; t = next) {
		if (t->attempt)
			repeat(t->x, t->attempt);
		else if (!is_gone(t->x))
			t->work(t->x);
		exchange_wait_sent(t->x);
		next = end_work(s, t);
		exchange_unref(t->x);
		free(t);
	}
	server_thread_ended(s);
	return NULL;
}

static void
begin_in_turn(struct exchange *x, void (*work)(struct exchange *x),
	      exchange_attempt *attempt)
{
	struct server *s = x->server;
	struct long_work *t = malloc(sizeof(*t)), **at, *first;

	if (!t) {
		reply_fail(x, 500, "memory", "no memory");
		return;
	}
	*t = (struct long_work){ .x = exchange_ref(x),
				 .work = work,
				 .attempt = attempt };
	pthread_mutex_lock(&s->lock);
	for (at = &s->long_work; *at; at = &(*at)->next)
		;
	*at = t;
	first = next_work(s, x->owner);
	pthread_mutex_unlock(&s->lock);
	/* If another thread of the owner runs, it continues with this. */
	while (first && server_start_thread(s, run_work, first) < 0) {
		struct exchange *failed = first->x;

		t = first;
		first = end_work(s, t);
		reply_fail(failed, 503, "busy",
			   "cannot start a thread for this request");
		exchange_unref(failed);
		free(t);
	}
}

void
exchange_in_turn(struct exchange *x, void (*work)(struct exchange *x))
{
	begin_in_turn(x, work, NULL);
}

void
exchange_repeat(struct exchange *x, exchange_attempt *attempt)
{
	if (!attempt(x, false))
		begin_in_turn(x, NULL, attempt);
}
