#include "keeper/session/cell_clock.h"

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* How long it stands by the pauses of now, and no longer than it may. */
static uint64_t
standing_us(const struct cell_clock *c, uint64_t now_us)
{
	uint64_t since = c->pauses ? now_us - c->paused_at_us : 0;

	return since < c->pause_left_us ? since : c->pause_left_us;
}

void
cell_clock_start(struct cell_clock *c, uint64_t deadline_us,
		 uint64_t pause_left_us)
{
	c->deadline_us = deadline_us;
	c->pauses = 0;
	c->paused_us = 0;
	c->pause_left_us = pause_left_us;
}

void
cell_clock_pause(struct cell_clock *c, uint64_t now_us)
{
	if (c->pauses++ == 0)
		c->paused_at_us = now_us;
}

/* The timer is not moved: if it rings too early it is set again. */
void
cell_clock_resume(struct cell_clock *c, uint64_t now_us)
{
	uint64_t stood = standing_us(c, now_us);

	if (!c->pauses || --c->pauses)
		return;
	c->paused_us += now_us - c->paused_at_us;
	c->pause_left_us -= stood;
	if (c->deadline_us && !c->hurried)
		c->deadline_us += stood;
}

uint64_t
cell_clock_paused_us(const struct cell_clock *c, uint64_t until_us)
{
	return c->paused_us + (c->pauses ? until_us - c->paused_at_us : 0);
}

void
cell_clock_hurry(struct cell_clock *c, uint64_t at_us)
{
	c->hurried = true;
	c->deadline_us = earlier(c->deadline_us, at_us);
}

uint64_t
cell_clock_deadline(const struct cell_clock *c)
{
	if (!c->deadline_us || !c->pauses || c->hurried)
		return c->deadline_us;
	return c->deadline_us + c->pause_left_us;
}

uint64_t
cell_clock_next(const struct cell_clock *c)
{
	uint64_t at = earlier(cell_clock_deadline(c), c->cpu_check_us);

	return earlier(at, c->output_us);
}
