/*
 * tenants: shares a server's places among the owners of its hosted sessions, so
 * that no owner can keep the others from running programs.
 *
 * There are three kinds of places: hosted sessions, sessions, and running
 * programs. A request for a hosted session or a session beyond the owner's
 * share is refused; a program waits for its turn. The next turn goes to the
 * owner with the fewest running programs, and among equals to the one that
 * waited longest for a turn.
 *
 * There are two kinds of bytes: memory, which a session uses while it is open
 * and a run while it runs, and results, while they are sent. A program for
 * which there is not enough memory waits, and others that fit go first. A
 * program that is larger than its owner's share never fits: the caller refuses
 * it.
 *
 * Nothing here locks: the caller does.
 */
#ifndef REMIT_TENANTS_H
#define REMIT_TENANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum tenant_place { TENANT_HOSTED, TENANT_SESSION, TENANT_PROGRAM };
#define TENANT_PLACES 3

enum tenant_bytes { TENANT_MEMORY, TENANT_RESULTS };
#define TENANT_BYTES 2

struct tenants_limits {
	size_t max[TENANT_PLACES];	  /* for all owners together */
	uint64_t max_bytes[TENANT_BYTES]; /* likewise; 0: no limit */
	/* The share of these that one owner may use. 0 or 100: all of it. */
	unsigned share_percent;
};

struct tenant {
	struct tenant *next;
	char *name;
	size_t used[TENANT_PLACES];
	uint64_t bytes[TENANT_BYTES];
	uint64_t last_turn;
};

/* A program that waits or runs. */
struct turn {
	struct turn *next;
	struct tenant *tenant;
	void *owner; /* the caller's object, returned by tenants_next() */
	uint64_t memory_bytes; /* charged while it runs */
	bool is_waiting, is_running;
};

struct tenants {
	struct tenants_limits limits;
	struct tenant *first;
	size_t used[TENANT_PLACES];
	uint64_t bytes[TENANT_BYTES];
	uint64_t turns;
	struct turn *waiting; /* oldest first */
};

void tenants_free(struct tenants *ts);
/* Returns the owner with this name, added if it is new, or NULL if memory is
   exhausted. Owners are freed only at the end: there are only as many as
   keys. */
struct tenant *tenants_find(struct tenants *ts, const char *name);
/* Reserves a hosted session or a session. Returns -1 with REMIT_E_BUSY if all
   are in use, or if the owner has used up its share. */
int tenants_acquire(struct tenants *ts, struct tenant *t, enum tenant_place p,
		    struct remit_error *err) must_check;
void tenants_release(struct tenants *ts, struct tenant *t, enum tenant_place p);

/* The share of one owner. */
uint64_t tenants_owner_max(const struct tenants *ts, enum tenant_bytes kind);
/* Whether the owner may use `bytes` more now. */
bool tenants_fits(const struct tenants *ts, const struct tenant *t,
		  enum tenant_bytes kind, uint64_t bytes);
/* Charge them without another check, and give them back. */
void tenants_charge(struct tenants *ts, struct tenant *t,
		    enum tenant_bytes kind, uint64_t bytes);
void tenants_refund(struct tenants *ts, struct tenant *t,
		    enum tenant_bytes kind, uint64_t bytes);

/* Begins to wait for a turn with this much memory. The caller keeps `turn`, and
   then calls tenants_next(). */
void tenants_wait(struct tenants *ts, struct turn *turn, struct tenant *t,
		  uint64_t memory_bytes, void *owner);
/* The program has ended or no longer waits. The caller then calls
   tenants_next(). A second call has no effect. */
void tenants_end(struct tenants *ts, struct turn *turn);
/* Starts the next program that can run and returns its turn, or NULL if none
   can. Call it until it returns NULL. */
struct turn *tenants_next(struct tenants *ts);

#endif
