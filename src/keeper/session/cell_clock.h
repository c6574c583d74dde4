/*
 * cell_clock: the moments that a session waits for, by loop_now_us(), and how
 * its wall clock stands while the code waits for the host: for an answer of a
 * tool or of a person. The clock stands for no longer than tool_wait in all;
 * the processor clock does not stand.
 *
 * It asks no clock itself: `now_us` is the caller's.
 */
#ifndef REMIT_CELL_CLOCK_H
#define REMIT_CELL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct cell_clock {
	uint64_t deadline_us;	/* 0: none; later by the time it is held */
	uint64_t cpu_check_us;	/* 0: none */
	uint64_t output_us;	/* when to look at the output, from then on */
	unsigned pauses;	/* the code waits for the host so many times */
	uint64_t paused_at_us;	/* since when it does, if it does */
	uint64_t paused_us;	/* how long it did, all together */
	uint64_t pause_left_us; /* that may still stop the clock */
	bool hurried; /* its end is decided: pauses no longer put it off */
};

/* A cell begins: nothing is held. */
void cell_clock_start(struct cell_clock *c, uint64_t deadline_us,
		      uint64_t pause_left_us);
/* Each hold is released once. */
void cell_clock_pause(struct cell_clock *c, uint64_t now_us);
void cell_clock_resume(struct cell_clock *c, uint64_t now_us);
/* How long the code has waited for the host, until this moment. */
uint64_t cell_clock_paused_us(const struct cell_clock *c, uint64_t until_us);
/* The deadline is now this moment, unless it comes sooner. */
void cell_clock_hurry(struct cell_clock *c, uint64_t at_us);
/* When the time is over, if the clock is held until then; 0: never. */
uint64_t cell_clock_deadline(const struct cell_clock *c);
/* The first of all moments that it waits for; 0: there are none. */
uint64_t cell_clock_next(const struct cell_clock *c);

#endif
