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
	bool ended; /* the client's connection was closed */
	char in[1 << 18];
	size_t len;
};

/* There are no warm workers unless the test lets zygotes start (fakes). */
struct world *world_new(void);
void world_free(struct world *w);
/* Runs the loop as often as one event can cause another one through a
   socket. */
void settle(struct world *w);
/* Returns true if the session still exists. */
bool is_alive(const struct world *w);

/* Sends a frame as the client. */
void send_as_client(struct world *w, unsigned type, const char *payload,
		    size_t len);
#define SEND_AS_CLIENT(w, type, payload) \
	send_as_client(w, type, payload, sizeof(payload) - 1)
/* Reads and counts what the keeper has sent so far. */
void read_client(struct world *w);

/* Returns the jail of the session's worker, or NULL. */
struct fake_jail *jail_of(const struct world *w);
/* Sends a frame as the code in that jail. */
void send_as_code(struct world *w, unsigned type, const char *payload,
		  size_t len);
/* Reports as the code that it is locked down. */
void ready(struct world *w);

size_t count_fds(void);
/* Lets allocations of jansson fail as well. */
void world_hook_memory(void);

#endif
