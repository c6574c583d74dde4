/*
 * keeper_audit: the file of an audit, the form of its lines, and the process
 * that writes them for a shared keeper.
 *
 * A line says who ran what by which policy, and how it ended. No code and no
 * output.
 */
#ifndef REMIT_KEEPER_AUDIT_H
#define REMIT_KEEPER_AUDIT_H

#include <jansson.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/loop.h"
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

/*
 * The audit writer: a process that writes the audit of a shared keeper, so that
 * the keeper waits for no disk. It is told lines by a socket and appends and
 * syncs as many as there are at once. What the keeper has told it is written
 * though the keeper be killed.
 *
 * While the audit writer cannot write, nothing is run: see
 * audit_writer_check().
 */

struct audit_writer {
	int fd; /* -1: there is no audit */
	pid_t pid;
	uid_t uid; /* who we are outside of all namespaces */
	const char *path;
	int trouble; /* the error it last told of; 0: none */
	struct buf out;
	struct loop *loop;
	struct source on_fd;
};

#define AUDIT_WRITER_INIT \
	{ .fd = -1, .out = BUF_INIT(64 * 1024 * 1024), .on_fd = SOURCE_INIT }

/* Open the file and start the process, before we filter ourselves. */
int audit_writer_start(struct audit_writer *c, const char *path,
		       struct remit_error *err) must_check;
int audit_writer_watch(struct audit_writer *c, struct loop *l,
		       struct remit_error *err) must_check;

/* Before a run: what cannot be written down is not run. */
int audit_writer_check(const struct audit_writer *c,
		       struct remit_error *err) must_check;
void audit_writer_add(struct audit_writer *c, const struct buf *line);
/* There was no memory for a line: nothing is run any more. */
void audit_writer_lose(struct audit_writer *c);
/* The file was moved away: begin a new one. Safe in a signal handler. */
void audit_writer_reopen(const struct audit_writer *c);
/* Tell it the rest, and wait until that is written. */
void audit_writer_stop(struct audit_writer *c);

#endif
