/*
 * package_layer_prune: removes package layers that are not in use.
 */
#ifndef REMIT_PACKAGE_LAYER_PRUNE_H
#define REMIT_PACKAGE_LAYER_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

/* The maximum size of the store after an installation; other layers are
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

/*
 * Removes layers until the rest fits into p->max_bytes; reads no other member.
 * The next one is always the least recently used of the tenant whose layers
 * have the most bytes. While a tenant has no more than an equal share of the
 * limit, it loses none, so no tenant can push the layers of another off the
 * disk: not even with layers that are in use, which stay.
 */
int package_layer_prune_shares(struct package_layer_prune *p,
			       struct remit_error *err) must_check;

#endif
