/*
 * snapshot_store: files and metadata of sessions, stored on disk for their
 * owners until they expire. They survive restarts of the server.
 *
 * A snapshot is a directory. Its files are named by the SHA-256 of their
 * contents and are hard links to the objects of its owner, so that equal
 * contents are stored once for each owner, and the kernel counts how many
 * snapshots use an object:
 *
 *	OWNER/objects/SHA256
 *	OWNER/ID/SHA256		a link to the object
 *	OWNER/ID/manifest	the entries of the file tree
 *	OWNER/ID/about		a text for the caller
 *	OWNER/ID/head		written last: it completes the snapshot
 *
 * OWNER is the SHA-256 of the owner's name. No name from a session is used as a
 * name here.
 *
 * All functions may be called from any thread. Those that take an owner find
 * only the snapshots of this owner.
 */
#ifndef REMIT_SNAPSHOT_STORE_H
#define REMIT_SNAPSHOT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define SNAPSHOT_ID_SIZE   21 /* an id of hosted_make_id() */
#define SNAPSHOT_NAME_SIZE 129

/* The maximum size of the text for the caller. */
#define SNAPSHOT_ABOUT_MAX ((size_t)1024 * 1024)

/* Kinds are bits, so that a search can be for several. */
enum snapshot_kind { SNAPSHOT_PAUSED = 1, SNAPSHOT_TEMPLATE = 2 };

struct snapshot_info {
	char id[SNAPSHOT_ID_SIZE];
	enum snapshot_kind kind;
	char name[SNAPSHOT_NAME_SIZE];	 /* "": it has none */
	char source[SNAPSHOT_ID_SIZE];	 /* of what it was made */
	uint64_t created_ms, expires_ms; /* since 1970 */
	uint64_t entries;		 /* of the file tree */
	uint64_t bytes; /* the sum of the lengths of its files */
};

struct snapshot_store;

struct snapshot_store_options {
	const char *parent; /* created if it is missing */
	uint64_t keep_ms;
	uint64_t max_bytes, max_owner_bytes, max_owner_count;
	/* The memory of the lists of files that are being stored or restored */
	uint64_t max_list_bytes, max_owner_list_bytes;
};

/* Opens the store below the parent directory, which no other server may use at
   the same time. Removes what is incomplete. */
int snapshot_store_open(struct snapshot_store **out,
			const struct snapshot_store_options *opt,
			struct remit_error *err) must_check;
/* The files stay. Accepts NULL. */
void snapshot_store_free(struct snapshot_store *s);

/* Finds the newest snapshot with this id or name. `kinds` is a set of enum
   snapshot_kind. */
bool snapshot_store_find(struct snapshot_store *s, const char *owner,
			 unsigned kinds, const char *id_or_name,
			 struct snapshot_info *out);
/* Lists an owner's snapshots of these kinds, newest first. The caller frees
 *out. Returns -1 if memory is exhausted. */
int snapshot_store_list(struct snapshot_store *s, const char *owner,
			unsigned kinds, struct snapshot_info **out,
			size_t *count) must_check;
/* Reads the text for the caller, and checks that it is undamaged. */
int snapshot_store_about(struct snapshot_store *s, const char *owner,
			 const char *id, struct buf *out,
			 struct remit_error *err) must_check;
/* Reserves a snapshot for one caller until it is removed or released. Returns
   false if another caller has it, or it does not exist. */
bool snapshot_store_claim(struct snapshot_store *s, const char *owner,
			  const char *id) must_check;
void snapshot_store_release(struct snapshot_store *s, const char *owner,
			    const char *id);
/* Removes a snapshot. Returns false if the owner has none with this id. May
   block while files are removed. */
bool snapshot_store_remove(struct snapshot_store *s, const char *owner,
			   const char *id);
/* Whether a snapshot has expired. Call it about once a second, and if so
   snapshot_store_sweep() in a thread that may block: it removes all of them. */
bool snapshot_store_has_expired(struct snapshot_store *s);
void snapshot_store_sweep(struct snapshot_store *s);

#endif
