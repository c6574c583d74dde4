/*
 * audit: one line of JSON for each run, appended to a file and synced before
 * the result is shown: who ran what by which policy, and how it ended. No code
 * and no output.
 */
#ifndef REMIT_AUDIT_H
#define REMIT_AUDIT_H

#include "error.h"

struct audit {
	const char *path; /* NULL: nobody asked for one */
	int fd;
};

#define AUDIT_INIT       \
	{                \
		.fd = -1 \
	}

/* Before the run: what cannot be written down is not run. */
int audit_open(struct audit *a, struct remit_error *err) must_check;
/* May be called by several threads at once. */
int audit_add(const struct audit *a, const struct remit_job *job,
	      const struct remit_result *res,
	      struct remit_error *err) must_check;
void audit_free(struct audit *a);

#endif
