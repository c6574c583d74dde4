/*
 * mcp_call: the life of a request: begun by a message, ended once, by an answer
 * or silently when it was cancelled.
 */
#ifndef REMIT_MCP_CALL_H
#define REMIT_MCP_CALL_H

#include "mcp/part.h"

/* Takes the message, and a reference to the peer. NULL with the fault: there
   are too many, or the id is in use. */
struct mcp_call *mcp_call_begin(struct mcp_peer *p, struct mcp_message *msg,
				const struct mcp_sink *sink,
				struct mcp_fault *fault);
struct mcp_call *mcp_call_ref(struct mcp_call *c);
void mcp_call_unref(struct mcp_call *c);

/* The end, by a result, which is consumed; NULL is the end of memory. */
void mcp_call_finish(struct mcp_call *c, json_t *result);
void mcp_call_fail(struct mcp_call *c, struct mcp_fault *fault);
/* It is over, and others have answered. */
void mcp_call_drop(struct mcp_call *c);

/* The hosted session that works for it; the first is the one. Told by whoever
   asked it and by the hosted session itself (the event `begin`), since none of
   them is always first. */
void mcp_call_enter(void *call, struct hosted *hosted);
/* Which of the hosted session's cells is the call's. */
void mcp_call_number(struct mcp_call *c, uint64_t number);
/* Say that something has happened, if the client wants to know: not too
   often, and not too much of it. */
void mcp_call_progress(struct mcp_call *c, const char *text, size_t len);

/* Stop working, for all calls that are meant. */
void mcp_call_cancel_id(struct mcp_peer *p, const json_t *id);
void mcp_call_cancel_peer(struct mcp_peer *p);
void mcp_call_cancel_sink(struct mcp *m, const void *user);

/* Under the lock. */
void mcp_peer_ref(struct mcp_peer *p);
void mcp_peer_unref(struct mcp_peer *p);

#endif
