#include "keeper/session/state.h"

#define TO(state) (1u << SESSION_##state)
/* At the end of a cell: the session continues, or it ends. */
#define ANSWERED (TO(IDLE) | TO(DONE))
/* When a jail is dead, changes and files are written first. */
#define DEAD (TO(COMMITTING) | TO(EXPORTING) | ANSWERED)

static const struct session_state_row {
	const char *name;
	unsigned next;
	bool is_between_cells, reads;
} state_rows[SESSION_STATES] = {
	[SESSION_READING] = {
		.name = "reading",
		.next = TO(WAITING) | TO(SEEKING) | TO(DONE),
		.reads = true,
	},
	[SESSION_WAITING] = {
		.name = "waiting",
		.next = TO(SEEKING) | TO(CHECKING) | TO(RUNNING) | TO(DYING) |
			ANSWERED,
		.reads = true,
	},
	[SESSION_SEEKING] = {
		.name = "seeking",
		.next = TO(CHECKING) | TO(RUNNING) | TO(DYING) | DEAD,
		.reads = true,
	},
	[SESSION_IDLE] = {
		.name = "idle",
		.next = TO(WAITING) | TO(FILING) | TO(SAVING) | TO(RUNNING) |
			ANSWERED,
		.is_between_cells = true,
		.reads = true,
	},
	[SESSION_FILING] = {
		.name = "filing",
		.next = ANSWERED,
		.is_between_cells = true,
		.reads = true,
	},
	[SESSION_SAVING] = {
		.name = "saving",
		.next = ANSWERED,
		.is_between_cells = true,
	},
	[SESSION_CHECKING] = {
		.name = "checking",
		.next = TO(RUNNING) | TO(DYING) | DEAD,
		.reads = true,
	},
	[SESSION_RUNNING] = {
		.name = "running",
		.next = TO(DYING) | DEAD,
		.reads = true,
	},
	[SESSION_DYING] = {
		.name = "dying",
		.next = DEAD,
	},
	[SESSION_COMMITTING] = {
		.name = "committing",
		.next = TO(EXPORTING) | ANSWERED,
	},
	[SESSION_EXPORTING] = {
		.name = "exporting",
		.next = ANSWERED,
	},
	[SESSION_DONE] = {
		.name = "done",
	},
};

const char *
session_state_name(enum session_state state)
{
	return state_rows[state].name;
}

bool
session_state_may(enum session_state from, enum session_state to)
{
	return state_rows[from].next & 1u << to;
}

bool
session_state_is_between_cells(enum session_state state)
{
	return state_rows[state].is_between_cells;
}

bool
session_state_reads(enum session_state state)
{
	return state_rows[state].reads;
}

/* ---- events ---- */

static const char *const event_names[SESSION_EVENTS] = {
	[SESSION_FAILED] = "failed",
	[SESSION_LEFT] = "left",
	[SESSION_INTERRUPTED] = "interrupted",
	[SESSION_REQUESTED] = "requested",
	[SESSION_BUSY] = "busy",
	[SESSION_ADMITTED] = "admitted",
	[SESSION_GOT_WORKER] = "got_worker",
	[SESSION_REPORTED] = "reported",
	[SESSION_OVER_CEILING] = "over_ceiling",
	[SESSION_CODE_ENDED] = "code_ended",
	[SESSION_JAIL_DEAD] = "jail_dead",
	[SESSION_CHANNEL_LOST] = "channel_lost",
	[SESSION_TIMER] = "timer",
	[SESSION_COMMITTED] = "committed",
	[SESSION_SENT] = "sent",
};

const char *
session_event_name(enum session_event event)
{
	return event_names[event];
}

void
session_queue_add(struct session_queue *q, struct loop *l,
		  enum session_event event)
{
	q->events |= 1u << event;
	loop_defer(l, &q->work);
}

void
session_queue_fail(struct session_queue *q, struct loop *l,
		   const struct remit_error *why)
{
	if (!session_queue_has(q, SESSION_FAILED))
		q->trouble = *why;
	session_queue_add(q, l, SESSION_FAILED);
}

enum session_event
session_queue_next(struct session_queue *q)
{
	for (unsigned event = 0; event < SESSION_EVENTS; event++)
		if (q->events & 1u << event) {
			q->events &= ~(1u << event);
			return (enum session_event)event;
		}
	return SESSION_EVENTS;
}
