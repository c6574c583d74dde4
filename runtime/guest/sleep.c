/*
 * sleep: clock_nanosleep(3) for CPython, which must know that a signal
 * interrupted it. The function of wasi-libc reports every error as ENOTSUP.
 */
#include <errno.h>
#include <time.h>
#include <wasi/api.h>

#define SECOND UINT64_C(1000000000)

/* Writes how much of a time remains. */
static void
write_rest(struct timespec *rest, uint64_t wanted, uint64_t slept)
{
	uint64_t left = wanted > slept ? wanted - slept : 0;

	rest->tv_sec = (time_t)(left / SECOND);
	rest->tv_nsec = (long)(left % SECOND);
}

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *wait,
		struct timespec *rest)
{
	__wasi_clockid_t id = clock == CLOCK_REALTIME
				      ? __WASI_CLOCKID_REALTIME
				      : __WASI_CLOCKID_MONOTONIC;
	uint64_t wanted =
		(uint64_t)wait->tv_sec * SECOND + (uint64_t)wait->tv_nsec;
	__wasi_subscription_t timer = {
		.u.tag = __WASI_EVENTTYPE_CLOCK,
		.u.u.clock.id = id,
		.u.u.clock.timeout = wanted,
	};
	__wasi_timestamp_t before = 0, after = 0;
	__wasi_event_t event;
	__wasi_errno_t error;
	size_t count;

	if (flags & TIMER_ABSTIME)
		timer.u.u.clock.flags =
			__WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME;
	if (__wasi_clock_time_get(id, 1, &before) != 0)
		return EINVAL;
	error = __wasi_poll_oneoff(&timer, &event, 1, &count);
	if (error == 0)
		error = event.error;
	if (error == EINTR && rest && !(flags & TIMER_ABSTIME) &&
	    __wasi_clock_time_get(id, 1, &after) == 0)
		write_rest(rest, wanted, after - before);
	return error;
}
