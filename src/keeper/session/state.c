#include "keeper/session/state.h"

#define TO(state) (1u << SESSION_##state)
/* Wherever a cell ends: the session goes on, or it does not. */
#define ANSWERED (TO(IDLE) | TO(DONE))
/* Wherever a jail dies, and what leaves it is then seen to. */
#define DEAD (TO(COMMITTING) | TO(EXPORTING) | ANSWERED)

static const struct session_state_row {
	const char *name;
	unsigned next;
	bool rests, reads;
} rows[SESSION_STATES] = {
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
		.rests = true,
		.reads = true,
	},
	[SESSION_FILING] = {
		.name = "filing",
		.next = ANSWERED,
		.rests = true,
		.reads = true,
	},
	[SESSION_SAVING] = {
		.name = "saving",
		.next = ANSWERED,
		.rests = true,
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
	return rows[state].name;
}

bool
session_state_may(enum session_state from, enum session_state to)
{
	return rows[from].next & 1u << to;
}

bool
session_state_rests(enum session_state state)
{
	return rows[state].rests;
}

bool
session_state_reads(enum session_state state)
{
	return rows[state].reads;
}
