/*
 * session_clock: deadlines and processor time of a session.
 */
#include "session_part.h"

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void
session_set_timer(struct session *s)
{
	uint64_t at = earlier(s->deadline_us, s->cpu_check_us);

	at = earlier(at, s->output_us);
	loop_set_timer(&s->keeper->loop, &s->timer, at);
}

static uint64_t
cpu_used_us(struct session *s)
{
	struct exit_report now = { 0 };
	struct cgroup_usage g;

	cgroup_read(&s->inmate->jail.group, CGROUP_READ_CPU, &g);
	if (g.has_cpu)
		return g.cpu_us;
	jail_sample(&s->inmate->jail, &now);
	return now.cpu_us;
}

/* Processor time cannot be used up faster than by all processors at once:
   that is when to look again. */
void
session_check_cpu(struct session *s)
{
	uint64_t limit = s->facts.cpu_limit_ms * 1000;
	uint64_t cpus = s->pool->plan.limits.cpus;
	uint64_t used, left;

	if (!limit)
		return;
	used = s->began_us ? cpu_used_us(s) : 0;
	if (used >= limit) {
		s->facts.over_cpu = true;
		session_die(s);
		return;
	}
	left = (limit - used) / (cpus ? cpus : 1);
	s->cpu_check_us = loop_now_us() + (left > 2000 ? left : 2000);
	session_set_timer(s);
}

void
session_on_timer(void *owner)
{
	struct session *s = owner;
	uint64_t now = loop_now_us();

	if (s->state == SESSION_SEEKING) {
		session_start(s);
		return;
	}
	if (s->state == SESSION_COMMITTING) {
		session_commit_stop(s);
		return;
	}
	if (s->state == SESSION_EXPORTING) {
		session_export_more(s);
		return;
	}
	if (s->deadline_us && now >= s->deadline_us) {
		s->facts.timed_out = !s->facts.interrupted;
		session_die(s);
		return;
	}
	if (s->output_us && now >= s->output_us) {
		s->output_us = 0;
		loop_want(&s->keeper->loop, &s->inmate->on_out, EPOLLIN);
		loop_want(&s->keeper->loop, &s->inmate->on_err, EPOLLIN);
	}
	if (s->cpu_check_us && now >= s->cpu_check_us)
		session_check_cpu(s);
	else
		session_set_timer(s);
}
