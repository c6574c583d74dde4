/*
 * link: one end of a stream socket that carries frames, without blocking.
 *
 * When the descriptor is readable, its owner calls link_fill(), and then
 * link_next() until it returns FRAME_NONE. To send, it calls link_send() and
 * link_flush(); bytes that the socket does not accept stay in `out` until the
 * descriptor is writable.
 */
#ifndef REMIT_LINK_H
#define REMIT_LINK_H

#include <sys/types.h>

#include "base/buf.h"
#include "wire/frame.h"

struct link {
	int fd;
	unsigned peer;	  /* PARTY_ bit of the other end */
	uint8_t protocol; /* of the frames sent */
	bool ended;	  /* the other end has closed */
	uint64_t seen;	  /* types received so far */
	size_t parsed;	  /* bytes of `in` that link_next() has returned */
	struct buf in;
	struct buf out;
	bool receives_fds; /* keep a passed descriptor in `passed_fd` */
	int passed_fd;
	size_t sent_bytes; /* bytes of `out` that were already sent */
	uint64_t sent;	   /* number of frames, including those in `out` */
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
/* Returns true if the header of the next frame has arrived and has another
   protocol than this release, and sets *protocol to it. For links between a
   client and a keeper. */
bool link_is_foreign(const struct link *l, unsigned *protocol);
int link_send(struct link *l, enum frame_type type, const void *payload,
	      size_t len, struct remit_error *err) must_check;
/* Like link_send(), for any length: sends the bytes in as many frames as they
   need, and none for len 0. */
int link_send_pieces(struct link *l, enum frame_type type, const void *bytes,
		     size_t len, struct remit_error *err) must_check;
int link_flush(struct link *l, struct remit_error *err) must_check;
/* Sends everything in `out` at once, with a descriptor. Returns -1 if the
   socket does not accept all of it. */
int link_flush_with(struct link *l, int fd, struct remit_error *err) must_check;
bool link_wants_write(const struct link *l);
/* Returns how many bytes are waiting to be sent. */
size_t link_backlog(const struct link *l);
/* The other end starts the next cell of a session. */
void link_next_cell(struct link *l);
/* Discards the waiting bytes: the other end will not read them. */
void link_drop_backlog(struct link *l);

#endif
