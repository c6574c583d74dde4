/*
 * mcp_clients: clients of the Model Context Protocol up to 2025-11-25, which
 * begin with `initialize` and then send their id with each request.
 */
#ifndef REMIT_MCP_CLIENTS_H
#define REMIT_MCP_CLIENTS_H

#include <pthread.h>

#include "http/head.h"
#include "mcp/mcp.h"

/* For each key; beyond it, the least recently used client is removed. */
#define MCP_CLIENTS_MAX 64

struct mcp_client {
	struct mcp_client *next;
	char id[HOSTED_ID_SIZE];
	struct mcp_peer *peer;
	uint64_t used_us;
	unsigned busy; /* number of active requests */
	bool left;     /* removed from the list */
};

struct mcp_clients {
	struct mcp *mcp;
	pthread_mutex_t lock; /* for the members below */
	struct mcp_client *first;
	size_t count;
};

void mcp_clients_open(struct mcp_clients *t, struct mcp *m);
void mcp_clients_free(struct mcp_clients *t);

/* Add a new client, or find the one with this id. Both return a busy client,
   which the caller must put, or NULL if memory is exhausted or the id is
   unknown. */
struct mcp_client *mcp_clients_add(struct mcp_clients *t);
struct mcp_client *mcp_clients_find(struct mcp_clients *t, struct http_text id);
void mcp_clients_put(struct mcp_clients *t, struct mcp_client *c);
/* Removes a client and cancels its requests. Returns false if there is none
   with this id. */
bool mcp_clients_remove(struct mcp_clients *t, struct http_text id);

#endif
