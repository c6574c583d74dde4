/*
 * package_layer: the packages of a policy, installed once into a directory of
 * the user's cache that nobody changes any more, and found again by what was
 * asked for.
 *
 *	packages/wants/KEY	   the package layer that was made for a request
 *	packages/failed/KEY	   why none could be made, for a short time
 *	packages/locks/KEY	   held by who makes one for this request
 *	packages/package_layers/ID/site   what jails see; ID is by its content
 *	packages/package_layers/ID/about  what it is, as records; its time: last
 * use packages/package_layers/ID/seal   how site was when it was finished
 *	packages/new/NAME	   one in the making, locked by who makes it
 */
#ifndef REMIT_PACKAGE_LAYER_H
#define REMIT_PACKAGE_LAYER_H

#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* A failure is remembered for so long. */
#define PACKAGE_LAYER_FAILURE_S 60
/* Whether somebody has changed a package layer in use is looked at as often. */
#define PACKAGE_LAYER_TRUST_US (60 * 1000000ull)

struct package_layer {
	char id[SHA256_TEXT]; /* "": none */
	char *site;	      /* its path on the host */
	int lock;	      /* a shared lock: who prunes leaves it alone */
	uint64_t checked_us;
};

#define PACKAGE_LAYER_INIT  \
	{                   \
		.lock = -1, \
	}

/* What is asked for: interpreter, platform, names and versions, sources. */
int package_layer_key(char out[SHA256_TEXT], const struct policy *p,
		      const struct interpreter *in,
		      struct remit_error *err) must_check;

/*
 * What was found whole lately, whatever policy asked for it: to look through a
 * package layer of 40,000 files takes a tenth of a second.
 */
struct package_layer_trust {
	struct {
		char id[SHA256_TEXT];
		uint64_t checked_us;
	} rows[16];
};

/* The one for this request. False if there is none that can be used. Without
   `trust` (NULL) every file is looked at. */
bool package_layer_find(struct package_layer *out, const char *key,
			struct package_layer_trust *trust);
/* The id of the package layer that was made for a request, which may be gone.
   Returns -1 if there was none. */
int package_layer_wanted(const char *key, char id[SHA256_TEXT]) must_check;
/* It is as it was made; looked at now and then. */
bool package_layer_is_whole(struct package_layer *s);
void package_layer_free(struct package_layer *s);

/* Show it to an interpreter: a mount, and a place on its path behind the
   standard library and before all that is installed. */
int package_layer_show(const struct package_layer *s, bool is_bare,
		       struct interpreter *in,
		       struct remit_error *err) must_check;

/* A directory of the store, made if it is missing. -1 with *err. */
int package_layer_directory(const char *name, struct remit_error *err);
/* Returns -1 if the cache cannot take another package layer: the error is a
   refusal that names the remedy. */
int package_layer_check_store(struct remit_error *err) must_check;
/* Turns *err, the reason why the store cannot be used, into that refusal, and
   returns -1. */
int package_layer_fail_store(struct remit_error *err);

/* Wait for the right to make one for this request, so long: a descriptor. */
int package_layer_lock(const char *key, uint64_t timeout_ms,
		       struct remit_error *err);
/* What went wrong before; false if nothing is remembered. */
bool package_layer_failure(const char *key, struct remit_error *out);
void package_layer_remember_failure(const char *key,
				    const struct remit_error *e);

/* Remove what those have left half made who were killed. */
void package_layer_clean(void);
/* Remove a directory of `parent` with all that is in it. */
int package_layer_remove(int parent, const char *name) must_check;

/*
 * A seal: how a directory is, as one number: each name in it with its mode,
 * size and times. Whoever writes to a file, adds one or removes one changes its
 * time of change or its directory's, which the kernel sets and no program can
 * choose. So to compare costs a look at each name, not at each byte.
 */

/* Of the directory itself and all below it. -1 with errno: it cannot be read,
   or there is more in it than a package layer can have. */
int package_layer_seal(int directory, char out[SHA256_TEXT]) must_check;

/* Take the right to write from it and all directories below. -1 with errno. */
int package_layer_seal_directories(int directory) must_check;

#endif
