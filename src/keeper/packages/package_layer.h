/*
 * package_layer: the packages of a policy, installed once into a directory of
 * the user's cache that is never changed afterwards, and found again by the
 * request that they were installed for.
 *
 *	packages/wants/KEY        the layer that was made for a request
 *	packages/failed/KEY       why none could be made, for a short time
 *	packages/locks/KEY        locked by the process that makes one
 *	packages/layers/ID/site   what jails see; ID is a hash of the content
 *	packages/layers/ID/about  its description, as records; mtime: last use
 *	packages/layers/ID/seal   the state of site when it was finished
 *	packages/new/NAME         an incomplete one, locked by its maker
 */
#ifndef REMIT_PACKAGE_LAYER_H
#define REMIT_PACKAGE_LAYER_H

#include "base/buf.h"
#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* How long a failure is remembered, in seconds. */
#define PACKAGE_LAYER_FAILURE_S 60
/* How often a package layer in use is checked for changes. */
#define PACKAGE_LAYER_TRUST_US (60 * 1000000ull)
/* The keeper itself checks only layers with at most this many files, which
   takes about as long as a fork. */
#define PACKAGE_LAYER_SMALL_FILES 400
/* The maximum size of a description. */
#define PACKAGE_LAYER_ABOUT_MAX (1 << 20)

struct package_layer {
	char id[SHA256_TEXT]; /* "": none */
	char *site;	      /* its path on the host */
	int lock; /* a shared lock, which keeps it from being pruned */
	uint64_t files;
	uint64_t checked_us; /* 0: not checked yet */
};

#define PACKAGE_LAYER_INIT  \
	{                   \
		.lock = -1, \
	}

/* Hashes what was requested: interpreter, platform, names, versions and
   sources. */
int package_layer_key(char out[SHA256_TEXT], const struct policy *p,
		      const struct interpreter *in,
		      struct remit_error *err) must_check;

/* Makes it the key of a request by code of a tenant (NULL: there are none) that
   has these packages already. Sorts them. Code chooses what it asks for, so
   tenants that shared layers could notice what others have asked for. */
void package_layer_key_add(char key[SHA256_TEXT], const char *tenant,
			   struct list *have);

/*
 * The package layers that were checked recently, for any policy: checking one
 * with 40,000 files takes a tenth of a second, in which the keeper would serve
 * no other session. So a process of the installer checks large layers.
 */
struct package_layer_trust {
	struct {
		char id[SHA256_TEXT];
		uint64_t checked_us;
	} rows[16];
};

/* Adds a package layer that was checked just now. */
void package_layer_trust_add(struct package_layer_trust *t, const char *id);

enum package_layer_state {
	PACKAGE_LAYER_ABSENT,	 /* there is none that can be used */
	PACKAGE_LAYER_UNCHECKED, /* another process must check it */
	PACKAGE_LAYER_WHOLE,
};

/* Finds the package layer for a request. With `trust` NULL every file is
   checked, and the result is never UNCHECKED. */
enum package_layer_state package_layer_find(struct package_layer *out,
					    const char *key,
					    struct package_layer_trust *trust);
/* Sets `id` to the package layer that was made for a request, which may have
   been removed since. Returns -1 if there was none. */
int package_layer_wanted(const char *key, char id[SHA256_TEXT]) must_check;
/* Returns true if it was checked recently, or is small and was not changed. For
   a large one that must be checked again, returns false: find it again. */
bool package_layer_is_whole(struct package_layer *s);
/* Returns true if both are the same directory. A layer that is installed again
   may have the id of the one it replaces. */
bool package_layer_is_same(const struct package_layer *a,
			   const struct package_layer *b);
void package_layer_free(struct package_layer *s);

/* Makes it available to an interpreter: adds a mount, and a directory to its
   path, after the standard library and before all installed packages. */
int package_layer_show(const struct package_layer *s, bool is_bare,
		       struct interpreter *in,
		       struct remit_error *err) must_check;

/* Returns the directory of the store. Returns -1 and sets *err on failure. */
int package_layer_store(struct remit_error *err);
/* Returns a directory of the store, which is made if it is missing. Returns -1
   and sets *err on failure. */
int package_layer_directory(const char *name, struct remit_error *err);
/* Returns -1 if the cache cannot take another package layer: the error is a
   refusal that names the remedy. */
int package_layer_check_store(struct remit_error *err) must_check;
/* Turns *err, the reason why the store cannot be used, into a refusal that
   names the remedy, and returns -1. */
int package_layer_fail_store(struct remit_error *err);

/* Waits at most this long for the lock to make a layer for this request.
   Returns its descriptor, or -1 and sets *err. */
int package_layer_lock(const char *key, uint64_t timeout_ms,
		       struct remit_error *err);
/* Sets *out to a recent failure of this request. Returns false if there was
   none. */
bool package_layer_failure(const char *key, struct remit_error *out);
void package_layer_remember_failure(const char *key,
				    const struct remit_error *e);

/* Appends the description of a layer, as complete records. */
int package_layer_read_about(int directory, struct buf *out) must_check;
/* Removes incomplete layers of processes that were killed. */
void package_layer_clean(void);
/* Removes a directory of `parent` with its contents. */
int package_layer_remove(int parent, const char *name) must_check;

/*
 * A seal: the state of a directory as a hash over each name in it, with its
 * mode, size and times. Any write to a file, and any addition or removal,
 * changes the ctime of the file or of its directory, which the kernel sets and
 * no program can choose. So a comparison looks at each name, but not at the
 * contents.
 */

/* Hashes the directory and everything below it. Returns -1 with errno set if it
   cannot be read, or has more files than a package layer may have. */
int package_layer_seal(int directory, char out[SHA256_TEXT]) must_check;

/* Makes it and all directories below read-only. Returns -1 with errno set. */
int package_layer_seal_directories(int directory) must_check;

#endif
