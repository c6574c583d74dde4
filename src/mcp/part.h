/*
 * mcp_part: shared by the files of this directory: the server, its peers, and
 * the calls in progress.
 */
#ifndef REMIT_MCP_PART_H
#define REMIT_MCP_PART_H

#include <pthread.h>

#include "base/own.h"
#include "mcp/mcp.h"
#include "mcp/method.h"

#define META_VERSION  "io.modelcontextprotocol/protocolVersion"
#define META_CAN      "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER   "io.modelcontextprotocol/serverInfo"
#define META_PROGRESS "progressToken"

struct mcp_toolbox;
struct mcp_tool;

struct mcp {
	struct remit *remit;
	struct hosted_table *hosted_table;
	struct artifact_store *store;
	char *owner;
	int (*admit)(void *user, uint64_t memory_bytes,
		     struct remit_error *err);
	void *user;
	struct policy policy;
	char *policy_json;
	char *guide; /* the instructions for models, made from the plan */
	struct mcp_toolbox *toolbox;
	pthread_mutex_t lock; /* protects all below, and the calls */
	struct mcp_call *calls;
	size_t call_count;
	json_t *policy_shown; /* set by the first call of get_policy */
};

struct mcp_peer {
	struct mcp *mcp;
	struct refcount refs;
	const struct mcp_version *version; /* negotiated; NULL: not yet */
	bool elicits;			   /* the client can ask its user */
};

/* A request in progress. */
struct mcp_call {
	struct mcp *mcp;
	/* Protected by the server's lock: */
	struct mcp_call *next;
	struct refcount refs;
	bool listed, cancelled;
	struct mcp_peer *peer; /* NULL: the call is parked, see mcp/elicit.h */
	struct mcp_sink sink;
	json_t *id, *progress_token;
	struct hosted *hosted; /* the session that works for it, or NULL */
	uint64_t number;       /* the number of its cell in the session */
	bool made_hosted;      /* the session was made for this call */
	char question[HOSTED_ID_SIZE], pending_id[HOSTED_ID_SIZE];
	json_t *wanted; /* the result with the question, if the call is parked
			 */
	uint64_t parked_ms;
	json_t *answer; /* the result, if it ended while parked */
	/* Used by one thread at a time: */
	struct mcp_message msg;
	const struct mcp_version *version;
	bool elicits;
	uint64_t progress, progress_ms;
	const struct mcp_tool *tool;
	json_t *arguments; /* owned by the message */
	void *work;	   /* data of the tool, freed by free_work() */
	size_t work_len;
	void (*free_work)(void *work);
	void (*entered)(
		struct mcp_call *c); /* called when its session is open */
};

uint64_t mcp_now_ms(void);

#endif
