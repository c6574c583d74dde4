/*
 * deadline: how long Remit waits for processes that it has started itself. A
 * slow machine can miss any deadline, so a missed one is never an internal
 * error: it is "busy", with the deadline's name, its length and what to do.
 *
 * The deadlines of a policy (timeout, session_idle, ...) are in the plan.
 */
#ifndef REMIT_DEADLINE_H
#define REMIT_DEADLINE_H

#include <stdint.h>

#include "base/error.h"

enum deadline {
	DEADLINE_PROBE,	  /* a test jail of the probe to report */
	DEADLINE_ANSWER,  /* an interpreter to describe itself */
	DEADLINE_START,	  /* an interpreter to be ready for a job */
	DEADLINE_IMPORT,  /* a zygote to import what is preloaded */
	DEADLINE_FORK,	  /* a zygote to fork */
	DEADLINE_COPY,	  /* a session to be copied */
	DEADLINE_FILE,	  /* a session to answer a request for a file */
	DEADLINE_COMMAND, /* a command to end after it was killed */
	DEADLINE_PORT,	  /* a keeper to open a connection to a port */
	DEADLINE_STOP,	  /* a session to stop for a commit */
	DEADLINE_COMMIT,  /* changes to be written to the host */
	DEADLINE_KEYRING, /* the kernel to free the keyrings of ended runs */
	DEADLINE_GROUP,	  /* another keeper to release a control group */
	DEADLINE_SCOPE,	  /* systemd to grant a scope */
	DEADLINE_COUNT,
};

/* Returns the length of a deadline. A test build reads lengths in ms from the
   variable REMIT_DEADLINES: "start=500,file=2000". */
uint64_t deadline_us(enum deadline d);

/* Fills *err with REMIT_E_BUSY and returns -1. */
int deadline_missed(struct remit_error *err, enum deadline d);

/* Like deadline_missed(), but the sentence comes from another process, which
   got it from that function. */
int deadline_busy(struct remit_error *err, const char *sentence);

#endif
