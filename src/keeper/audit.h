/*
 * keeper_audit: the audit file, the form of its lines, and the process that
 * writes them for a shared keeper.
 *
 * Each line records who ran what under which policy, and how it ended. It has
 * no code and no output.
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
	const char *key; /* the name of a client's key at the server, or NULL */
	const char *policy_sha256;
	const char *code_sha256;
	uint64_t code_bytes;
	/* the result document, borrowed; NULL: there is none */
	const json_t *result;
	const char *error; /* if there is no result: the name of the error */
};

/* Opens the file for appending; creates it with mode 0600 if it is missing.
   Returns -1 unless it is a regular file. */
int audit_line_open(const char *path, struct remit_error *err) must_check;

/* Hashes the whole policy in canonical form, however it was written. Returns -1
   if memory is short. */
int audit_line_policy_sha256(const struct policy *p,
			     char out[SHA256_TEXT]) must_check;

/* Writes one line with its newline. Returns -1 if memory is short. */
int audit_line_write(struct buf *out,
		     const struct audit_line_run *run) must_check;

/*
 * The audit writer: the process that writes the audit of a shared keeper, so
 * that the keeper never waits for the disk. It reads lines from a socket and
 * appends and syncs as many as have arrived. Lines that the keeper has sent are
 * written even if the keeper is killed.
 *
 * While the audit writer cannot write, nothing is run: see
 * audit_writer_check().
 */

struct audit_writer {
	int fd; /* -1: no audit */
	pid_t pid;
	uid_t uid; /* the keeper's user outside of all namespaces */
	const char *path;
	int trouble; /* errno of the last failure it reported; 0: none */
	struct buf out;
	struct loop *loop;
	struct source on_fd;
};

#define AUDIT_WRITER_INIT \
	{ .fd = -1, .out = BUF_INIT(64 * 1024 * 1024), .on_fd = SOURCE_INIT }

/* Opens the file and starts the process. Must be called before the keeper loads
   its own filter. */
int audit_writer_start(struct audit_writer *c, const char *path,
		       struct remit_error *err) must_check;
int audit_writer_watch(struct audit_writer *c, struct loop *l,
		       struct remit_error *err) must_check;

/* Returns -1 if the audit cannot be written. Called before each run. */
int audit_writer_check(const struct audit_writer *c,
		       struct remit_error *err) must_check;
void audit_writer_add(struct audit_writer *c, const struct buf *line);
/* A line could not be queued for lack of memory: no more runs are accepted. */
void audit_writer_lose(struct audit_writer *c);
/* Makes the audit writer open the file again, since log rotation has moved it.
   Async-signal-safe. */
void audit_writer_reopen(const struct audit_writer *c);
/* Sends the remaining lines and waits until they are written. */
void audit_writer_stop(struct audit_writer *c);

#endif
