/*
 * session_clock: deadlines and processor time of a session.
 *
 * A run that exceeds a limit is killed. A cell of an open session is
 * interrupted first, and its jail is killed only if the cell does not stop in
 * time.
 */
#include "keeper/session/part.h"

void
session_pause_clock(struct session *s)
{
	cell_clock_pause(&s->clock, loop_now_us());
}

void
session_resume_clock(struct session *s)
{
	cell_clock_resume(&s->clock, loop_now_us());
}

uint64_t
session_paused_us(const struct session *s)
{
	uint64_t ended_us = s->cell.ended_us;

	return cell_clock_paused_us(&s->clock,
				    ended_us ? ended_us : loop_now_us());
}

void
session_set_timer(struct session *s)
{
	loop_set_timer(&s->keeper->loop, &s->timer, cell_clock_next(&s->clock));
}

void
session_start_idle_timer(struct session *s)
{
	/* The jail is active while it is being copied, runs commands, or
	   handles a file request. Each command has a deadline. */
	bool active = s->branch || commands_are_running(s->beside.commands);

	s->clock.deadline_us =
		active || !s->worker
			? 0
			: loop_now_us() +
				  session_policy(s)->session_idle_ms * 1000;
	if (s->worker)
		cpu_share_set_idle(&s->worker->cpu_share,
				   !active && s->state != SESSION_FILING);
	session_set_timer(s);
}

uint64_t
session_cpu_us(struct session *s)
{
	struct exit_report now = { 0 };
	struct cgroup_usage g;

	cgroup_read(&s->worker->jail.group, CGROUP_READ_CPU, &g);
	if (g.has_cpu)
		return g.cpu_us;
	jail_sample(&s->worker->jail, &now);
	return now.cpu_us;
}

void
session_start_grace(struct session *s)
{
	s->cell.overdue = true;
	s->clock.cpu_check_us = 0;
	cell_clock_cut_short(&s->clock, loop_now_us() + SESSION_GRACE_US);
	session_set_timer(s);
}

void
session_exceed_limit(struct session *s)
{
	if (!session_has_cells(s) || s->cell.overdue ||
	    s->life == LIFE_CLOSING || s->state != SESSION_RUNNING) {
		session_kill_jail(s);
		return;
	}
	s->clock.deadline_us = 0;
	session_start_grace(s);
	jail_interrupt(&s->worker->jail);
}

/* Commands are stopped first, since the kernel counts the time of the whole
   jail; what remains may use as much again. Between cells the time is used by
   what a cell or a command has left running. */
static void
exceed_cpu_limit(struct session *s)
{
	struct remit_error why;

	if (commands_exceed_cpu(s->beside.commands)) {
		s->cell.cpu_before_us = session_cpu_us(s);
		session_check_cpu(s);
		return;
	}
	if (session_is_between_cells(s)) {
		fail(&why, REMIT_E_REFUSED,
		     "what cell %u left running has used up the processor time "
		     "(cpu_seconds)",
		     s->cells);
		session_lose_jail(s, &why);
		return;
	}
	s->cell.facts.over_cpu = true;
	session_exceed_limit(s);
}

static void
expire_idle(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_REFUSED, "it was idle for %.1f s (session_idle)",
	     (double)session_policy(s)->session_idle_ms / 1000);
	session_lose_jail(s, &why);
}

/* The remaining processor time lasts at least as long as all processors
   together need to use it up: look again then. */
void
session_check_cpu(struct session *s)
{
	uint64_t limit = s->cell.facts.cpu_limit_ms * 1000;
	uint64_t cpus = s->pool->plan.limits.cpus;
	bool runs = s->cell.began_us || session_is_between_cells(s);
	uint64_t used, left;

	if (!limit)
		return;
	used = runs ? session_cpu_us(s) : 0;
	used -= used ? s->cell.cpu_before_us : 0;
	if (used >= limit) {
		exceed_cpu_limit(s);
		return;
	}
	left = (limit - used) / (cpus ? cpus : 1);
	s->clock.cpu_check_us = loop_now_us() + (left > 2000 ? left : 2000);
	session_set_timer(s);
}

static bool
deadline_is_over(const struct session *s)
{
	uint64_t deadline = cell_clock_deadline(&s->clock);

	return deadline && loop_now_us() >= deadline;
}

static void
check_cpu_or_set_timer(struct session *s)
{
	uint64_t at = s->clock.cpu_check_us;

	if (at && s->worker && loop_now_us() >= at)
		session_check_cpu(s);
	else
		session_set_timer(s);
}

void
session_tick_between_cells(struct session *s)
{
	if (!deadline_is_over(s))
		check_cpu_or_set_timer(s);
	else if (s->state == SESSION_FILING)
		session_file_timed_out(s);
	else
		expire_idle(s);
}

void
session_tick_in_cell(struct session *s)
{
	if (deadline_is_over(s)) {
		if (!s->cell.overdue)
			s->cell.facts.timed_out = session_has_cells(s) ||
						  !s->cell.facts.interrupted;
		session_exceed_limit(s);
		return;
	}
	if (s->clock.output_us && loop_now_us() >= s->clock.output_us) {
		s->clock.output_us = 0;
		loop_want(&s->keeper->loop, &s->worker->on_out, EPOLLIN);
		loop_want(&s->keeper->loop, &s->worker->on_err, EPOLLIN);
	}
	check_cpu_or_set_timer(s);
}
