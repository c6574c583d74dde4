/*
 * shelf: the packages of a policy, installed once into a folder of the user's
 * cache that nobody changes any more, and found again by what was asked for.
 *
 *	packages/wants/KEY	   the shelf that was made for a request
 *	packages/failed/KEY	   why none could be made, for a short time
 *	packages/locks/KEY	   held by who makes one for this request
 *	packages/shelves/ID/site   what jails see; ID is by its content
 *	packages/shelves/ID/about  what it is, as records; its time: last use
 *	packages/shelves/ID/seal   how site was when it was finished
 *	packages/new/NAME	   one in the making, locked by who makes it
 */
#ifndef REMIT_SHELF_H
#define REMIT_SHELF_H

#include "base/sha256.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* A failure is remembered for so long. */
#define SHELF_FAILURE_S 60
/* Whether somebody has changed a shelf in use is looked at as often. */
#define SHELF_TRUST_US (60 * 1000000ull)

struct shelf {
	char id[SHA256_TEXT]; /* "": none */
	char *site;	      /* its path on the host */
	int hold;	      /* a shared lock: who prunes leaves it alone */
	uint64_t checked_us;
};

#define SHELF_INIT          \
	{                   \
		.hold = -1, \
	}

/* What is asked for: interpreter, platform, names and versions, sources. */
int shelf_key(char out[SHA256_TEXT], const struct policy *p,
	      const struct interpreter *in, struct remit_error *err) must_check;

/*
 * What was found whole lately, whatever policy asked for it: to look through a
 * shelf of 40,000 files takes a tenth of a second.
 */
struct shelf_trust {
	struct {
		char id[SHA256_TEXT];
		uint64_t checked_us;
	} rows[16];
};

/* The one for this request. False if there is none that can be used. Without
   `trust` (NULL) every file is looked at. */
bool shelf_find(struct shelf *out, const char *key, struct shelf_trust *trust);
/* The id of the shelf that was made for a request, which may be gone. Returns
   -1 if there was none. */
int shelf_wanted(const char *key, char id[SHA256_TEXT]) must_check;
/* It is as it was made; looked at now and then. */
bool shelf_is_whole(struct shelf *s);
void shelf_free(struct shelf *s);

/* Show it to an interpreter: a mount, and a place on its path behind the
   standard library and before all that is installed. */
int shelf_show(const struct shelf *s, bool is_bare, struct interpreter *in,
	       struct remit_error *err) must_check;

/* A folder of the store, made if it is missing. -1 with *err. */
int shelf_folder(const char *name, struct remit_error *err);
/* Returns -1 if the cache cannot take another shelf: the error is a refusal
   that names the remedy. */
int shelf_check_store(struct remit_error *err) must_check;
/* Turns *err, the reason why the store cannot be used, into that refusal, and
   returns -1. */
int shelf_fail_store(struct remit_error *err);

/* Wait for the right to make one for this request, so long: a descriptor. */
int shelf_lock(const char *key, uint64_t patience_ms, struct remit_error *err);
/* What went wrong before; false if nothing is remembered. */
bool shelf_failure(const char *key, struct remit_error *out);
void shelf_remember_failure(const char *key, const struct remit_error *e);

/* Remove what those have left half made who were killed. */
void shelf_clean(void);
/* Remove a folder of `parent` with all that is in it. */
int shelf_remove(int parent, const char *name) must_check;

#endif
