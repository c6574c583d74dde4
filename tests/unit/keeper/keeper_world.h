/*
 * keeper_world: a keeper with one client and fake jails, run by the real loop,
 * for tests of its sessions, workers and pools.
 */
#ifndef REMIT_TEST_KEEPER_WORLD_H
#define REMIT_TEST_KEEPER_WORLD_H

#include "fake_jail.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/session/session.h"

struct world {
	struct keeper *keeper;
	struct session *session;
	int client;
	struct timer stopper;
	unsigned results, opened;
	bool ended; /* the client saw the end */
	char in[1 << 18];
	size_t len;
};

/* Without warm workers, unless the test lets zygotes start (fakes). */
struct world *world_new(void);
void world_free(struct world *w);
/* Run the loop as often as one event may lead to the next by a socket. */
void settle(struct world *w);
/* The session was not removed. */
bool is_alive(const struct world *w);

/* A frame from the client. */
void send_as_client(struct world *w, unsigned type, const char *payload,
		    size_t len);
#define SEND_AS_CLIENT(w, type, payload) \
	send_as_client(w, type, payload, sizeof(payload) - 1)
/* Read and count what the keeper has sent so far. */
void read_client(struct world *w);

/* The jail of the session's worker; NULL: it has none. */
struct fake_jail *jail_of(const struct world *w);
/* A frame from the code of that. */
void send_as_code(struct world *w, unsigned type, const char *payload,
		  size_t len);
/* The code says that it is locked. */
void ready(struct world *w);

size_t count_fds(void);
/* Allocations of jansson may fail, too. */
void world_hook_memory(void);

#endif
