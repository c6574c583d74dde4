/*
 * bench_status: the few facts of a keeper's status that the bench waits for
 * and reports.
 */
#ifndef REMIT_BENCH_STATUS_H
#define REMIT_BENCH_STATUS_H

#include <stdbool.h>

#include "base/error.h"

/* The pool and the zygote of programs that preload the same modules. Zero
   where there is none. */
struct bench_status {
	bool known; /* the keeper says what it does */
	bool has_zygote, failed;
	unsigned waiting, target;
	double hits;	    /* runs that found a child waiting, ever */
	double child_bytes; /* of one waiting child; 0: none waits */
	double zygote_bytes;
	double build_us; /* it took to make the last child */
};

struct bench_status bench_status_get(struct remit *r,
				     const char *const *preload);
/* The same from the text; an unknown form is not known. */
struct bench_status bench_status_parse(const char *json,
				       const char *const *preload);

/* Whether all pools are full, so that the keeper has nothing to build. True if
   that is not known. */
bool bench_status_is_settled(struct remit *r);
bool bench_status_parse_settled(const char *json);

#endif
