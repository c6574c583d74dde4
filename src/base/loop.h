/*
 * loop: one thread waits for descriptors and for moments in time, and calls
 * who asked for them. A source or timer may be removed by any handler, at any
 * time, also while others of the same round wait for their call; and what a
 * source no longer wants it is not told. What has come is told before a timer
 * rings.
 */
#ifndef REMIT_LOOP_H
#define REMIT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/error.h"

struct source {
	int fd;
	uint32_t events;
	void (*ready)(void *owner, uint32_t events);
	void *owner;
};

#define SOURCE_INIT       \
	{                 \
		.fd = -1, \
	}

struct timer {
	struct timer *next;
	uint64_t at_us; /* by loop_now_us(); 0: not set */
	void (*ring)(void *owner);
	void *owner;
};

/* Work that a handler leaves for when it has returned. */
struct deferred {
	struct deferred *next;
	bool queued;
	void (*run)(void *owner);
	void *owner;
};

#define LOOP_BATCH 32

struct loop {
	int fd;
	bool stop;
	void (*after)(void *owner); /* after each event and its work, if set */
	void *after_owner;
	struct timer *timers; /* those that are set */
	struct deferred *first_deferred, *last_deferred;
	uint64_t awake_until_us;
	struct epoll_event batch[LOOP_BATCH];
	int batch_count;
};

uint64_t loop_now_us(void);

int loop_open(struct loop *l, struct remit_error *err) must_check;
void loop_free(struct loop *l);

int loop_add(struct loop *l, struct source *s, int fd, uint32_t events,
	     void (*ready)(void *owner, uint32_t events), void *owner,
	     struct remit_error *err) must_check;
/* What was waited for by one is from now on by the other, which is new. */
void loop_move(struct loop *l, struct source *from, struct source *to,
	       void *owner);
/* Change what is waited for; nothing to do if the source is not added. */
void loop_want(struct loop *l, struct source *s, uint32_t events);
/* Before the descriptor is closed. */
void loop_remove(struct loop *l, struct source *s);

/* Call ring(owner) once, at that moment or soon after; 0: never mind. */
void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_us);

/*
 * Call run(owner) once, from the loop itself: when the handler that runs now
 * has returned, before any other event is dispatched, in the order in which the
 * work was deferred. Nothing happens if it is queued already.
 */
void loop_defer(struct loop *l, struct deferred *d);
/* Before its owner is freed. */
void loop_undefer(struct loop *l, struct deferred *d);

/* Something is expected that comes sooner than this thread falls asleep and is
   woken: stay awake for it, so long at most, and until somebody else has had
   the processor for a while. 0: it has come. */
void loop_stay_awake(struct loop *l, uint64_t us);

int loop_run(struct loop *l, struct remit_error *err) must_check;

#endif
