/*
 * attest: look from outside at a process that says it is locked down.
 */
#ifndef REMIT_ATTEST_H
#define REMIT_ATTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct attest_want {
	uint32_t uid;
	pid_t parent;	  /* 0: any */
	unsigned filters; /* how many are loaded; 0: do not look */
	bool bounded;	  /* the bounding set is empty too */
};

/* How many filters this process itself has. */
unsigned attest_own_filters(void);

/* Check /proc/PID/status: user, parent, no rights, no new privileges, and a
   loaded filter. */
int attest(pid_t pid, const struct attest_want *want,
	   struct remit_error *err) must_check;

#endif
