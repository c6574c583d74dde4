/*
 * mcp_part: what the files of this directory share: the server, its peers, and
 * the calls that are being worked on.
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
	char *guide; /* what a model should know, by the plan */
	struct mcp_toolbox *toolbox;
	pthread_mutex_t lock; /* for all below, and the calls */
	struct mcp_call *calls;
	size_t call_count;
	json_t *policy_shown; /* once somebody has asked for it */
};

struct mcp_peer {
	struct mcp *mcp;
	struct refcount refs;
	const struct mcp_version *version; /* agreed on; NULL: none is */
	bool elicits;			   /* it can ask a person */
};

/* A request that is being worked on. */
struct mcp_call {
	struct mcp *mcp;
	/* Under the server's lock: */
	struct mcp_call *next;
	struct refcount refs;
	bool listed, cancelled;
	struct mcp_peer *peer; /* NULL: it is parked, see mcp/elicit.h */
	struct mcp_sink sink;
	json_t *id, *progress_token;
	struct hosted *hosted; /* that works for it, or NULL */
	uint64_t number;       /* of its cell there */
	bool made_hosted;      /* nobody else knows of it yet */
	char question[HOSTED_ID_SIZE], pending_id[HOSTED_ID_SIZE];
	json_t *wanted; /* the result that asked, of one that is parked */
	uint64_t parked_ms;
	json_t *answer; /* it ended while it was parked */
	/* Its own: */
	struct mcp_message msg;
	const struct mcp_version *version;
	bool elicits;
	uint64_t progress, progress_ms;
	const struct mcp_tool *tool;
	json_t *arguments; /* the message's */
	void *work;	   /* of the tool, with how to free it */
	size_t work_len;
	void (*free_work)(void *work);
	void (*entered)(struct mcp_call *c); /* when its session is open */
};

uint64_t mcp_now_ms(void);

#endif
