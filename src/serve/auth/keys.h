/*
 * keys: the keys of clients, each with its limits and its policy. The defaults
 * of the limits are the constants LIMIT_KEY_... in serve/limits.h.
 *
 * A file of keys is one JSON object. It contains fingerprints of keys only:
 *
 *	{"keys": [{"name": "ci", "sha256": "...", "concurrency": 8,
 *	  "per_minute": 600, "memory_bytes": "4G",
 *	  "policy": {"network_access": false}, "free": ["timeout"],
 *	  "operator": false}]}
 */
#ifndef REMIT_KEYS_H
#define REMIT_KEYS_H

#include <jansson.h>

#include "base/digest.h"
#include "policy/fields/field.h"

/* 160 bits as hexadecimal digits, and a NUL. */
#define KEY_TEXT 41
#define KEYS_MAX 256

struct key {
	char *name;
	char sum[SHA256_TEXT];
	uint64_t concurrency;  /* sessions and runs at once */
	uint64_t per_minute;   /* requests per minute */
	uint64_t memory_bytes; /* the sum over their policies */
	struct policy policy;  /* for requests without a policy */
	char *policy_text;     /* the same as a JSON document */
	/* What requests may ask for at most, except in the fields in `free`,
	   which are unbounded. */
	struct policy most;
	struct field_set free;
	bool is_operator; /* may see the state of the whole server */
	/* The version of its policy's interpreter, for clients of Piston; 0:
	   unknown. */
	int python[3];
	uint64_t body_bytes; /* of active requests; atomic */
	size_t conns;	     /* for the HTTP thread only */
	uint64_t port_uses;  /* by the ports of its sandboxes; see e2b/part.h */
	/* Requests that it may make now. */
	double left;
	uint64_t filled_us;
};

struct keys {
	struct key *all;
	size_t count;
	bool is_local; /* made for this start; a single key */
	bool is_open;  /* no key is required: the first is used */
};

/* Reads a file of keys. `base` is the policy of keys without a policy. Returns
   -1 with an error. */
int keys_read(struct keys *k, const char *path, const struct policy *base,
	      struct remit_error *err) must_check;
/* Makes one key for this start and returns its text; `is_open`: no key is
   required. */
int keys_make_local(struct keys *k, const struct policy *base, bool is_open,
		    char text[KEY_TEXT], struct remit_error *err) must_check;
/* Adds a new key to a file, which is created with mode 0600 if it is
   missing. */
int keys_add(const char *path, const char *name, char text[KEY_TEXT],
	     struct remit_error *err) must_check;
void keys_free(struct keys *k);

/* Finds a key by its text; returns NULL if there is none. Ignores the prefix
   "e2b_", which some clients require. The time it takes does not depend on the
   text. */
struct key *keys_find(const struct keys *k, const char *text, size_t len);
/* Finds a key by its name; returns NULL if there is none. */
const struct key *keys_find_by_name(const struct keys *k, const char *name);
/* Returns a policy as a JSON document for a run, in a new string, or NULL if
   memory is exhausted. */
char *keys_policy_text(const struct policy *p);
/* Uses one request of the key's rate. Returns false if none is left for now. */
bool keys_spend(struct key *key, uint64_t now_us);

#endif
