/*
 * bench_pss: the memory of a process and all below it, pages that several
 * share counted once (PSS, proc(5)).
 */
#ifndef REMIT_BENCH_PSS_H
#define REMIT_BENCH_PSS_H

#include <sys/types.h>

#include "base/error.h"

/* Without this process itself, if it is the root. */
int bench_pss_tree(pid_t root, double *bytes,
		   struct remit_error *err) must_check;

#endif
