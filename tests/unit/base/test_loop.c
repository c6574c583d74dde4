/*
 * loop: timers ring in the order of their times, and a removed source is not
 * called, even if its event is pending.
 */
#include "base/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#define PIPES 4

/* Handlers record their calls, one letter each. */
struct world {
	struct loop loop;
	char log[64];
	struct timer timers[PIPES];
	struct source sources[PIPES];
	int readers[PIPES], writers[PIPES];
	struct act {
		struct world *world;
		char letter;
		void (*also)(struct world *w);
	} acts[PIPES];
	int rings;
	int afters;
};

static void
act(struct act *a)
{
	size_t len = strlen(a->world->log);

	assert_true(len + 1 < sizeof(a->world->log));
	a->world->log[len] = a->letter;
	if (a->also)
		a->also(a->world);
}

static void
on_ring(void *owner)
{
	act(owner);
}

static void
on_ready(void *owner, uint32_t events)
{
	assert_true(events & EPOLLIN);
	act(owner);
}

static void
stop(struct world *w)
{
	w->loop.stop = true;
}

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct remit_error err;

	if (!w || loop_open(&w->loop, &err) < 0)
		return -1;
	for (int i = 0; i < PIPES; i++) {
		int pair[2];

		w->acts[i] = (struct act){ w, (char)('a' + i), NULL };
		w->timers[i] = (struct timer){
			.ring = on_ring,
			.owner = &w->acts[i],
		};
		w->sources[i] = (struct source)SOURCE_INIT;
		if (pipe(pair) < 0)
			return -1;
		w->readers[i] = pair[0];
		w->writers[i] = pair[1];
	}
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < PIPES; i++) {
		own_fd_close(&w->readers[i]);
		own_fd_close(&w->writers[i]);
	}
	loop_free(&w->loop);
	free(w);
	return 0;
}

static void
run(struct world *w)
{
	struct remit_error err;

	if (loop_run(&w->loop, &err) < 0)
		fail_msg("%s", err.message);
}

static void
set(struct world *w, int i, uint64_t at_us)
{
	loop_set_timer(&w->loop, &w->timers[i], at_us);
}

static void
watch(struct world *w, int i)
{
	struct remit_error err;

	if (loop_add(&w->loop, &w->sources[i], w->readers[i], EPOLLIN, on_ready,
		     &w->acts[i], &err) < 0)
		fail_msg("%s", err.message);
}

static void
poke(struct world *w, int i)
{
	assert_int_equal(write(w->writers[i], "x", 1), 1);
}

/* Times in the past: all timers are due at once, in this order. */
static void
timers_ring_in_order_of_their_times(void **state)
{
	static const int orders[][PIPES] = {
		{ 0, 1, 2, 3 },
		{ 3, 2, 1, 0 },
		{ 1, 3, 0, 2 },
		{ 2, 0, 3, 1 },
	};
	struct world *w = *state;

	w->acts[3].also = stop;
	for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
		for (int i = 0; i < PIPES; i++)
			set(w, orders[k][i], 100 + (uint64_t)orders[k][i]);
		w->loop.stop = false;
		memset(w->log, 0, sizeof(w->log));
		run(w);
		assert_string_equal(w->log, "abcd");
		assert_null(w->loop.timers);
	}
}

/* The time of the next timer in this test. */
static uint64_t due_us;

static void
is_due(struct world *w)
{
	assert_true(loop_now_us() >= due_us);
	if (++w->rings == 3)
		w->loop.stop = true;
	due_us += 4000;
}

static void
timer_rings_once_and_not_before_its_time(void **state)
{
	struct world *w = *state;

	due_us = loop_now_us() + 4000;
	for (int i = 0; i < 3; i++) {
		w->acts[i].also = is_due;
		set(w, i, due_us + 4000 * (uint64_t)i);
	}
	run(w);
	assert_string_equal(w->log, "abc");
	assert_int_equal(w->timers[0].at_us, 0);
}

static void
timer_that_was_set_again_rings_only_at_its_new_time(void **state)
{
	struct world *w = *state;

	w->acts[2].also = stop;
	set(w, 0, 100);
	set(w, 1, 101);
	set(w, 2, 103);
	set(w, 0, 102); /* later */
	run(w);
	assert_string_equal(w->log, "bac");
	w->loop.stop = false;
	set(w, 0, 105);
	set(w, 1, 106);
	set(w, 2, 107);
	set(w, 1, 104); /* sooner */
	run(w);
	assert_string_equal(w->log, "bacbac");
}

static void
cancelled_timer_does_not_ring(void **state)
{
	struct world *w = *state;

	/* the first, middle and last of the list, and one that was never set */
	for (int gone = 0; gone < 3; gone++) {
		const char *const left[] = { "bcd", "acd", "abd" };

		w->acts[3].also = stop;
		w->loop.stop = false;
		memset(w->log, 0, sizeof(w->log));
		for (int i = 0; i < PIPES; i++)
			set(w, i, 100 + (uint64_t)i);
		set(w, gone, 0);
		set(w, gone, 0);
		run(w);
		assert_string_equal(w->log, left[gone]);
	}
}

static void
take_b_back(struct world *w)
{
	set(w, 1, 0);
}

static void
timer_cancelled_by_another_does_not_ring(void **state)
{
	struct world *w = *state;

	w->acts[0].also = take_b_back;
	w->acts[2].also = stop;
	for (int i = 0; i < 3; i++)
		set(w, i, 100 + (uint64_t)i);
	run(w);
	assert_string_equal(w->log, "ac");
}

static void
ring_a_again(struct world *w)
{
	if (++w->rings < 3)
		set(w, 0, 200);
}

static void
a_timer_may_set_itself_again_while_it_rings(void **state)
{
	struct world *w = *state;

	w->acts[0].also = ring_a_again;
	w->acts[1].also = stop;
	set(w, 0, 100);
	set(w, 1, 300);
	run(w);
	assert_string_equal(w->log, "aaab");
}

static void
ring_a_at_once(struct world *w)
{
	assert_true(++w->rings < 10);
	if (w->rings == 1)
		poke(w, 1);
	/* This takes time, as in a timer that does work in pieces. */
	for (uint64_t now = loop_now_us(); loop_now_us() < now + 10;)
		;
	set(w, 0, loop_now_us());
}

static void
a_timer_that_is_always_due_does_not_keep_events_waiting(void **state)
{
	struct world *w = *state;

	w->acts[0].also = ring_a_at_once;
	w->acts[1].also = stop;
	watch(w, 1);
	set(w, 0, 100);
	run(w);
	assert_string_equal(w->log, "ab");
	set(w, 0, 0);
	loop_remove(&w->loop, &w->sources[1]);
}

/* Frees the timer and its owner: the loop must not access either after the
   call. */
static void
free_own_timer(void *owner)
{
	free(owner);
}

static void
a_timer_may_be_freed_while_it_rings(void **state)
{
	struct world *w = *state;
	struct timer *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->ring = free_own_timer;
	t->owner = t;
	w->acts[0].also = stop;
	loop_set_timer(&w->loop, t, 100);
	set(w, 0, 101);
	run(w);
	assert_string_equal(w->log, "a");
}

static void
a_ready_source_is_called_until_it_is_removed(void **state)
{
	struct world *w = *state;

	w->acts[3].also = stop;
	watch(w, 0);
	poke(w, 0);
	set(w, 3, loop_now_us() + 20000);
	w->acts[0].also = NULL;
	/* Nothing is read, so the source stays ready; the third call stops the
	   loop. */
	for (int i = 0; i < 3; i++) {
		w->acts[0].also = stop;
		w->loop.stop = false;
		run(w);
	}
	assert_string_equal(w->log, "aaa");
	loop_remove(&w->loop, &w->sources[0]);
	assert_int_equal(w->sources[0].fd, -1);
	loop_remove(&w->loop, &w->sources[0]);
	w->loop.stop = false;
	run(w);
	assert_string_equal(w->log, "aaad");
}

/* As if the whole process was stopped until the timer had expired. */
static void
ready_events_are_dispatched_before_timers(void **state)
{
	struct world *w = *state;

	w->acts[0].also = take_b_back;
	w->acts[2].also = stop;
	watch(w, 0);
	poke(w, 0);
	set(w, 1, 100);
	set(w, 2, 101);
	run(w);
	assert_string_equal(w->log, "ac");
}

/* Deferred work: its letters are capitals. */
static struct later {
	struct deferred d;
	struct world *world;
	struct later *also; /* deferred by itself */
	char letter;
} laters[3];

static void
on_later(void *owner)
{
	struct later *t = owner;
	size_t len = strlen(t->world->log);

	t->world->log[len] = t->letter;
	if (t->also)
		loop_defer(&t->world->loop, &t->also->d);
}

static void
make_laters(struct world *w)
{
	for (int i = 0; i < 3; i++)
		laters[i] = (struct later){
			.d = { .run = on_later, .owner = &laters[i] },
			.world = w,
			.letter = (char)('A' + i),
		};
}

static void
leave_b_then_a(struct world *w)
{
	loop_defer(&w->loop, &laters[1].d);
	loop_defer(&w->loop, &laters[0].d);
	loop_defer(&w->loop, &laters[1].d); /* it is already queued */
}

static void
deferred_work_runs_in_order_before_the_next_event(void **state)
{
	struct world *w = *state;

	make_laters(w);
	w->acts[0].also = leave_b_then_a;
	w->acts[1].also = stop;
	laters[1].also = &laters[2]; /* deferred work may defer more work */
	set(w, 0, 100);
	set(w, 1, 101);
	run(w);
	assert_string_equal(w->log, "aBACb");
	assert_null(w->loop.first_deferred);
	assert_null(w->loop.last_deferred);
}

static void
deferred_work_can_be_cancelled(void **state)
{
	struct world *w = *state;

	/* the first, middle and last of the queue, and one that is not
	   queued */
	for (int gone = 0; gone < 3; gone++) {
		const char *const left[] = { "BCa", "ACa", "ABa" };

		make_laters(w);
		w->acts[0].also = stop;
		w->loop.stop = false;
		memset(w->log, 0, sizeof(w->log));
		for (int i = 0; i < 3; i++)
			loop_defer(&w->loop, &laters[i].d);
		loop_undefer(&w->loop, &laters[gone].d);
		loop_undefer(&w->loop, &laters[gone].d);
		set(w, 0, 100);
		run(w);
		assert_string_equal(w->log, left[gone]);
	}
}

/* The after hook defers work, and that work makes the hook defer more. */
static void
log_after(void *owner)
{
	struct world *w = owner;

	w->log[strlen(w->log)] = '.';
	if (!w->afters++)
		loop_defer(&w->loop, &laters[2].d);
}

static void
work_deferred_by_the_after_hook_does_not_wait_for_an_event(void **state)
{
	struct world *w = *state;

	make_laters(w);
	w->loop.after = log_after;
	w->loop.after_owner = w;
	w->acts[0].also = stop;
	loop_defer(&w->loop, &laters[0].d); /* before the loop begins */
	set(w, 0, 100);
	run(w);
	assert_string_equal(w->log, "A.C.a.");
}

static uint64_t
own_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
busy_wait_dispatches_events_and_ends_at_its_deadline(void **state)
{
	struct world *w = *state;
	uint64_t cpu;

	w->acts[0].also = stop;
	w->acts[1].also = stop;
	watch(w, 0);
	poke(w, 0);
	loop_stay_awake(&w->loop, 60ull * 1000000);
	run(w);
	assert_string_equal(w->log, "a");
	loop_remove(&w->loop, &w->sources[0]);

	/* The event has arrived, so the loop does not wait for the rest of the
	   minute. */
	assert_int_not_equal(w->loop.awake_until_us, 0);
	loop_stay_awake(&w->loop, 0);
	assert_int_equal(w->loop.awake_until_us, 0);
	loop_stay_awake(&w->loop, 1000);
	cpu = own_cpu_us();
	w->loop.stop = false;
	set(w, 1, loop_now_us() + 100000);
	run(w);
	assert_string_equal(w->log, "ab");
	assert_int_equal(w->loop.awake_until_us, 0);
	assert_true(own_cpu_us() - cpu < 50000);
}

static struct world *signalled;

static void
on_alarm(int signal)
{
	(void)signal;
	stop(signalled);
}

static void
busy_wait_is_ended_by_a_signal(void **state)
{
	struct itimerval soon = { .it_value = { .tv_usec = 300 } };
	struct world *w = signalled = *state;

	signal(SIGALRM, on_alarm);
	for (int i = 0; i < 10; i++) {
		w->loop.stop = false;
		set(w, 0, loop_now_us() + 60ull * 1000000);
		loop_stay_awake(&w->loop, 3000);
		setitimer(ITIMER_REAL, &soon, NULL);
		run(w);
		assert_true(loop_now_us() < w->timers[0].at_us);
		set(w, 0, 0);
	}
}

static void
remove_all(struct world *w)
{
	for (int i = 0; i < PIPES; i++)
		loop_remove(&w->loop, &w->sources[i]);
	/* Any other pending source would be called before this timer. */
	w->acts[3].also = stop;
	set(w, 3, loop_now_us() + 20000);
}

/* All sources are ready in one round. The first one that is called removes the
   others. */
static void
a_source_removed_while_its_event_waits_is_not_called(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		w->acts[i].also = remove_all;
		watch(w, i);
		poke(w, i);
	}
	run(w);
	assert_int_equal(strlen(w->log), 2);
	assert_int_equal(w->log[1], 'd');
}

static void
want_nothing(struct world *w)
{
	for (int i = 0; i < PIPES; i++)
		loop_want(&w->loop, &w->sources[i], 0);
	w->acts[3].also = stop;
	set(w, 3, loop_now_us() + 20000);
}

/* Unlike a removed source, this one stays added: it gets events again when it
   waits for them again. */
static void
source_that_stopped_waiting_for_a_pending_event_is_not_called(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		w->acts[i].also = want_nothing;
		watch(w, i);
		poke(w, i);
	}
	run(w);
	assert_int_equal(strlen(w->log), 2);
	assert_int_equal(w->log[1], 'd');
	for (int i = 0; i < 3; i++)
		loop_want(&w->loop, &w->sources[i], EPOLLIN);
	w->acts[0].also = w->acts[1].also = w->acts[2].also = stop;
	w->loop.stop = false;
	run(w);
	assert_int_equal(strlen(w->log), 3);
}

/* Adds the same structs again with other descriptors: events of the old ones
   must not be delivered. */
static void
replace_the_others(struct world *w)
{
	int called = w->log[0] - 'a';

	for (int i = 0; i < 3; i++) {
		loop_remove(&w->loop, &w->sources[i]);
		if (i != called) {
			char byte;

			assert_int_equal(read(w->readers[i], &byte, 1), 1);
			watch(w, i);
		}
	}
	w->acts[3].also = stop;
	set(w, 3, loop_now_us() + 20000);
}

static void
source_added_again_does_not_get_an_old_event(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		w->acts[i].also = replace_the_others;
		watch(w, i);
		poke(w, i);
	}
	run(w);
	assert_int_equal(strlen(w->log), 2);
	assert_int_equal(w->log[1], 'd');
}

static void
source_is_called_only_for_its_events(void **state)
{
	struct world *w = *state;

	w->acts[3].also = stop;
	watch(w, 0);
	poke(w, 0);
	loop_want(&w->loop, &w->sources[0], 0);
	set(w, 3, loop_now_us() + 20000);
	run(w);
	assert_string_equal(w->log, "d");
	w->acts[0].also = stop;
	w->loop.stop = false;
	loop_want(&w->loop, &w->sources[0], EPOLLIN);
	run(w);
	assert_string_equal(w->log, "da");
	/* Not added: has no effect. */
	loop_want(&w->loop, &w->sources[1], EPOLLIN);
	assert_int_equal(w->sources[1].fd, -1);
}

static void
a_descriptor_that_cannot_be_watched_is_an_error_and_not_added(void **state)
{
	struct world *w = *state;
	struct remit_error err;
	int fd = w->readers[0];

	own_fd_close(&w->readers[0]);
	w->readers[0] = -1;
	assert_int_equal(loop_add(&w->loop, &w->sources[0], fd, EPOLLIN,
				  on_ready, &w->acts[0], &err),
			 -1);
	assert_int_equal(err.code, REMIT_E_KERNEL);
	assert_int_equal(w->sources[0].fd, -1);
}

static void
count_call(void *owner)
{
	struct world *w = owner;

	w->afters++;
	/* The hook runs after the handler, never before it. */
	assert_int_equal(w->afters, strlen(w->log));
}

static void
after_hook_follows_every_handler(void **state)
{
	struct world *w = *state;

	w->loop.after = count_call;
	w->loop.after_owner = w;
	w->acts[1].also = stop;
	watch(w, 0);
	poke(w, 0);
	set(w, 1, 100);
	run(w);
	assert_string_equal(w->log, "ab");
	assert_int_equal(w->afters, 2);
}

static void
once_stopped_no_more_sources_are_called(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < PIPES; i++) {
		w->acts[i].also = stop;
		watch(w, i);
		poke(w, i);
	}
	run(w);
	assert_int_equal(strlen(w->log), 1);
}

static void
move_to_the_next(struct world *w)
{
	loop_move(&w->loop, &w->sources[0], &w->sources[1], &w->acts[1]);
}

/* A moved source keeps its events, and the struct that it left gets none. */
static void
a_source_that_moved_is_called_in_its_new_place(void **state)
{
	struct world *w = *state;

	watch(w, 0);
	w->acts[0].also = move_to_the_next;
	w->acts[1].also = stop;
	poke(w, 0);
	run(w);
	assert_string_equal(w->log, "ab");
	assert_int_equal(w->sources[0].fd, -1);
	assert_int_equal(w->sources[1].fd, w->readers[0]);
	loop_remove(&w->loop, &w->sources[1]);
}

#define with_world(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(timers_ring_in_order_of_their_times),
		with_world(timer_rings_once_and_not_before_its_time),
		with_world(timer_that_was_set_again_rings_only_at_its_new_time),
		with_world(cancelled_timer_does_not_ring),
		with_world(timer_cancelled_by_another_does_not_ring),
		with_world(a_timer_may_set_itself_again_while_it_rings),
		with_world(
			a_timer_that_is_always_due_does_not_keep_events_waiting),
		with_world(a_timer_may_be_freed_while_it_rings),
		with_world(deferred_work_runs_in_order_before_the_next_event),
		with_world(deferred_work_can_be_cancelled),
		with_world(
			work_deferred_by_the_after_hook_does_not_wait_for_an_event),
		with_world(a_ready_source_is_called_until_it_is_removed),
		with_world(ready_events_are_dispatched_before_timers),
		with_world(
			busy_wait_dispatches_events_and_ends_at_its_deadline),
		with_world(busy_wait_is_ended_by_a_signal),
		with_world(
			a_source_removed_while_its_event_waits_is_not_called),
		with_world(
			source_that_stopped_waiting_for_a_pending_event_is_not_called),
		with_world(source_added_again_does_not_get_an_old_event),
		with_world(source_is_called_only_for_its_events),
		with_world(
			a_descriptor_that_cannot_be_watched_is_an_error_and_not_added),
		with_world(after_hook_follows_every_handler),
		with_world(once_stopped_no_more_sources_are_called),
		with_world(a_source_that_moved_is_called_in_its_new_place),
	};

	/* A loop without sources and timers would wait forever. */
	alarm(100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
