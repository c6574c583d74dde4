/*
 * audit_line: the file of an audit, and the form of its lines: who ran what by
 * which policy, and how it ended. No code and no output.
 */
#ifndef REMIT_AUDIT_LINE_H
#define REMIT_AUDIT_LINE_H

#include <jansson.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "policy/policy.h"

struct audit_line_run {
	uid_t uid;
	const char *key; /* the name of a server's key, or NULL */
	const char *policy_sha256;
	const char *code_sha256;
	uint64_t code_bytes;
	const json_t *result; /* the document; NULL: there is none; borrowed */
	const char *error;    /* then the name of why */
};

/* For appending; a regular file, made (0600) if it is missing. */
int audit_line_open(const char *path, struct remit_error *err) must_check;

/* Of the whole policy in one form, however it was written. -1: no memory. */
int audit_line_policy_sha256(const struct policy *p,
			     char out[SHA256_TEXT]) must_check;

/* One line with its end. -1: no memory. */
int audit_line_write(struct buf *out,
		     const struct audit_line_run *run) must_check;

#endif
