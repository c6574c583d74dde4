#include "stamp.h"

/* Clocks are read one after the other, and may be steered meanwhile. */
#define SLACK_NS 1000000

static int64_t
ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t
how_set(void)
{
	struct timespec real, boot;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return ns(&real) - ns(&boot);
}

struct stamp
stamp_now(void)
{
	struct stamp s = { .set_ns = how_set() };

	clock_gettime(CLOCK_REALTIME_COARSE, &s.at);
	return s;
}

bool
stamp_is_over(const struct stamp *s)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return ns(&now) > ns(&s->at);
}

uint64_t
stamp_tick_us(void)
{
	struct timespec tick;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return (uint64_t)ns(&tick) / 1000;
}

bool
stamp_is_void(const struct stamp *s)
{
	return how_set() < s->set_ns - SLACK_NS;
}

bool
stamp_is_since(const struct stamp *s, const struct timespec *t)
{
	return ns(t) >= ns(&s->at);
}
