/*
 * audit: appends one line of JSON about each run to a file, and syncs it before
 * the result is shown: who ran what under which policy, and how it ended. A
 * line contains neither code nor output.
 *
 * A line that cannot be written is kept, and written before the next one.
 */
#ifndef REMIT_AUDIT_H
#define REMIT_AUDIT_H

#include <jansson.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/error.h"

struct audit {
	const char *path; /* NULL: no audit is wanted */
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
	const struct remit_result *res; /* NULL: the run failed */
	const json_t *document;		/* of a command, instead of a result */
	const struct remit_error *why;	/* the error, if the run failed */
	const char *key; /* the name of the client's key at a server, or NULL */
};

/* Open the file. Call this before the run: without an audit nothing may run. */
int audit_open(struct audit *a, struct remit_error *err) must_check;
/* Fails unless all lines so far are written and synced. */
int audit_check(struct audit *a, struct remit_error *err) must_check;
int audit_add(struct audit *a, const struct audit_run *run,
	      struct remit_error *err) must_check;
/* Open the file again, after it was moved away. If that fails, the old file
   stays in use. */
int audit_reopen(struct audit *a, struct remit_error *err) must_check;
void audit_free(struct audit *a);

#endif
