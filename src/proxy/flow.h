/*
 * flow: bytes on their way in one direction, from one socket to another.
 *
 * The first bytes go through a buffer, where they can be inspected. When many
 * bytes arrive in a row, they go through a pipe instead: the kernel moves pages
 * and copies nothing (splice(2)).
 */
#ifndef REMIT_FLOW_H
#define REMIT_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/own.h"
#include "http/tls.h"

#define FLOW_BYTES	32768
#define FLOW_PIPE_BYTES (1024 * 1024)

struct flow {
	char data[FLOW_BYTES];
	size_t start, len; /* len: bytes in the buffer or in the pipe */
	bool ended;	   /* the source will send no more */
	bool closed;	   /* that end was passed on to the target */
	bool filled;	   /* the last read filled all the space */
	bool ragged;	   /* TLS ended without a close notification */
	int pipe[2];	   /* -1: no pipe yet */
};

/* Where bytes come from or go to. */
struct flow_end {
	int fd;
	struct tls *tls; /* NULL: without TLS */
};

void flow_open(struct flow *f);
void flow_close(struct flow *f);

/* Read what has arrived, until the buffer contains `most` bytes. Returns -1 if
   the connection is broken. */
int flow_pull(struct flow *f, struct flow_end from, size_t most) must_check;
/* Write to the target; *sent is the number of bytes written. Returns -1 if the
   connection is broken. */
int flow_push(struct flow *f, struct flow_end to, size_t *sent) must_check;
/* Whether a pipe would help, since the last read filled the buffer. The flow
   also works without one. */
bool flow_is_full(const struct flow *f);
/* Switch to a pipe. The buffer must be empty. */
int flow_pipe(struct flow *f) must_check;
bool flow_is_piped(const struct flow *f);
/* Whether more bytes can be read into it. */
bool flow_has_space(const struct flow *f);

#endif
