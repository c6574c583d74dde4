/*
 * status: how a run can end, with the exit code of `remit run` for each.
 */
#ifndef REMIT_STATUS_H
#define REMIT_STATUS_H

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
