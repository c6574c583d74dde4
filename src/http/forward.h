/*
 * http_forward: messages that are forwarded between a client and a program
 * which nobody trusts, on a connection for one request (RFC 9110, 7.6.1).
 *
 * Both are told that the connection ends after the reply, so neither sends a
 * second message on it. Of the reply only the first line is parsed: the rest
 * reaches the client as it is.
 */
#ifndef REMIT_HTTP_FORWARD_H
#define REMIT_HTTP_FORWARD_H

#include "base/buf.h"
#include "http/head.h"

/* The maximum number of headers of a forwarded request, and of words in its
   headers Connection. */
#define FORWARD_HEADERS_MAX 128
#define FORWARD_WORDS_MAX   16

/*
 * Adds the head at `bytes`, which http_head_read() has accepted, without the
 * headers about its connection, and without those in `secrets`, which ends with
 * NULL. *upgrades: whether it asks for another protocol. Returns -1 if it does
 * not fit, or has too many headers.
 */
int http_forward_request(struct buf *out, const char *bytes,
			 const struct http_head *h, const char *const *secrets,
			 bool *upgrades) must_check;

enum http_forward {
	FORWARD_MORE,	/* the first line is not complete */
	FORWARD_BAD,	/* this is not a reply, or does not fit */
	FORWARD_REPLY,	/* of any length: all that follows belongs to it */
	FORWARD_SWITCH, /* what follows in both directions is no HTTP */
};

/*
 * Moves bytes of a reply from `in` to `out`, up to the first line of the final
 * reply, and sets *status. After FORWARD_REPLY and FORWARD_SWITCH `in` is empty
 * and not needed any more. `upgrades`: whether the request may be answered with
 * another protocol.
 */
enum http_forward http_forward_reply(struct buf *in, struct buf *out,
				     bool upgrades, int *status);

#endif
