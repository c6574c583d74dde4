/*
 * delivery: a client that waits for a run or a cell: the events of a hosted
 * session, as lines or as one reply, and an interrupt if the client goes away.
 */
#ifndef REMIT_DELIVERY_H
#define REMIT_DELIVERY_H

#include "serve/exchange.h"
#include "serve/native/request.h"

/* Bytes of a character that is not whole yet. */
struct delivery_rest {
	char bytes[8];
	size_t len;
};

struct delivery {
	struct exchange *x;    /* which owns this, and is held by the worker */
	struct hosted *hosted; /* held */
	uint64_t cell;	       /* 0: it is a run */
	enum request_stream stream;
	const struct hosted_events *events;
	struct delivery_rest rests[2];
};

/* The client of this request. It is the exchange's; NULL: no memory, and the
   reply is there. */
struct delivery *delivery_new(struct exchange *x, const struct request *r);
/* The hosted session was asked: *l has its hosted session, and its cell. The
   client is told, and from now on missed. */
void delivery_begin(struct delivery *dl);
/* The hosted session could not be asked. */
void delivery_fail(struct delivery *dl, const struct remit_error *err);

#endif
