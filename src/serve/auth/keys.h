/*
 * keys: who may ask, how much at once, and for what at most.
 *
 * A file of keys is one JSON object; only fingerprints of keys are in it:
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
#include "policy/policy.h"

/* 160 bits as hexadecimal digits, and a NUL. */
#define KEY_TEXT 41
#define KEYS_MAX 256

struct key {
	char *name;
	char sum[SHA256_TEXT];
	uint64_t concurrency;  /* sessions and runs at once */
	uint64_t per_minute;   /* requests */
	uint64_t memory_bytes; /* of all of them, by their policies */
	struct policy policy;  /* of requests that name none */
	char *policy_text;     /* the same as a document */
	/* What they get at most: but for the fields in `free`, which may be
	   anything. */
	struct policy most;
	uint64_t free;
	bool is_operator; /* it may see what the whole server does */
	/* Of its policy's interpreter, for Piston's clients; 0: not known. */
	int python[3];
	uint64_t body_bytes; /* of requests that live; atomic */
	size_t conns;	     /* of the thread of HTTP */
	/* Requests it may make now. */
	double left;
	uint64_t filled_us;
};

struct keys {
	struct key *all;
	size_t count;
	bool is_local; /* made for this start: the first is the user's own */
	bool is_open;  /* nobody is asked for a key: the first is everybody's */
};

/* `base` is what keys without a policy of their own may do. */
int keys_read(struct keys *k, const char *path, const struct policy *base,
	      struct remit_error *err) must_check;
/* One key for this start; its text, or that none is asked for. */
int keys_make_local(struct keys *k, const struct policy *base, bool is_open,
		    char text[KEY_TEXT], struct remit_error *err) must_check;
/* Add a new key to a file, which is made if it is missing (mode 0600). */
int keys_add(const char *path, const char *name, char text[KEY_TEXT],
	     struct remit_error *err) must_check;
void keys_free(struct keys *k);

/* Whose key it is; NULL: nobody's. "e2b_" before it is left out, which some
   clients insist on. Takes the same time whatever is wrong with it. */
struct key *keys_find(const struct keys *k, const char *text, size_t len);
/* By its name; NULL: there is none. */
const struct key *keys_find_by_name(const struct keys *k, const char *name);
/* A policy as the document that a run is given, a new string; NULL without
   memory. */
char *keys_policy_text(const struct policy *p);
/* Whether it may ask once more in this minute. */
bool keys_spend(struct key *key, uint64_t now_us);

#endif
