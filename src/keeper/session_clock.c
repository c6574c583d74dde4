/*
 * session_clock: deadlines and processor time of a session.
 *
 * A run that is over its limits is killed. A cell of an open session is
 * interrupted first: only if it does not stop in time, all is lost.
 */
#include "session_part.h"

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Since it is held, and no longer than it may be. */
static uint64_t
standing_us(const struct session *s)
{
	uint64_t since = s->holds ? loop_now_us() - s->held_at_us : 0;

	return since < s->hold_left_us ? since : s->hold_left_us;
}

/* Its end is decided: nothing that the code waits for puts it off. */
static bool
is_hurried(const struct session *s)
{
	return s->facts.interrupted || s->overdue;
}

/* When its time is over, if it is held until then. */
static uint64_t
deadline(const struct session *s)
{
	if (!s->deadline_us || !s->holds || is_hurried(s))
		return s->deadline_us;
	return s->deadline_us + s->hold_left_us;
}

void
session_hold(struct session *s)
{
	if (s->holds++ == 0)
		s->held_at_us = loop_now_us();
}

/* The timer is not moved: where it rings too early it is set again. */
void
session_release(struct session *s)
{
	uint64_t stood = standing_us(s);

	if (!s->holds || --s->holds)
		return;
	s->held_us += loop_now_us() - s->held_at_us;
	s->hold_left_us -= stood;
	if (s->deadline_us && !is_hurried(s))
		s->deadline_us += stood;
}

void
session_hold_reset(struct session *s)
{
	s->holds = 0;
	s->held_us = 0;
	s->hold_left_us = plan_keeps(&s->pool->plan, MECH(BRIDGE))
				  ? s->pool->policy.tool_wait_ms * 1000
				  : UINT64_MAX / 4;
}

uint64_t
session_held_us(const struct session *s)
{
	uint64_t until = s->ended_us ? s->ended_us : loop_now_us();

	return s->held_us + (s->holds ? until - s->held_at_us : 0);
}

void
session_set_timer(struct session *s)
{
	uint64_t at = earlier(deadline(s), s->cpu_check_us);

	at = earlier(at, s->output_us);
	loop_set_timer(&s->keeper->loop, &s->timer, at);
}

void
session_set_idle(struct session *s)
{
	s->deadline_us =
		s->branch || !s->inmate
			? 0
			: loop_now_us() +
				  session_policy(s)->session_idle_ms * 1000;
	session_set_timer(s);
	/* Its code works for a file request, and to copy itself. */
	if (s->inmate)
		cpu_share_rest(&s->inmate->cpu_share,
			       !s->branch && !s->filing.asked);
}

uint64_t
session_cpu_us(struct session *s)
{
	struct exit_report now = { 0 };
	struct cgroup_usage g;

	cgroup_read(&s->inmate->jail.group, CGROUP_READ_CPU, &g);
	if (g.has_cpu)
		return g.cpu_us;
	jail_sample(&s->inmate->jail, &now);
	return now.cpu_us;
}

void
session_hasten(struct session *s)
{
	uint64_t grace = loop_now_us() + SESSION_GRACE_US;

	s->overdue = true;
	s->cpu_check_us = 0;
	if (!s->deadline_us || grace < s->deadline_us)
		s->deadline_us = grace;
	session_set_timer(s);
}

void
session_overdue(struct session *s)
{
	if (!session_is_open(s) || s->overdue || s->closing ||
	    s->state != SESSION_RUNNING) {
		session_die(s);
		return;
	}
	s->deadline_us = 0;
	session_hasten(s);
	jail_interrupt(&s->inmate->jail);
}

/* Between cells it is what a cell has left running. */
static void
go_over_cpu(struct session *s)
{
	struct remit_error why;

	if (s->state == SESSION_IDLE) {
		fail(&why, REMIT_E_REFUSED,
		     "what cell %u left running has used up the processor "
		     "time (cpu_seconds)",
		     s->cells);
		session_lose(s, &why);
		return;
	}
	s->facts.over_cpu = true;
	session_overdue(s);
}

static void
expire(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_REFUSED, "no cell came for %.1f s (session_idle)",
	     (double)session_policy(s)->session_idle_ms / 1000);
	session_lose(s, &why);
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
	used = s->began_us || s->state == SESSION_IDLE ? session_cpu_us(s) : 0;
	used -= used ? s->cpu_before_us : 0;
	if (used >= limit) {
		go_over_cpu(s);
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
	if (s->deadline_us && now >= deadline(s)) {
		if (s->state == SESSION_IDLE) {
			s->filing.asked ? session_file_late(s) : expire(s);
			return;
		}
		if (!s->overdue)
			s->facts.timed_out =
				session_is_open(s) || !s->facts.interrupted;
		session_overdue(s);
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
