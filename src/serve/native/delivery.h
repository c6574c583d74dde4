/*
 * delivery: delivers the events of a run or a cell to the client that waits for
 * it, as a stream or as one reply, and interrupts the program if the client
 * disconnects.
 */
#ifndef REMIT_DELIVERY_H
#define REMIT_DELIVERY_H

#include "serve/exchange.h"
#include "serve/native/request.h"

/* The first bytes of an incomplete character. */
struct delivery_rest {
	char bytes[8];
	size_t len;
};

struct delivery {
	struct exchange *x;    /* owns this; the worker has a reference */
	struct hosted *hosted; /* a reference */
	uint64_t cell;	       /* 0 for a run */
	enum request_stream stream;
	const struct hosted_events *events;
	struct delivery_rest rests[2];
};

/* Returns a delivery for the request, owned by the exchange, or NULL after it
   has sent an error. */
struct delivery *delivery_new(struct exchange *x, const struct request *r);
/* Call it when the request is queued and d->hosted and d->cell are set: from
   now on the program is interrupted if the client disconnects. */
void delivery_begin(struct delivery *dl);
/* Call it when the request could not be queued. */
void delivery_fail(struct delivery *dl, const struct remit_error *err);

/* ---- streams of events, also of commands ---- */

/* The form of stream that a request accepts by its headers. */
enum request_stream delivery_accepted(const struct exchange *x);
/* Begins a reply that is a stream. */
void delivery_begin_stream(struct exchange *x, enum request_stream stream);
/* Sends an event and frees it. NULL (memory is exhausted) sends nothing. */
void delivery_send(struct exchange *x, enum request_stream stream,
		   json_t *event);

#endif
