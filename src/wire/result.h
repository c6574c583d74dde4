/*
 * result: the members of a result, in the order of every result, and who
 * provides each of them; and the ways in which a run can end. The keeper sends
 * its members in the frame "result"; the library builds the document
 * (client/result_view.h).
 */
#ifndef REMIT_WIRE_RESULT_H
#define REMIT_WIRE_RESULT_H

enum result_member {
	RESULT_ID,
	RESULT_LINE,
	RESULT_STATUS,
	RESULT_TIER,
	RESULT_START,
	RESULT_EXIT_CODE,
	RESULT_SIGNAL,
	RESULT_STDOUT,
	RESULT_STDERR,
	RESULT_STDOUT_TRUNCATED,
	RESULT_STDERR_TRUNCATED,
	RESULT_ERROR,
	RESULT_REPORTED,
	RESULT_USAGE,
	RESULT_DISPLAYS_LEFT_OUT,
	RESULT_VALUE,
	RESULT_DISPLAYS,
	RESULT_ENFORCEMENT,
	RESULT_DENIALS,
	RESULT_DENIALS_LEFT_OUT,
	RESULT_DENIALS_SEEN,
	RESULT_ARTIFACTS,
	RESULT_ARTIFACTS_SKIPPED,
	RESULT_CHANGES,
	RESULT_CHANGES_SKIPPED,
	RESULT_COMMITTED,
	RESULT_INSTALLED,
	RESULT_SESSION,
	RESULT_CALLS,
	RESULT_CALLS_LEFT_OUT,
	RESULT_RUN_ID,
	RESULT_REMIT_VERSION,
	RESULT_REMIT_EXIT_CODE,
	RESULT_STDOUT_BASE64,
	RESULT_STDERR_BASE64,
	RESULT_MEMBERS,
};

enum result_source {
	RESULT_BY_CALLER = 1, /* a name for the run, if the caller gave one */
	RESULT_BY_KEEPER = 2, /* the frame "result": facts and claims */
	RESULT_BY_PLAN = 4,   /* the frame "enforcement" */
	RESULT_BY_DISPLAYS =
		8, /* the frames "display": JSON that the code wrote */
	RESULT_BY_LIBRARY =
		16, /* what the library received, wrote and called */
	RESULT_BY_ENCODING = 32, /* exists only if the output is not UTF-8 */
};

#define RESULT_PARTS_MAX 8

struct result_row {
	const char *name;
	enum result_source source;
	unsigned types; /* a bit for each json_type that it may have */
	const char *default_json; /* JSON: the value if no keeper has seen the
				     job */
	const char *parts[RESULT_PARTS_MAX]; /* the members of an object, all
						required */
};

extern const struct result_row result_rows[RESULT_MEMBERS];

/* ---- the ways to end, with the exit code of `remit run` for each ---- */

enum status {
	STATUS_OK,
	STATUS_ERROR,	       /* an uncaught exception (a claim) */
	STATUS_EXIT,	       /* the program exited */
	STATUS_TIMEOUT,	       /* the wall clock limit */
	STATUS_CPU_LIMIT,      /* the processor time limit */
	STATUS_MEMORY_LIMIT,   /* the kernel killed it for its memory */
	STATUS_OUTPUT_LIMIT,   /* the hard limit of output */
	STATUS_KILLED,	       /* a signal */
	STATUS_INTERRUPTED,    /* the caller stopped it */
	STATUS_REJECTED,       /* the validator, before the code started */
	STATUS_INSTALL_FAILED, /* a package could not be installed */
	STATUS_REFUSED,	       /* the policy cannot be enforced here */
	STATUS_BUSY,	       /* too many runs */
	STATUS_INTERNAL,       /* Remit or the machine failed */
	STATUS_COUNT,
};

struct status_info {
	const char *name;
	int exit_code; /* -1: the program's exit code; -2: 128 + signal */
	const char *sentence;
};

extern const struct status_info statuses[STATUS_COUNT];

/* Returns -1 if no status has this name. */
int status_find(const char *name);
/* Returns the exit code of `remit run`. */
int status_exit_code(enum status s, int program_exit_code, int signal);

#endif
