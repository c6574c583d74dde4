/*
 * result: the members of a result, in the order in which every result has them,
 * and where each of them comes from; and how a run can end. The keeper sends
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
	RESULT_BY_CALLER = 1,	 /* a name for the run, if it has one */
	RESULT_BY_KEEPER = 2,	 /* the frame "result": facts and claims */
	RESULT_BY_PLAN = 4,	 /* the frame "enforcement" */
	RESULT_BY_DISPLAYS = 8,	 /* the frames "display": JSON of the code's */
	RESULT_BY_LIBRARY = 16,	 /* what it received, wrote and called */
	RESULT_BY_ENCODING = 32, /* only there if the output is not text */
};

#define RESULT_PARTS_MAX 8

struct result_row {
	const char *name;
	enum result_source source;
	unsigned types; /* a bit for each json_type that it may have */
	const char *default_json; /* JSON: where no keeper has seen the job */
	const char *parts[RESULT_PARTS_MAX]; /* an object has all of these */
};

extern const struct result_row result_rows[RESULT_MEMBERS];

/* ---- how a run can end, with the exit code of `remit run` for each ---- */

enum status {
	STATUS_OK,
	STATUS_ERROR,	       /* an exception nobody caught (a claim) */
	STATUS_EXIT,	       /* the program left by itself */
	STATUS_TIMEOUT,	       /* the wall clock */
	STATUS_CPU_LIMIT,      /* processor time */
	STATUS_MEMORY_LIMIT,   /* the kernel killed for memory */
	STATUS_OUTPUT_LIMIT,   /* the ceiling of output */
	STATUS_KILLED,	       /* a signal */
	STATUS_INTERRUPTED,    /* the caller's wish */
	STATUS_REJECTED,       /* the validator, before the start */
	STATUS_INSTALL_FAILED, /* packages */
	STATUS_REFUSED,	       /* the policy cannot be kept here */
	STATUS_BUSY,	       /* too many runs */
	STATUS_INTERNAL,       /* Remit or the machine failed */
	STATUS_COUNT,
};

struct status_info {
	const char *name;
	int exit_code; /* -1: the program's own; -2: 128 + signal */
	const char *sentence;
};

extern const struct status_info statuses[STATUS_COUNT];

/* -1 if there is none of that name. */
int status_find(const char *name);
/* The exit code of `remit run`. */
int status_exit_code(enum status s, int program_exit_code, int signal);

#endif
