/*
 * cell: one program of a session: what the client sent for it, and what came of
 * it. A run is a session with one cell.
 *
 * A session resets its cell with cell_free() and an assignment of CELL_INIT, so
 * what a cell leaves behind for the next one is in struct session and nowhere
 * else.
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

/* What the client wants besides: said with the job of a run, or when a session
   is opened. */
enum session_option {
	SESSION_OPTION_ARTIFACTS = 1, /* it has a place for them */
	SESSION_OPTION_ONCE = 2,      /* this policy will not be used again */
	SESSION_OPTION_STAYS = 4, /* it wants to send another job afterwards */
	SESSION_OPTION_FORKABLE = 8, /* the session may have branches */
};

enum cell_arrival {
	CELL_ABSENT,
	CELL_ARRIVING, /* its job has come */
	CELL_COMPLETE, /* all of it has come, but for standard input */
};

/* Values and displays that went by. */
struct displays {
	bool has_value;
	uint64_t shown, shown_bytes;
	uint64_t left_out;
};

struct cell {
	char id[24];
	/* From the client. */
	enum cell_arrival arrival;
	char *name; /* NULL: the usual one */
	struct list argv;
	struct list env; /* of this cell alone */
	char *tenant;  /* whom processor time and installers count for, or NULL;
			  the next cell has it too */
	char *context; /* the namespace it runs in, or NULL */
	bool fresh;    /* which is made anew */
	bool interactive;    /* a person types it */
	bool can_answer;     /* a person can be asked questions */
	uint64_t timeout_ms; /* less than the policy's; 0: that one */
	struct buf code;
	struct inputs files;
	struct feed input;

	/* What came of it. */
	struct remit_error error; /* why there is no outcome; OK: there is */
	uint64_t code_bytes;	  /* once the code was sent to the jail */
	char code_sha256[SHA256_TEXT]; /* "": not needed */
	uint64_t began_us;	       /* the task was sent */
	uint64_t ended_us;	       /* the code's end was seen */
	bool was_warm;		       /* its interpreter came from a zygote */
	bool is_watched; /* the kernel reports what is refused to it */
	bool stirred;	 /* the cell before may have left a SIGINT */
	bool overdue;	 /* it was interrupted because of a limit */
	bool was_audited;
	uint64_t cpu_before_us, own_cpu_before_us; /* used by earlier cells */
	struct claim claim;
	struct facts facts;
	struct displays displays;
	struct denials denials;
	struct ledger *network;	  /* NULL: it had no proxy */
	struct cgroup_usage used; /* of its groups, at the end */
	struct exit_report exit;
	int workspace;	       /* of the dead jail, if files leave it; or -1 */
	struct export *export; /* NULL: nothing is exported */
	bool was_committed;    /* its changes were to be written */
	struct buf changes;    /* in the committer's words */
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
/* The first error stays: what follows from it says less. */
void cell_fail(struct cell *c, const struct remit_error *why);
bool cell_has_failed(const struct cell *c);

/* From frames "job" and "code". `many`: it is a cell of an open session, which
   knows other keys than a run. *wishes gains what a run wants besides. */
int cell_parse_job(struct cell *c, const struct frame *f, bool many,
		   unsigned *options, struct remit_error *err) must_check;
int cell_set_tenant(struct cell *c, const char *name,
		    struct remit_error *err) must_check;
int cell_add_code(struct cell *c, const struct frame *f, uint64_t max_bytes,
		  struct remit_error *err) must_check;
void cell_free(struct cell *c);

/*
 * Its clock: the moments that a session waits for, by loop_now_us(), and how
 * its wall clock stands while the code waits for the host: for an answer of a
 * tool or of a person. The clock stands for no longer than tool_wait in all;
 * the processor clock does not stand.
 *
 * It asks no clock itself: `now_us` is the caller's.
 */
struct cell_clock {
	uint64_t deadline_us;	/* 0: none; later by the time it is held */
	uint64_t cpu_check_us;	/* 0: none */
	uint64_t output_us;	/* when to look at the output, from then on */
	unsigned pauses;	/* the code waits for the host so many times */
	uint64_t paused_at_us;	/* since when it does, if it does */
	uint64_t paused_us;	/* how long it did, all together */
	uint64_t pause_left_us; /* that may still stop the clock */
	bool cut_short; /* its end is decided: pauses no longer put it off */
};

/* A cell begins: nothing is held. */
void cell_clock_start(struct cell_clock *c, uint64_t deadline_us,
		      uint64_t pause_left_us);
/* Each hold is released once. */
void cell_clock_pause(struct cell_clock *c, uint64_t now_us);
void cell_clock_resume(struct cell_clock *c, uint64_t now_us);
/* How long the code has waited for the host, until this moment. */
uint64_t cell_clock_paused_us(const struct cell_clock *c, uint64_t until_us);
/* The deadline is now this moment, unless it comes sooner. */
void cell_clock_cut_short(struct cell_clock *c, uint64_t at_us);
/* When the time is over, if the clock is held until then; 0: never. */
uint64_t cell_clock_deadline(const struct cell_clock *c);
/* The first of all moments that it waits for; 0: there are none. */
uint64_t cell_clock_next(const struct cell_clock *c);

#endif
