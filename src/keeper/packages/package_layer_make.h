/*
 * package_layer_make: a package layer in the making. What comes from the jail
 * that has installed are files called by their numbers, and a list that says
 * what each is to be called; names and bytes are what an adversary likes them
 *to be.
 *
 *	package_layer_make_open()
 *	package_layer_make_file(), package_layer_make_add() ...	as they come
 *	package_layer_make_finish()			all or nothing
 *	package_layer_make_free()			what is not finished is
 * gone
 */
#ifndef REMIT_PACKAGE_LAYER_MAKE_H
#define REMIT_PACKAGE_LAYER_MAKE_H

#include "base/buf.h"
#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* The most a package layer may have. */
#define PACKAGE_LAYER_FILES_MAX 100000

struct package_layer_make {
	char name[24];
	int directory; /* of ours, locked */
	int raw;       /* files by number, until they are named */
	int file;      /* that is being written, or -1 */
	bool is_about;
	uint64_t left_bytes; /* of what is being taken */
	struct buf about;    /* the list, as records */
};

#define PACKAGE_LAYER_MAKE_INIT \
	{ .directory = -1, .raw = -1, .file = -1, .about = BUF_INIT(64 << 20) }

int package_layer_make_open(struct package_layer_make *m,
			    struct remit_error *err) must_check;
/* The next file, by its path in the jail's workspace. */
int package_layer_make_file(struct package_layer_make *m, const char *path,
			    uint64_t size, struct remit_error *err) must_check;
int package_layer_make_add(struct package_layer_make *m, const char *bytes,
			   size_t len, struct remit_error *err) must_check;
/* Give all its names, seal it, and let it be found for this request. */
int package_layer_make_finish(struct package_layer_make *m, const char *key,
			      const struct policy *p,
			      const struct interpreter *in,
			      struct remit_error *err) must_check;
void package_layer_make_free(struct package_layer_make *m);

#endif
