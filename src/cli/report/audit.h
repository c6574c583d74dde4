/*
 * audit: one line of JSON for each run, appended to a file and synced before
 * the result is shown: who ran what by which policy, and how it ended. No code
 * and no output.
 *
 * A line that cannot be written waits, and is written before the next.
 */
#ifndef REMIT_AUDIT_H
#define REMIT_AUDIT_H

#include <pthread.h>

#include "base/buf.h"
#include "base/error.h"

struct audit {
	const char *path; /* NULL: nobody asked for one */
	int fd;
	pthread_mutex_t lock;
	struct buf waiting; /* lines that are not written yet */
};

#define AUDIT_INIT                           \
	{ .fd = -1,                          \
	  .lock = PTHREAD_MUTEX_INITIALIZER, \
	  .waiting = BUF_INIT(64 * 1024 * 1024) }

struct audit_run {
	const struct remit_job *job;	/* with its policy */
	const struct remit_result *res; /* NULL: there is none */
	const struct remit_error *why;	/* then why */
	const char *key;		/* of a server, by its name; or NULL */
};

/* Before the run: what cannot be written down is not run. */
int audit_open(struct audit *a, struct remit_error *err) must_check;
/* The same later on: whether all lines so far are written. */
int audit_check(struct audit *a, struct remit_error *err) must_check;
int audit_add(struct audit *a, const struct audit_run *run,
	      struct remit_error *err) must_check;
/* The file was moved away: begin a new one, or go on with the old. */
int audit_reopen(struct audit *a, struct remit_error *err) must_check;
void audit_free(struct audit *a);

#endif
