/*
 * shelf_make: a shelf in the making. What comes from the jail that has
 * installed are files called by their numbers, and a list that says what each
 * is to be called; names and bytes are what an adversary likes them to be.
 *
 *	shelf_make_open()
 *	shelf_make_file(), shelf_make_add() ...	as they come
 *	shelf_make_finish()			all or nothing
 *	shelf_make_free()			what is not finished is gone
 */
#ifndef REMIT_SHELF_MAKE_H
#define REMIT_SHELF_MAKE_H

#include "base/buf.h"
#include "base/sha256.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* The most a shelf may have. */
#define SHELF_FILES_MAX 100000

struct shelf_make {
	char name[24];
	int folder; /* of ours, locked */
	int raw;    /* files by number, until they are named */
	int file;   /* that is being written, or -1 */
	bool is_about;
	uint64_t left_bytes; /* of what is being taken */
	struct buf about;    /* the list, as records */
};

#define SHELF_MAKE_INIT \
	{ .folder = -1, .raw = -1, .file = -1, .about = BUF_INIT(64 << 20) }

int shelf_make_open(struct shelf_make *m, struct remit_error *err) must_check;
/* The next file, by its path in the jail's workspace. */
int shelf_make_file(struct shelf_make *m, const char *path, uint64_t size,
		    struct remit_error *err) must_check;
int shelf_make_add(struct shelf_make *m, const char *bytes, size_t len,
		   struct remit_error *err) must_check;
/* Give all its names, seal it, and let it be found for this request. */
int shelf_make_finish(struct shelf_make *m, const char *key,
		      const struct policy *p, const struct interpreter *in,
		      struct remit_error *err) must_check;
void shelf_make_free(struct shelf_make *m);

#endif
