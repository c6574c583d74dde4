/*
 * snapshot_part: declarations shared by the store of snapshots, its writer and
 * its reader. For these files only.
 */
#ifndef REMIT_SNAPSHOT_PART_H
#define REMIT_SNAPSHOT_PART_H

#include <pthread.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/own.h"
#include "hosted/snapshot/store.h"

/* The maximum size of a file tree's description. */
#define MANIFEST_MAX ((size_t)32 * 1024 * 1024)
#define HEAD_MAX     ((size_t)16 * 1024)
#define FORMAT	     "1"

/* Charged for each object and for each entry, in addition to its bytes. */
#define OBJECT_BYTES 4096
#define ENTRY_BYTES  256

struct stored {
	struct stored *next;
	struct snapshot_owner *owner;
	struct snapshot_info info;
	uint64_t charged_bytes; /* without its objects */
	bool is_claimed;
};

/* Never freed before the store: there are only as many as keys. */
struct snapshot_owner {
	struct snapshot_owner *next;
	char *name;
	char sum[SHA256_TEXT]; /* names its directory */
	uint64_t bytes;
	uint64_t writing; /* snapshots that are being written */
	uint64_t list_bytes;
	/* Protects the objects: held while a link is made or removed. */
	pthread_mutex_t objects;
};

struct snapshot_store {
	int directory; /* locked while in use */
	struct snapshot_store_options opt;
	pthread_mutex_t lock; /* for the members below; never held across
				 calls that touch files */
	struct snapshot_owner *owners;
	struct stored *first; /* newest first */
	uint64_t bytes, list_bytes;
};

/* The contents of a snapshot's head. */
struct snapshot_head {
	struct snapshot_info info;
	char owner[256];
	char manifest_sum[SHA256_TEXT], about_sum[SHA256_TEXT];
};

/* Finds or adds an owner. Returns NULL if memory is exhausted. */
struct snapshot_owner *snapshot_owner_find(struct snapshot_store *s,
					   const char *name);
/* Opens the owner's directory, which is created if it is missing. Returns -1
   with errno. */
int snapshot_owner_open(const struct snapshot_store *s,
			const struct snapshot_owner *o) must_check;
/* The cost of an object of this size. */
uint64_t snapshot_object_cost(uint64_t bytes);
/* Charges bytes if they fit. */
bool snapshot_charge(struct snapshot_store *s, struct snapshot_owner *o,
		     uint64_t bytes) must_check;
void snapshot_refund(struct snapshot_store *s, struct snapshot_owner *o,
		     uint64_t bytes);
/* Charges memory for a list of files; snapshot_list_refund() returns it. */
int snapshot_list_charge(struct snapshot_store *s, struct snapshot_owner *o,
			 uint64_t bytes, struct remit_error *err) must_check;
void snapshot_list_refund(struct snapshot_store *s, struct snapshot_owner *o,
			  uint64_t bytes);
/* Removes the directory of a snapshot, and the objects that no other snapshot
   uses. */
void snapshot_drop_directory(struct snapshot_store *s, struct snapshot_owner *o,
			     const char *name);
/* Whether a text has the form of an id. */
bool snapshot_is_id(const char *name);
/* Adds a complete snapshot to the index. */
void snapshot_store_add(struct snapshot_store *s, struct stored *one);
/* Reads and checks the head of a snapshot. */
int snapshot_head_read(struct snapshot_head *h, int directory,
		       struct remit_error *err) must_check;
/* Writes the text of a head. Returns -1 with errno. */
int snapshot_head_write(struct buf *out,
			const struct snapshot_head *h) must_check;
/* Reads a whole file of a snapshot, and compares its digest unless `sum` is
   NULL. */
int snapshot_read_file(struct buf *out, int directory, const char *name,
		       const char *sum, struct remit_error *err) must_check;

#endif
