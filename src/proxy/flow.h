/*
 * flow: bytes on their way in one direction, from one socket to another.
 *
 * The first ones lie in a buffer, where they can be looked at. When many follow
 * each other, they go through a pipe instead, and the kernel moves pages and
 * copies nothing (splice(2)).
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
	size_t start, len; /* len: in the pipe, if there is one */
	bool ended;	   /* no more will come */
	bool closed;	   /* and the other side was told */
	bool filled;	   /* the last bytes that came took all the room */
	bool ragged;	   /* it ended without saying so, in TLS */
	int pipe[2];	   /* -1: none yet */
};

/* Where bytes come from or go to. */
struct flow_end {
	int fd;
	struct tls *tls; /* NULL: as they are */
};

void flow_open(struct flow *f);
void flow_close(struct flow *f);

/* Take what has come, until so many bytes lie in the buffer. -1 if the
   connection is broken. */
int flow_pull(struct flow *f, struct flow_end from, size_t most) must_check;
/* Hand it on; *sent bytes were. */
int flow_push(struct flow *f, struct flow_end to, size_t *sent) must_check;
/* So many came at once that a pipe would help; it goes on without one. */
bool flow_is_full(const struct flow *f);
/* From now on by a pipe; nothing is on the way. */
int flow_pipe(struct flow *f) must_check;
bool flow_is_piped(const struct flow *f);
/* More would find room. */
bool flow_has_space(const struct flow *f);

#endif
