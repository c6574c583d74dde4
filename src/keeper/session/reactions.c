/*
 * session_reactions: what a session does about its events, in one table by
 * event and state, and the loop that runs them.
 */
#include "keeper/session/part.h"

static int
seek_worker(struct session *s, struct remit_error *err)
{
	if (session_ensure_plan(s, session_has_cells(s), err) < 0)
		return -1;
	s->cell.facts.cpu_limit_ms = session_cpu_limit_ms(s);
	if (inputs_check(&s->cell.files, &s->pool->plan, err) < 0 ||
	    (tiers[s->pool->plan.tier].jailed &&
	     keeper_check_lock(s->keeper, err) < 0))
		return -1;
	return pool_serve(s->pool, s, err);
}

static void
begin_admitted(struct session *s)
{
	struct remit_error err;

	if (s->cell.arrival == CELL_COMPLETE && session_is_opened(s)) {
		session_begin_cell(s);
		return;
	}
	if (session_enter(s, SESSION_SEEKING) < 0)
		return;
	s->committer.begun_at = ctime_mark_latest();
	if (audit_writer_check(&s->keeper->audit_writer, &err) < 0 ||
	    seek_worker(s, &err) < 0)
		session_fail(s, &err);
}

static void
reject_busy(struct session *s)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "too many runs are waiting (limit %d)",
	     KEEPER_WAITING_MAX);
	/* Refuse a cell without killing its jail, so that its variables
	   stay. */
	if (s->cell.arrival == CELL_COMPLETE && session_is_opened(s))
		session_refuse_cell(s, &err);
	else
		session_fail(s, &err);
}

static void
fail_cell(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
	session_kill_jail(s);
}

/* The answer is on its way, and will carry this error. */
static void
keep_trouble(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
}

static void
handle_client_left(struct session *s)
{
	if (s->worker)
		session_kill_jail(s);
	else
		session_remove(s);
}

static void
interrupt_early(struct session *s)
{
	/* A cell that has not started is interrupted when it starts. */
	if (!session_is_opened(s))
		session_kill_jail(s);
}

static void
interrupt_code(struct session *s)
{
	jail_interrupt(&s->worker->jail);
	/* A cell has its own deadline, and killing it would lose its
	   variables. */
	if (session_has_cells(s))
		return;
	cell_clock_cut_short(&s->clock, loop_now_us() + SESSION_GRACE_US);
	session_set_timer(s);
}

/* The jail may be about to die, and its end is a better reason than this. */
static void
lose_channel(struct session *s)
{
	if (session_is_opened(s))
		session_start_grace(s);
}

static void
lose_idle_channel(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "the code has closed its channel");
	session_lose_jail(s, &why);
}

/* The tick of the clock that the worker waited for is over: see
   session_start(). */
static void
retry_start(struct session *s)
{
	if (s->worker && s->worker->state == WORKER_IN_USE)
		session_start(s);
}

/* The worker ended between two cells, when the client waits for nothing. */
static void
lose_idle_worker(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "its interpreter exited after cell %u",
	     s->cells);
	session_lose_jail(s, &why);
}

static void
remove_if_sent(struct session *s)
{
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

/* The reaction to each event in each state. If there is none, the event no
   longer matters or cannot happen in that state. */
typedef void reaction(struct session *s);

#define BEFORE_CELL   SESSION_READING... SESSION_SEEKING
#define IN_CELL	      SESSION_CHECKING... SESSION_RUNNING
#define BETWEEN_CELLS SESSION_IDLE... SESSION_SAVING
#define WITH_WORKER   SESSION_WAITING... SESSION_SEEKING
#define AFTERWARDS    SESSION_DYING... SESSION_EXPORTING

static reaction *const reactions[SESSION_EVENTS][SESSION_STATES] = {
	[SESSION_FAILED] = {
		[BEFORE_CELL] = fail_cell,
		[BETWEEN_CELLS] = session_fail_between_cells,
		[IN_CELL] = fail_cell,
		[AFTERWARDS] = keep_trouble,
	},
	/* A commit in progress is completed although the client has left. */
	[SESSION_LEFT] = {
		[BEFORE_CELL] = handle_client_left,
		[SESSION_IDLE] = session_remove,
		[SESSION_FILING] = session_remove,
		[IN_CELL] = handle_client_left,
		[SESSION_EXPORTING] = session_remove,
		[SESSION_DONE] = session_remove,
	},
	[SESSION_INTERRUPTED] = {
		[BEFORE_CELL] = interrupt_early,
		[SESSION_CHECKING] = interrupt_early,
		[SESSION_RUNNING] = interrupt_code,
	},
	[SESSION_REQUESTED] = {
		[SESSION_READING] = session_do_request,
		[SESSION_IDLE] = session_do_request,
		[SESSION_FILING] = session_do_request,
	},
	[SESSION_BUSY] = {
		[SESSION_WAITING] = reject_busy,
	},
	[SESSION_ADMITTED] = {
		[SESSION_WAITING] = begin_admitted,
	},
	[SESSION_GOT_WORKER] = {
		[SESSION_SEEKING] = session_start,
	},
	[SESSION_REPORTED] = {
		[IN_CELL] = session_handle_reported_end,
	},
	[SESSION_OVER_CEILING] = {
		[WITH_WORKER] = session_kill_jail,
		[IN_CELL] = session_kill_jail,
	},
	[SESSION_CODE_ENDED] = {
		[WITH_WORKER] = session_end_code,
		[BETWEEN_CELLS] = lose_idle_worker,
		[IN_CELL] = session_end_code,
	},
	[SESSION_JAIL_DEAD] = {
		[WITH_WORKER] = session_end_jail,
		[BETWEEN_CELLS] = lose_idle_worker,
		[IN_CELL] = session_end_jail,
		[SESSION_DYING] = session_end_jail,
	},
	[SESSION_CHANNEL_LOST] = {
		[BETWEEN_CELLS] = lose_idle_channel,
		[IN_CELL] = lose_channel,
	},
	[SESSION_TIMER] = {
		[SESSION_SEEKING] = retry_start,
		[SESSION_IDLE] = session_tick_between_cells,
		[SESSION_FILING] = session_tick_between_cells,
		[SESSION_SAVING] = session_stop_commit,
		[IN_CELL] = session_tick_in_cell,
		[SESSION_COMMITTING] = session_stop_commit,
		[SESSION_EXPORTING] = session_export_more,
	},
	[SESSION_COMMITTED] = {
		[SESSION_SAVING] = session_committed,
		[SESSION_COMMITTING] = session_committed,
	},
	[SESSION_SENT] = {
		[SESSION_EXPORTING] = session_export_more,
		[SESSION_DONE] = remove_if_sent,
	},
};

static bool
has_unread(const struct session *s)
{
	const struct link *l = s->worker ? &s->worker->jail.channel : NULL;

	return l && !l->ended && l->parsed < l->in.len &&
	       s->worker->state == WORKER_IN_USE && s->state < SESSION_DYING &&
	       !s->queue.events;
}

void
session_run_events(void *owner)
{
	struct session *s = owner;
	enum session_event event;

	do {
		while ((event = session_queue_next(&s->queue)) !=
		       SESSION_EVENTS)
			if (reactions[event][s->state])
				reactions[event][s->state](s);
		/* Handle the frames after the request that was just handled. */
		session_read_frames(s);
		if (has_unread(s))
			session_read_channel(s);
	} while (s->queue.events);
}
