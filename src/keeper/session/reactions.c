/*
 * session_reactions: what is done about the events of a session, in one table
 * by state and event, and the loop that works them off.
 */
#include "keeper/session/part.h"

static int
seek(struct session *s, struct remit_error *err)
{
	if (session_plan(s, session_is_open(s), err) < 0)
		return -1;
	s->cell.facts.cpu_limit_ms = session_cpu_limit_ms(s);
	if (inputs_check(&s->cell.files, &s->pool->plan, err) < 0 ||
	    (tiers[s->pool->plan.tier].jailed &&
	     keeper_check_lock(s->keeper, err) < 0))
		return -1;
	return pool_serve(s->pool, s, err);
}

static void
begin(struct session *s)
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
	    seek(s, &err) < 0)
		session_fail(s, &err);
}

static void
turn_away(struct session *s)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "%d runs are waiting already",
	     KEEPER_WAITING_MAX);
	/* A cell that must not wait costs no variables. */
	if (s->cell.arrival == CELL_COMPLETE && session_is_opened(s))
		session_refuse(s, &err);
	else
		session_fail(s, &err);
}

static void
fail_cell(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
	session_die(s);
}

/* Its answer is on its way, and says this. */
static void
note_trouble(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
}

static void
leave(struct session *s)
{
	if (s->worker)
		session_die(s);
	else
		session_remove(s);
}

static void
interrupt_early(struct session *s)
{
	/* A cell that is not there yet gets it when it begins. */
	if (!session_is_opened(s))
		session_die(s);
}

static void
interrupt_code(struct session *s)
{
	jail_interrupt(&s->worker->jail);
	/* A cell has its own deadline, and variables that would be lost. */
	if (session_is_open(s))
		return;
	cell_clock_hurry(&s->clock, loop_now_us() + SESSION_GRACE_US);
	session_set_timer(s);
}

/* The jail may be on its way out, and its end says more than we can. */
static void
lose_channel(struct session *s)
{
	if (session_is_opened(s))
		session_hasten(s);
}

static void
lose_resting_channel(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "the code has closed its channel");
	session_lose(s, &why);
}

/* The moment is over that its worker waits for: see session_start(). */
static void
start_again(struct session *s)
{
	if (s->worker && s->worker->state == WORKER_TAKEN)
		session_start(s);
}

/* It ended between two cells, and its client does not wait for it. */
static void
lose_worker(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "its interpreter ended after cell %u",
	     s->cells);
	session_lose(s, &why);
}

static void
sent(struct session *s)
{
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

/* All that is done about an event, by the state in which it comes; in the
   others it means nothing any more, or cannot come. */
typedef void reaction(struct session *s);

#define UNTIL_JAIL  SESSION_READING... SESSION_SEEKING
#define IN_CELL	    SESSION_CHECKING... SESSION_RUNNING
#define RESTING	    SESSION_IDLE... SESSION_SAVING
#define WITH_WORKER SESSION_WAITING... SESSION_SEEKING
#define AFTERWARDS  SESSION_DYING... SESSION_EXPORTING

static reaction *const reactions[SESSION_EVENTS][SESSION_STATES] = {
	[SESSION_FAILED] = {
		[UNTIL_JAIL] = fail_cell,
		[RESTING] = session_fail_resting,
		[IN_CELL] = fail_cell,
		[AFTERWARDS] = note_trouble,
	},
	/* What is being written to the host is seen to its end. */
	[SESSION_LEFT] = {
		[UNTIL_JAIL] = leave,
		[SESSION_IDLE] = session_remove,
		[SESSION_FILING] = session_remove,
		[IN_CELL] = leave,
		[SESSION_EXPORTING] = session_remove,
		[SESSION_DONE] = session_remove,
	},
	[SESSION_INTERRUPTED] = {
		[UNTIL_JAIL] = interrupt_early,
		[SESSION_CHECKING] = interrupt_early,
		[SESSION_RUNNING] = interrupt_code,
	},
	[SESSION_REQUESTED] = {
		[SESSION_READING] = session_do_request,
		[SESSION_IDLE] = session_do_request,
		[SESSION_FILING] = session_do_request,
	},
	[SESSION_BUSY] = {
		[SESSION_WAITING] = turn_away,
	},
	[SESSION_ADMITTED] = {
		[SESSION_WAITING] = begin,
	},
	[SESSION_TAKEN] = {
		[SESSION_SEEKING] = session_start,
	},
	[SESSION_SAID] = {
		[IN_CELL] = session_hear_end,
	},
	[SESSION_OVER] = {
		[WITH_WORKER] = session_die,
		[IN_CELL] = session_die,
	},
	[SESSION_CODE_ENDED] = {
		[WITH_WORKER] = session_end_code,
		[RESTING] = lose_worker,
		[IN_CELL] = session_end_code,
	},
	[SESSION_JAIL_DEAD] = {
		[WITH_WORKER] = session_end_jail,
		[RESTING] = lose_worker,
		[IN_CELL] = session_end_jail,
		[SESSION_DYING] = session_end_jail,
	},
	[SESSION_CHANNEL_LOST] = {
		[RESTING] = lose_resting_channel,
		[IN_CELL] = lose_channel,
	},
	[SESSION_RANG] = {
		[SESSION_SEEKING] = start_again,
		[SESSION_IDLE] = session_tick_resting,
		[SESSION_FILING] = session_tick_resting,
		[SESSION_SAVING] = session_commit_stop,
		[IN_CELL] = session_tick,
		[SESSION_COMMITTING] = session_commit_stop,
		[SESSION_EXPORTING] = session_export_more,
	},
	[SESSION_COMMITTED] = {
		[SESSION_SAVING] = session_committed,
		[SESSION_COMMITTING] = session_committed,
	},
	[SESSION_SENT] = {
		[SESSION_EXPORTING] = session_export_more,
		[SESSION_DONE] = sent,
	},
};

static bool
has_unread(const struct session *s)
{
	const struct link *l = s->worker ? &s->worker->jail.channel : NULL;

	return l && !l->ended && l->parsed < l->in.len &&
	       s->worker->state == WORKER_TAKEN && s->state < SESSION_DYING &&
	       !s->queue.events;
}

void
session_work(void *owner)
{
	struct session *s = owner;
	enum session_event event;

	do {
		while ((event = session_queue_next(&s->queue)) !=
		       SESSION_EVENTS)
			if (reactions[event][s->state])
				reactions[event][s->state](s);
		/* The frames after the one that was worked off. */
		session_read_frames(s);
		if (has_unread(s))
			session_read_channel(s);
	} while (s->queue.events);
}
