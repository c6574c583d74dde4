/*
 * mcp: a server of the Model Context Protocol, independent of the transport.
 *
 * A struct mcp serves one policy to one owner. A peer is a client, which begins
 * with `initialize` or, since 2026-07-28, without it. Each received message is
 * answered through its sink: by any number of calls of send(), then by exactly
 * one call of end().
 *
 *	struct mcp_sink sink = { .send = ..., .end = ..., .user = request };
 *	mcp_receive(peer, bytes, len, &sink);
 *
 * All functions may be called from any thread. Sinks are called from any thread
 * too, but for one message never by two threads at once.
 */
#ifndef REMIT_MCP_H
#define REMIT_MCP_H

#include "hosted/hosted.h"
#include "mcp/message.h"
#include "policy/policy.h"

/* The most requests of one owner at once; more are refused. */
#define MCP_CALLS_MAX 64

struct mcp;
struct mcp_peer;

struct mcp_options {
	struct remit *remit; /* the caller owns it; it lives longer */
	struct hosted_table *hosted_table; /* the caller owns it, too */
	struct artifact_store
		*store;	   /* files that the sessions exported, or NULL */
	const char *owner; /* the owner of the hosted sessions; copied */
	const struct policy *policy; /* the policy of all runs; copied */
	/* Fails if no further session or program may start. May be NULL. */
	int (*admit)(void *user, uint64_t memory_bytes,
		     struct remit_error *err);
	void *user;
};

struct mcp_sink {
	/* Send a notification about the message; more output follows. */
	void (*send)(void *user, const char *json, size_t len);
	/* Send the answer. json is NULL if the message has none: it was a
	   notification or a response, or was cancelled. `code` is the code of
	   the error, or 0. */
	void (*end)(void *user, const char *json, size_t len, int code);
	void *user;
};

/* Create a server. Also fails if the policy is refused. */
int mcp_open(struct mcp **out, const struct mcp_options *opt,
	     struct remit_error *err) must_check;
/* Call this after hosted_table_end(), when no hosted session works for the
   server any more. */
void mcp_free(struct mcp *m);

/* Add a peer. Returns NULL without memory. */
struct mcp_peer *mcp_peer_open(struct mcp *m);
/* Cancel all requests of the peer. They get no answer. */
void mcp_peer_cancel(struct mcp_peer *p);
/* Cancel all requests and release the peer. */
void mcp_peer_close(struct mcp_peer *p);

void mcp_receive(struct mcp_peer *p, const char *bytes, size_t len,
		 const struct mcp_sink *sink);
/* Like mcp_receive(), for a parsed message. Takes ownership of it. */
void mcp_receive_message(struct mcp_peer *p, struct mcp_message *msg,
			 const struct mcp_sink *sink);
/* Cancel the request whose sink has this `user`. The sink's end() is still
   called. */
void mcp_cancel(struct mcp *m, const void *user);

#endif
