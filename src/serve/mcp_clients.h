/*
 * mcp_clients: clients of the Model Context Protocol that began by `initialize`
 * and name themselves in each request from then on, up to 2025-11-25.
 */
#ifndef REMIT_MCP_CLIENTS_H
#define REMIT_MCP_CLIENTS_H

#include <pthread.h>

#include "http/head.h"
#include "mcp/mcp.h"

/* Of one key; the one that nobody used for longest goes first. */
#define MCP_CLIENTS_MAX 64

struct mcp_client {
	struct mcp_client *next;
	char id[HOSTED_ID_SIZE];
	struct mcp_peer *peer;
	uint64_t used_us;
	unsigned busy; /* requests */
	bool left;     /* it is found no more */
};

struct mcp_clients {
	struct mcp *mcp;
	pthread_mutex_t lock; /* for all below */
	struct mcp_client *first;
	size_t count;
};

void mcp_clients_open(struct mcp_clients *t, struct mcp *m);
void mcp_clients_free(struct mcp_clients *t);

/* A new one, or the one with this id; both are busy until they are put. NULL:
   no memory, or there is none. */
struct mcp_client *mcp_clients_add(struct mcp_clients *t);
struct mcp_client *mcp_clients_find(struct mcp_clients *t, struct http_text id);
void mcp_clients_put(struct mcp_clients *t, struct mcp_client *c);
/* It has left: what it waits for is cancelled. False: there is none. */
bool mcp_clients_remove(struct mcp_clients *t, struct http_text id);

#endif
