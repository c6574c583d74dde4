/*
 * link: one end of a stream socket that carries frames, without blocking.
 *
 * Owner's loop: when the descriptor is readable, link_fill(), then link_next()
 * until it gives FRAME_NONE. To send, link_send() and link_flush(); what the
 * socket does not take stays in `out` until the descriptor is writable.
 */
#ifndef REMIT_LINK_H
#define REMIT_LINK_H

#include <sys/types.h>

#include "base/buf.h"
#include "wire/frame.h"

struct link {
	int fd;
	unsigned peer;	  /* PARTY_ of the other end */
	uint8_t protocol; /* of the frames that are sent */
	bool ended;	  /* the other end has closed */
	uint64_t seen;	  /* types received */
	size_t parsed;	  /* bytes of `in` already given out */
	struct buf in;
	struct buf out;
	bool receives_fds; /* a descriptor may come: the last one is `passed_fd`
			    */
	int passed_fd;
	size_t sent_bytes; /* bytes of `out` that were sent already */
	uint64_t sent;	   /* frames, with those that still wait */
};

#define LINK_INIT                          \
	{ .fd = -1,                        \
	  .passed_fd = -1,                 \
	  .in = BUF_INIT(8 * 1024 * 1024), \
	  .out = BUF_INIT(256 * 1024 * 1024) }

void link_open(struct link *l, int fd, unsigned peer);
void link_free(struct link *l);

int link_fill(struct link *l, struct remit_error *err) must_check;
int link_next(struct link *l, struct frame *out,
	      struct remit_error *err) must_check;
/* Between a client and a keeper: the next frame, if its header is there, is of
   another protocol than ours, which *protocol says. */
bool link_is_foreign(const struct link *l, unsigned *protocol);
int link_send(struct link *l, enum frame_type type, const void *payload,
	      size_t len, struct remit_error *err) must_check;
/* The same for any length, in pieces; nothing at all is sent for 0 bytes. */
int link_send_pieces(struct link *l, enum frame_type type, const void *bytes,
		     size_t len, struct remit_error *err) must_check;
int link_flush(struct link *l, struct remit_error *err) must_check;
/* All of it at once, with a descriptor; nothing else may wait to be sent. */
int link_flush_with(struct link *l, int fd, struct remit_error *err) must_check;
bool link_wants_write(const struct link *l);
/* Bytes that wait to be sent. */
size_t link_backlog(const struct link *l);
/* The other end begins another cell of a session. */
void link_next_cell(struct link *l);
/* Nobody will read them. */
void link_drop_backlog(struct link *l);

#endif
