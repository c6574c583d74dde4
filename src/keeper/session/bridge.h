/*
 * bridge: calls from the code to tools of its caller, and the replies.
 *
 * The keeper forwards the bytes and reads only the heads. The code numbers its
 * calls 1, 2, 3, and so on, so no number is used twice, and each call has one
 * reply. Calls that are too long, too many or too frequent are answered here,
 * with an error that the code can catch. A malformed head breaks the protocol.
 *
 * A call of the name BRIDGE_INSTALL asks the keeper for packages, and is not
 * forwarded. There is one at a time, and it need not have tools.
 *
 * The client sends the records of "tools": for each tool the record "tool" with
 * its name, followed by "help" and any number of "parameter" and "optional".
 * The keeper adds "concurrency" in front and sends them to the jail.
 */
#ifndef REMIT_BRIDGE_H
#define REMIT_BRIDGE_H

#include "wire/link.h"

/* The maximum of calls that can wait at the same time; the field
   tool_concurrency has the same limit. */
#define BRIDGE_PENDING 256

/* No tool has this name. The arguments are records, not JSON. */
#define BRIDGE_INSTALL	   "%pip"
#define BRIDGE_REQUEST_MAX ((size_t)64 * 1024)

struct bridge_limits {
	uint64_t calls;	 /* 0: no calls are allowed now */
	bool no_request; /* nor requests for packages */
	uint64_t bytes;	 /* maximum length of the arguments, and of a result */
	uint64_t concurrency;
};

/* A message whose bytes are being forwarded. */
struct transfer {
	uint64_t id;
	uint64_t missing;
	bool dropped; /* its bytes are read and discarded */
	bool kept;    /* its bytes are a request of the keeper */
};

struct bridge {
	struct buf tools; /* as the client sent them; empty: no calls are
			     allowed */
	bool tools_sent;  /* the jail has them */
	uint64_t last_id; /* of the most recent call */
	uint64_t calls;	  /* number of calls that were forwarded */
	uint64_t pending[BRIDGE_PENDING];
	size_t pending_count;
	struct transfer call, reply;
	/* refusals that the code may not have read yet */
	uint64_t refused_bytes;
	uint64_t request_id; /* of the request for packages; 0: none */
	struct buf request;  /* its arguments */
	/* The reply to it, as long as it would interrupt a reply of the
	   client. */
	const char *answer_word; /* NULL: none */
	struct buf answer;
};

#define BRIDGE_INIT                                      \
	{                                                \
		.tools = BUF_INIT(1024 * 1024),          \
		.request = BUF_INIT(BRIDGE_REQUEST_MAX), \
		.answer = BUF_INIT(BRIDGE_REQUEST_MAX),  \
	}

/* Sets the tools that the client sent. Called before the job. */
int bridge_set_tools(struct bridge *b, const char *payload, size_t len,
		     struct remit_error *err) must_check;
/* Sends the tools to the jail before the job, unless there are none or the jail
   has them. */
int bridge_send_tools(struct bridge *b, const struct bridge_limits *max,
		      struct link *jail, struct remit_error *err) must_check;

/* Handles "call" and "call_data" from the jail: forwards them to the client, or
   answers the call itself. Sets *begun if one more call waits for a reply; if
   that is b->request_id, the keeper must answer it. */
int bridge_call(struct bridge *b, const struct bridge_limits *max,
		const struct frame *f, struct link *client, struct link *jail,
		bool *begun, struct remit_error *err) must_check;
/* Handles "reply" and "reply_data" from the client: forwards them to the jail.
   Sets *ended if one call less waits for a reply. */
int bridge_reply(struct bridge *b, const struct bridge_limits *max,
		 const struct frame *f, struct link *jail, bool *ended,
		 struct remit_error *err) must_check;

/* Answers the request for packages with "ok" or "error" and a text. */
int bridge_answer(struct bridge *b, struct link *jail, const char *word,
		  const char *text, struct remit_error *err) must_check;
/* Sends the code a line while its request waits, unless the code does not read
   them. */
int bridge_send_progress(struct bridge *b, struct link *jail, const char *line,
			 struct remit_error *err) must_check;

/* Copies the state of `from`, since the jail of `b` is a copy of its jail. */
int bridge_copy(struct bridge *b, const struct bridge *from,
		struct remit_error *err) must_check;
/* Forgets the waiting calls: their replies will be dropped. */
void bridge_end(struct bridge *b);
/* Prepares for another jail, which has no tools yet and numbers its calls from
   1. */
void bridge_reset(struct bridge *b);
void bridge_free(struct bridge *b);

#endif
