/*
 * loop: an event loop for one thread. It waits for descriptors (sources) and
 * timers, and calls their handlers. Any handler may remove any source or timer
 * at any time, even if events of the same round are still to be dispatched; a
 * source is never called for events that it no longer waits for. Ready
 * descriptors are dispatched before expired timers.
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
	uint64_t at_us; /* on the clock of loop_now_us(); 0: not set */
	void (*ring)(void *owner);
	void *owner;
};

/* Work that runs after the current handler has returned. */
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
	void (*after)(void *owner); /* called after each event and its deferred
				       work, if set */
	void *after_owner;
	struct timer *timers; /* the timers that are set */
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
/* Moves a watched descriptor to `to`, which must be unused, with a new
   owner. */
void loop_move(struct loop *l, struct source *from, struct source *to,
	       void *owner);
/* Changes the events to wait for. Has no effect if the source is not added. */
void loop_want(struct loop *l, struct source *s, uint32_t events);
/* Must be called before the descriptor is closed. Has no effect if the source
   is not added. */
void loop_remove(struct loop *l, struct source *s);

/* Calls ring(owner) once, at that time or soon after. 0 cancels the timer. */
void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_us);

/*
 * Calls run(owner) once from the loop, after the current handler has returned
 * and before any other event is dispatched, in the order of the calls of
 * loop_defer(). Has no effect if the work is already queued.
 */
void loop_defer(struct loop *l, struct deferred *d);
/* Cancels the work. Must be called before its owner is freed. */
void loop_undefer(struct loop *l, struct deferred *d);

/* Busy-waits for events instead of sleeping, for an event that is expected
   sooner than this thread could be woken. Ends after `us`, or when another
   thread needed the processor for a while. 0 ends it at once. */
void loop_stay_awake(struct loop *l, uint64_t us);

int loop_run(struct loop *l, struct remit_error *err) must_check;

#endif
