/*
 * capture: one output stream of a program. Passes bytes on up to a cap, goes
 * on draining and counting behind it, and says when the ceiling is passed.
 */
#ifndef REMIT_CAPTURE_H
#define REMIT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
