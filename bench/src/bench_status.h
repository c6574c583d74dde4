/*
 * bench_status: reads from a keeper's status what the bench waits for and
 * reports.
 */
#ifndef REMIT_BENCH_STATUS_H
#define REMIT_BENCH_STATUS_H

#include <stdbool.h>

#include "base/error.h"

/* The pool and the zygote of programs with the same preloads. Members are zero
   if there is none. */
struct bench_status {
	bool known; /* the keeper reports its pools */
	bool has_zygote, failed;
	unsigned waiting, target;
	double hits;	    /* all runs so far that found a waiting child */
	double child_bytes; /* memory of one waiting child; 0: none waits */
	double zygote_bytes;
	double build_us; /* how long building the last child took */
};

struct bench_status bench_status_get(struct remit *r,
				     const char *const *preload);
/* Parse the text of a status. If it has an unknown form, `known` is false. */
struct bench_status bench_status_parse(const char *json,
				       const char *const *preload);

/* Returns true if all pools are full, so that the keeper builds nothing, or if
   this is unknown. */
bool bench_status_is_settled(struct remit *r);
bool bench_status_parse_settled(const char *json);

#endif
