/*
 * bridge: calls from the code to tools of its caller, and the answers.
 *
 * The keeper passes bytes on and looks at no more than the heads: the code
 * numbers its calls 1, 2, 3, ..., so that no number is ever used twice; each
 * waits for one answer. What is too long, too many or too often is answered
 * here, by an error that the code can catch. A head that makes no sense breaks
 * the protocol.
 *
 * The records of "tools" are the client's: for each tool "tool" (its name), and
 * behind it "help" and any number of "parameter" and "optional". The jail gets
 * them with "concurrency" before them.
 */
#ifndef REMIT_BRIDGE_H
#define REMIT_BRIDGE_H

#include "wire/link.h"

/* The most calls that wait at the same time; the field ends there. */
#define BRIDGE_PENDING 256

struct bridge_limits {
	uint64_t calls; /* 0: nobody may call just now */
	uint64_t bytes; /* of arguments, and of a result */
	uint64_t concurrency;
};

/* Bytes that are on their way. */
struct transfer {
	uint64_t id;
	uint64_t missing;
	bool dropped; /* they are read, and nobody gets them */
};

struct bridge {
	struct buf tools; /* as the client sent them; none: nobody may call */
	bool tools_sent;  /* the jail has them */
	uint64_t last_id; /* of a call */
	uint64_t calls;	  /* that were passed on */
	uint64_t pending[BRIDGE_PENDING];
	size_t pending_count;
	struct transfer call, reply;
	uint64_t refused_bytes; /* that the code may not have read yet */
};

#define BRIDGE_INIT                             \
	{                                       \
		.tools = BUF_INIT(1024 * 1024), \
	}

/* From the client, before the job. */
int bridge_set_tools(struct bridge *b, const char *payload, size_t len,
		     struct remit_error *err) must_check;
/* To the jail, before the job; nothing if there are none or it has them. */
int bridge_send_tools(struct bridge *b, const struct bridge_limits *max,
		      struct link *jail, struct remit_error *err) must_check;

/* Of "call" and "call_data" from the jail: passed on to the client, or
 * answered. begun: one more waits. */
int bridge_call(struct bridge *b, const struct bridge_limits *max,
		const struct frame *f, struct link *client, struct link *jail,
		bool *begun, struct remit_error *err) must_check;
/* Of "reply" and "reply_data" from the client: passed on to the jail. *ended:
   one less waits. */
int bridge_reply(struct bridge *b, const struct bridge_limits *max,
		 const struct frame *f, struct link *jail, bool *ended,
		 struct remit_error *err) must_check;

/* The jail is a copy of another one, which has these. */
int bridge_copy(struct bridge *b, const struct bridge *from,
		struct remit_error *err) must_check;
/* Nobody waits any more: answers that are still to come are dropped. */
void bridge_end(struct bridge *b);
/* Another jail: it numbers its calls anew, and does not know the tools. */
void bridge_reset(struct bridge *b);
void bridge_free(struct bridge *b);

#endif
