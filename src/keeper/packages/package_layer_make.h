/*
 * package_layer_make: a package layer that is being made. The jail of an
 * installation exports files named by number, and a list with the name of
 * each. Names and bytes may be hostile.
 *
 *	package_layer_make_open()
 *	package_layer_make_file(), package_layer_make_add()   for each file
 *	package_layer_make_finish()    makes the layer available, or fails
 *	package_layer_make_free()      removes a layer that is not finished
 */
#ifndef REMIT_PACKAGE_LAYER_MAKE_H
#define REMIT_PACKAGE_LAYER_MAKE_H

#include "base/buf.h"
#include "base/digest.h"
#include "policy/interpreter.h"
#include "policy/policy.h"

/* The maximum of files in a package layer. */
#define PACKAGE_LAYER_FILES_MAX 100000

struct package_layer_make {
	char name[24];
	int directory; /* a private directory, locked */
	int raw;       /* files by number, until they are named */
	int file;      /* the file being written, or -1 */
	bool is_about;
	uint64_t left_bytes; /* bytes of the file that are still to come */
	struct buf about;    /* the list of names, as records */
};

#define PACKAGE_LAYER_MAKE_INIT \
	{ .directory = -1, .raw = -1, .file = -1, .about = BUF_INIT(64 << 20) }

int package_layer_make_open(struct package_layer_make *m,
			    struct remit_error *err) must_check;
/* Starts the next file, by its path in the jail's workspace. */
int package_layer_make_file(struct package_layer_make *m, const char *path,
			    uint64_t size, struct remit_error *err) must_check;
int package_layer_make_add(struct package_layer_make *m, const char *bytes,
			   size_t len, struct remit_error *err) must_check;
/* Names all files, seals the layer, and makes it available for this request of
   a tenant, or of none (NULL). */
int package_layer_make_finish(struct package_layer_make *m, const char *key,
			      const char *tenant, const struct policy *p,
			      const struct interpreter *in,
			      struct remit_error *err) must_check;
void package_layer_make_free(struct package_layer_make *m);

#endif
