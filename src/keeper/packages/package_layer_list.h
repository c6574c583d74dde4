/*
 * package_layer_list: all package layers of a user, and how to remove some.
 */
#ifndef REMIT_PACKAGE_LAYER_LIST_H
#define REMIT_PACKAGE_LAYER_LIST_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

/* Lists [{id, python, packages, wheels, size_bytes, files, used}], the most
   recently used first; `used` is in seconds since 1970. The wheels are those
   that the installation reported. */
int package_layer_list(json_t **out, struct remit_error *err) must_check;

/* The maximum size of the store after an installation; older layers are
   removed. */
#define PACKAGE_LAYER_STORE_BYTES ((uint64_t)16 << 30)

struct package_layer_prune {
	uint64_t unused_ms; /* Remove those not used for this long, */
	uint64_t max_bytes; /* or the least recently used if all are larger than
			       this (the most recently used one stays;
			       UINT64_MAX: no limit), */
	/* or those whose ids begin with one of these. */
	const struct list *ids;
	bool removes_old; /* also all layers that Remit 0.1 made */
	/* The outcome. */
	uint64_t removed, in_use, freed_bytes;
};

/* Removes these layers, unless they are in use. Also removes remembered
   failures, requests for removed layers, and incomplete layers of killed
   processes. If one of `ids` matches no layer, returns -1 and removes
   nothing. */
int package_layer_prune(struct package_layer_prune *p,
			struct remit_error *err) must_check;

#endif
