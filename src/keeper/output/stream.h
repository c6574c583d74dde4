/*
 * stream: the standard streams of a program.
 *
 * A capture is stdout or stderr. It forwards bytes to the client up to a cap
 * (stdout_max_bytes, stderr_max_bytes), drops and counts the rest, and reports
 * when the total exceeds the ceiling, at which the run is killed (the cap times
 * output_ceiling).
 *
 * A feed is its standard input. It buffers bytes from the client and writes
 * them into a pipe as fast as the program reads them.
 */
#ifndef REMIT_STREAM_H
#define REMIT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/link.h"

struct capture {
	int fd;
	enum frame_type type; /* of the frames to the client */
	uint64_t max_bytes;
	uint64_t ceiling_bytes;
	uint64_t total_bytes;
	uint64_t kept_bytes;
	bool ended;
};

/* Returns true if the program wrote more than was forwarded. */
bool capture_is_truncated(const struct capture *c);
bool capture_is_over_ceiling(const struct capture *c);

/* Reads what is available, at most one piece, and queues it for the client. */
int capture_drain(struct capture *c, struct link *client,
		  struct remit_error *err) must_check;

struct feed {
	int fd;	    /* writes the pipe; -1 once it is closed */
	bool ended; /* the client will send no more */
	uint64_t total_bytes;
	struct buf waiting;
};

#define FEED_INIT { .fd = -1, .waiting = BUF_INIT((size_t)1 << 30) }

/* Makes the pipe. *reader is for the program, *writer for the fd of a feed. */
int feed_pipe(int *reader, int *writer, struct remit_error *err) must_check;
/* Returns -1 if the input is longer than `max` in total. */
int feed_add(struct feed *f, const char *bytes, size_t len, uint64_t max,
	     struct remit_error *err) must_check;
/* Writes as much as the pipe accepts. Returns true when the pipe must be
   closed: at the end of the input, or when it has no reader any more. The owner
   must then stop watching the descriptor and call feed_free(), in this
   sequence. */
bool feed_flush(struct feed *f) must_check;
bool feed_wants_write(const struct feed *f);
void feed_free(struct feed *f);

#endif
