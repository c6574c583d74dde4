/*
 * mcp_call: the lifetime of a request. A message begins it; it ends exactly
 * once, with an answer or, if it was cancelled, silently.
 */
#ifndef REMIT_MCP_CALL_H
#define REMIT_MCP_CALL_H

#include "mcp/part.h"

/* Begin a call. Takes ownership of the message, and a reference to the peer.
   Returns NULL with the fault if too many requests are in progress, or the id
   is in use. */
struct mcp_call *mcp_call_begin(struct mcp_peer *p, struct mcp_message *msg,
				const struct mcp_sink *sink,
				struct mcp_fault *fault);
struct mcp_call *mcp_call_ref(struct mcp_call *c);
void mcp_call_unref(struct mcp_call *c);

/* End the call with a result. Takes ownership of it; NULL means out of
   memory. */
void mcp_call_finish(struct mcp_call *c, json_t *result);
void mcp_call_fail(struct mcp_call *c, struct mcp_fault *fault);
/* End the call without an answer: another call has answered for it. */
void mcp_call_drop(struct mcp_call *c);

/* Set the hosted session that works for the call. Only the first of several
   calls has an effect: the starter and the event `begin` of the session both
   call this, in any order. */
void mcp_call_enter(void *call, struct hosted *hosted);
/* Set the number of the cell that belongs to the call. */
void mcp_call_number(struct mcp_call *c, uint64_t number);
/* Send a progress notification with this text, if the client has asked for it.
   The rate and the length are limited. */
void mcp_call_progress(struct mcp_call *c, const char *text, size_t len);

/* Cancel the call with this id, all calls of a peer, or those of a sink. */
void mcp_call_cancel_id(struct mcp_peer *p, const json_t *id);
void mcp_call_cancel_peer(struct mcp_peer *p);
void mcp_call_cancel_sink(struct mcp *m, const void *user);

/* Called with the lock. */
void mcp_peer_ref(struct mcp_peer *p);
void mcp_peer_unref(struct mcp_peer *p);

#endif
