#include "keeper/commit/ctime_mark.h"

/* Both clocks are steered alike, but not at the same moment. */
#define SLACK_NS 1000000
/* How often they are read: whoever is made to wait between the two sees less
   than it is. */
#define READINGS 8

static int64_t
ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t
how_set(void)
{
	int64_t most = INT64_MIN;

	for (int i = 0; i < READINGS; i++) {
		struct timespec real, boot;
		int64_t between;

		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_BOOTTIME, &boot);
		between = ns(&real) - ns(&boot);
		if (between > most)
			most = between;
	}
	return most;
}

struct ctime_mark
ctime_mark_now(void)
{
	struct ctime_mark s = { .set_ns = how_set() };

	clock_gettime(CLOCK_REALTIME_COARSE, &s.at);
	return s;
}

struct timespec
ctime_mark_latest(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

bool
ctime_mark_is_over(const struct timespec *latest)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return ns(&now) > ns(latest);
}

uint64_t
ctime_mark_tick_us(void)
{
	struct timespec tick;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return (uint64_t)ns(&tick) / 1000;
}

bool
ctime_mark_is_void(const struct ctime_mark *s)
{
	return how_set() < s->set_ns - SLACK_NS;
}

bool
ctime_mark_is_since(const struct ctime_mark *s, const struct timespec *t)
{
	return ns(t) >= ns(&s->at);
}
