/*
 * cell: one program of a session: what the client sent for it, and its outcome.
 * A run is a session with one cell.
 *
 * A session resets its cell with cell_free() and an assignment of CELL_INIT, so
 * anything that outlives a cell must be in struct session.
 */
#ifndef REMIT_CELL_H
#define REMIT_CELL_H

#include "base/digest.h"
#include "jail/cgroup/cgroup.h"
#include "jail/lock/step.h"
#include "keeper/output/denial.h"
#include "keeper/output/outcome.h"
#include "keeper/output/stream.h"
#include "keeper/session/inputs.h"
#include "proxy/ledger.h"
#include "wire/link.h"

struct export;

/* Options of the client, sent with the job of a run or when a session is
   opened. */
enum session_option {
	SESSION_OPTION_ARTIFACTS = 1, /* it wants artifacts */
	SESSION_OPTION_ONCE = 2,      /* it will not use this policy again */
	SESSION_OPTION_STAYS =
		4, /* it wants to send another job on the same connection */
	SESSION_OPTION_FORKABLE = 8, /* the session may have branches */
};

enum cell_arrival {
	CELL_ABSENT,
	CELL_ARRIVING, /* the job has arrived */
	CELL_COMPLETE, /* everything has arrived, except for standard input */
};

/* The values and displays that were forwarded. */
struct displays {
	bool has_value;
	uint64_t shown, shown_bytes;
	uint64_t left_out;
};

struct cell {
	char id[24];
	/* ---- sent by the client ---- */
	enum cell_arrival arrival;
	char *name; /* NULL: the default name */
	struct list argv;
	struct list env; /* for this cell only */
	char *tenant;	 /* who is charged for processor time and installers, or
			    NULL; the next cell inherits it */
	char *context;	 /* the namespace the code runs in, or NULL */
	bool fresh;	 /* the namespace starts empty */
	bool interactive; /* a person types it */
	bool can_answer;  /* a person can answer questions */
	/* if less than the policy's; 0: use the policy's */
	uint64_t timeout_ms;
	struct buf code;
	struct inputs files;
	struct feed input;

	/* The outcome. */
	struct remit_error
		error;	     /* why the cell has no outcome; OK: it has one */
	uint64_t code_bytes; /* set once the code was sent to the jail */
	char code_sha256[SHA256_TEXT]; /* "": not computed */
	uint64_t began_us;	       /* when the task was sent */
	uint64_t ended_us;	       /* when the end of the code was seen */
	bool was_warm;		       /* its interpreter came from a zygote */
	bool is_watched; /* the kernel reports refused system calls */
	bool stirred;	 /* the previous cell may have left a SIGINT pending */
	bool overdue;	 /* it was interrupted because of a limit */
	bool was_audited;
	uint64_t cpu_before_us,
		own_cpu_before_us; /* processor time used by earlier cells */
	struct claim claim;
	struct facts facts;
	struct displays displays;
	struct denials denials;
	struct list installed;	  /* packages, as NAME==VERSION */
	struct ledger *network;	  /* NULL: no proxy */
	struct cgroup_usage used; /* by its cgroups, at the end */
	struct exit_report exit;
	int workspace; /* of the dead jail, if files are exported; or -1 */
	struct export *export; /* NULL: nothing is exported */
	bool was_committed;    /* its changes were to be written to the host */
	struct buf changes;    /* records written by the committer */
};

#define CELL_INIT                                   \
	{                                           \
		.code = BUF_INIT(64 * 1024 * 1024), \
		.files = INPUTS_INIT,               \
		.input = FEED_INIT,                 \
		.workspace = -1,                    \
		.changes = BUF_INIT(2 << 20),       \
	}

void cell_make_id(char out[24]);
/* Sets the cell's error unless it has one: the first error is the cause of the
   others. */
void cell_fail(struct cell *c, const struct remit_error *why);
bool cell_has_failed(const struct cell *c);

/* Parse the frames "job" and "code". `many`: the cell belongs to an open
   session, where other keys are allowed than in a run. Adds the options of a
   run to *options. */
int cell_parse_job(struct cell *c, const struct frame *f, bool many,
		   unsigned *options, struct remit_error *err) must_check;
int cell_set_tenant(struct cell *c, const char *name,
		    struct remit_error *err) must_check;
int cell_add_code(struct cell *c, const struct frame *f, uint64_t max_bytes,
		  struct remit_error *err) must_check;
void cell_free(struct cell *c);

/*
 * The clock of a cell: the moments that its session waits for, in the time of
 * loop_now_us(). The wall clock is paused while the code waits for the host,
 * that is, for a reply of a tool or a person, but no longer than tool_wait in
 * total, or for packages, for which it is extended. The processor clock is
 * never paused.
 *
 * These functions do not read the time: the caller passes `now_us`.
 */
struct cell_clock {
	uint64_t deadline_us;	/* 0: none; moves when a pause ends */
	uint64_t cpu_check_us;	/* 0: none */
	uint64_t output_us;	/* when to start reading the output */
	unsigned pauses;	/* number of pauses in progress */
	uint64_t paused_at_us;	/* when the current pause began */
	uint64_t paused_us;	/* total of all pauses that ended */
	uint64_t pause_left_us; /* how much longer the clock may be paused */
	bool cut_short; /* the end is decided: pauses no longer postpone it */
};

/* Starts a cell, without any pause. */
void cell_clock_start(struct cell_clock *c, uint64_t deadline_us,
		      uint64_t pause_left_us);
/* Each pause must be resumed once. Pauses may overlap. */
void cell_clock_pause(struct cell_clock *c, uint64_t now_us);
void cell_clock_resume(struct cell_clock *c, uint64_t now_us);
/* Allows longer pauses; and takes back what was not used. */
void cell_clock_extend(struct cell_clock *c, uint64_t us);
void cell_clock_retract(struct cell_clock *c, uint64_t us);
/* Returns how long the code has waited for the host, until this moment. */
uint64_t cell_clock_paused_us(const struct cell_clock *c, uint64_t until_us);
/* Makes this moment the deadline, unless the deadline is earlier. */
void cell_clock_cut_short(struct cell_clock *c, uint64_t at_us);
/* Returns when the time is over if the pause in progress lasts until then; 0:
   never. */
uint64_t cell_clock_deadline(const struct cell_clock *c);
/* Returns the earliest moment that the clock waits for; 0: none. */
uint64_t cell_clock_next(const struct cell_clock *c);

#endif
