/*
 * package_layer_list: all package layers of a user, and those that are no
 * longer wanted.
 */
#ifndef REMIT_PACKAGE_LAYER_LIST_H
#define REMIT_PACKAGE_LAYER_LIST_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

/* [{id, python, packages, wheels, size_bytes, files, used}], the last used
   first; `used` in seconds since 1970. What wheels are is what the run said
   that installed them. */
int package_layer_list(json_t **out, struct remit_error *err) must_check;

/* More than this does not stay when another one is installed. */
#define PACKAGE_LAYER_STORE_BYTES ((uint64_t)16 << 30)

struct package_layer_prune {
	uint64_t unused_ms;	/* not used for so long, */
	uint64_t max_bytes;	/* or used longest ago, if all have more (the
				   last used one stays); UINT64_MAX: not asked */
	const struct list *ids; /* or named by these (beginnings of) ids */
	/* What came of it. */
	uint64_t removed, in_use, freed_bytes;
};

/* Remove those, but for any in use; and what is left of failures, of requests
   for what was removed, and of who was killed. An id that fits none is an
   error, before anything is removed. */
int package_layer_prune(struct package_layer_prune *p,
			struct remit_error *err) must_check;

#endif
