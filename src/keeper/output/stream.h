/*
 * stream: the standard streams of a program.
 *
 * A capture is one of its outputs. It passes bytes on up to a cap, goes on
 * draining and counting behind it, and says when the ceiling is passed.
 *
 * A feed is its standard input. It takes bytes as they come from the client and
 * writes them into a pipe as fast as the program reads.
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

/* True if the program wrote more than is kept. */
bool capture_is_truncated(const struct capture *c);
bool capture_is_over_ceiling(const struct capture *c);

/* Read what is there now, at most one piece, and queue it for the client. */
int capture_drain(struct capture *c, struct link *client,
		  struct remit_error *err) must_check;

struct feed {
	int fd;	    /* the pipe's end, -1 once it is closed */
	bool ended; /* no more will come from the client */
	uint64_t total_bytes;
	struct buf waiting;
};

#define FEED_INIT { .fd = -1, .waiting = BUF_INIT((size_t)1 << 30) }

/* The pipe; *reader is for the program, *writer for the fd of a feed. */
int feed_pipe(int *reader, int *writer, struct remit_error *err) must_check;
/* Refuses what is longer than `max` in all. */
int feed_add(struct feed *f, const char *bytes, size_t len, uint64_t max,
	     struct remit_error *err) must_check;
/* Write what the pipe takes. True when it is to be closed: at the end of
   input, or when nobody reads it any more. The owner stops watching the
   descriptor first, and then calls feed_free(). */
bool feed_flush(struct feed *f) must_check;
bool feed_wants_write(const struct feed *f);
void feed_free(struct feed *f);

#endif
