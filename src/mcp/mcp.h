/*
 * mcp: Remit as a server of the Model Context Protocol, whatever carries its
 * messages.
 *
 * A struct mcp offers one policy to one owner. A peer is a client that has
 * introduced itself by `initialize`, or that does without (2026-07-28). Each
 * message that is taken is answered through its sink: by any number of
 * notifications, then by exactly one end.
 *
 *	struct mcp_sink sink = { .send = ..., .end = ..., .user = request };
 *	mcp_receive(peer, bytes, len, &sink);
 *
 * All functions may be called from any thread, and sinks are called by any;
 * those of one message one after the other.
 */
#ifndef REMIT_MCP_H
#define REMIT_MCP_H

#include "hosted/hosted.h"
#include "mcp/message.h"
#include "policy/policy.h"

/* Requests of one owner that are worked on at once; more are refused. */
#define MCP_CALLS_MAX 64

struct mcp;
struct mcp_peer;

struct mcp_options {
	struct remit *remit;		   /* the caller's, for longer */
	struct hosted_table *hosted_table; /* likewise */
	struct artifact_store *store; /* of these hosted sessions, or NULL */
	const char *owner;	      /* of what is made in them; copied */
	const struct policy *policy;  /* of all that is run; copied */
	/* Whether one more session or program may begin; or NULL. */
	int (*admit)(void *user, uint64_t memory_bytes,
		     struct remit_error *err);
	void *user;
};

struct mcp_sink {
	/* Something about the message, with more to come. */
	void (*send)(void *user, const char *json, size_t len);
	/* The last that comes. NULL: it has no answer, since it was a
	   notification or a response, or was cancelled. `code` is that of the
	   error, or 0. */
	void (*end)(void *user, const char *json, size_t len, int code);
	void *user;
};

/* -1 also if the policy is refused. */
int mcp_open(struct mcp **out, const struct mcp_options *opt,
	     struct remit_error *err) must_check;
/* When no room has work for it any more (hosted_table_end). */
void mcp_free(struct mcp *m);

/* NULL without memory. */
struct mcp_peer *mcp_peer_open(struct mcp *m);
/* What it waits for is cancelled, without a word. */
void mcp_peer_cancel(struct mcp_peer *p);
/* The same, and it has gone. */
void mcp_peer_close(struct mcp_peer *p);

void mcp_receive(struct mcp_peer *p, const char *bytes, size_t len,
		 const struct mcp_sink *sink);
/* The same with a message that was read, which is the peer's from now on. */
void mcp_receive_message(struct mcp_peer *p, struct mcp_message *msg,
			 const struct mcp_sink *sink);
/* Nobody listens at this sink any more: its request is cancelled. Its end
   still comes. */
void mcp_cancel(struct mcp *m, const void *user);

#endif
