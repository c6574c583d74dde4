/*
 * session_clock: deadlines and processor time of a session.
 */
#include <sys/timerfd.h>
#include <time.h>

#include "session_part.h"

uint64_t
session_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void
session_set_timer(struct session *s)
{
	uint64_t at = s->deadline_us;
	struct itimerspec t = { 0 };

	if (s->cpu_check_us && (!at || s->cpu_check_us < at))
		at = s->cpu_check_us;
	t.it_value.tv_sec = (time_t)(at / 1000000);
	t.it_value.tv_nsec = (long)(at % 1000000) * 1000;
	if (s->timer >= 0)
		timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static uint64_t
cpu_used_us(struct session *s)
{
	struct exit_report now = { 0 };
	struct cgroup_usage g;

	cgroup_read(&s->jail.group, &g);
	if (g.has_cpu)
		return g.cpu_us;
	jail_sample(&s->jail, &now);
	return now.cpu_us;
}

/* Processor time cannot be used up faster than by all processors at once:
   that is when to look again. */
void
session_check_cpu(struct session *s)
{
	uint64_t limit = s->facts.cpu_limit_ms * 1000;
	uint64_t used = cpu_used_us(s), cpus = s->plan.limits.cpus;
	uint64_t left;

	if (!limit)
		return;
	if (used >= limit) {
		s->facts.over_cpu = true;
		session_die(s);
		return;
	}
	left = (limit - used) / (cpus ? cpus : 1);
	s->cpu_check_us = session_now_us() + (left > 2000 ? left : 2000);
	session_set_timer(s);
}

void
session_on_timer(void *owner, uint32_t events)
{
	struct session *s = owner;
	uint64_t times, now = session_now_us();
	struct remit_error err;

	(void)events;
	if (read(s->timer, &times, sizeof(times)) < 0 && errno == EAGAIN)
		return;
	if (s->deadline_us && now >= s->deadline_us) {
		if (s->state == SESSION_LOCKING) {
			fail(&err, REMIT_E_INTERNAL,
			     "the interpreter did not start within %llu s",
			     START_PATIENCE_US / 1000000);
			session_give_up(s, &err);
			return;
		}
		s->facts.timed_out = !s->facts.interrupted;
		session_die(s);
		return;
	}
	if (s->cpu_check_us && now >= s->cpu_check_us)
		session_check_cpu(s);
}
