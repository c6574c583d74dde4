/*
 * clerk: a process that writes the audit of a shared keeper, so that the keeper
 * waits for no disk. It is told lines by a socket and appends and syncs as many
 * as there are at once. What the keeper has told it is written though the
 * keeper be killed.
 *
 * While the clerk cannot write, nothing is run: see clerk_check().
 */
#ifndef REMIT_CLERK_H
#define REMIT_CLERK_H

#include "base/buf.h"
#include "base/loop.h"

struct clerk {
	int fd; /* -1: there is no audit */
	pid_t pid;
	uid_t uid; /* who we are outside of all namespaces */
	const char *path;
	int trouble; /* the error it last told of; 0: none */
	struct buf out;
	struct loop *loop;
	struct source on_fd;
};

#define CLERK_INIT \
	{ .fd = -1, .out = BUF_INIT(64 * 1024 * 1024), .on_fd = SOURCE_INIT }

/* Open the file and start the process, before we filter ourselves. */
int clerk_start(struct clerk *c, const char *path,
		struct remit_error *err) must_check;
int clerk_watch(struct clerk *c, struct loop *l,
		struct remit_error *err) must_check;

/* Before a run: what cannot be written down is not run. */
int clerk_check(const struct clerk *c, struct remit_error *err) must_check;
void clerk_add(struct clerk *c, const struct buf *line);
/* There was no memory for a line: nothing is run any more. */
void clerk_lose(struct clerk *c);
/* The file was moved away: begin a new one. Safe in a signal handler. */
void clerk_reopen(const struct clerk *c);
/* Tell it the rest, and wait until that is written. */
void clerk_stop(struct clerk *c);

#endif
