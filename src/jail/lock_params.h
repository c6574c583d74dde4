/*
 * lock_params: what the keeper tells the module in the interpreter to do. Fixed
 * size, no pointers, nothing to parse.
 */
#ifndef REMIT_LOCK_PARAMS_H
#define REMIT_LOCK_PARAMS_H

#include <sched.h>
#include <stdint.h>

#include "wire/frame.h"

/* A module of another protocol than the keeper's does not know it. */
#define LOCK_MAGIC (0x72656d00u | FRAME_PROTOCOL)

/* Descriptors that the interpreter starts with, besides 0, 1 and 2. */
#define LOCK_CHANNEL_FD 3
#define LOCK_RULESET_FD 4

enum lock_skip { /* only in test builds */
		 LOCK_SKIP_LANDLOCK = 1,
		 LOCK_SKIP_SECCOMP = 2,
		 LOCK_SKIP_ROOT = 4, /* the host's directories are in sight */
};

/* The resource limits that a process in a jail gets, in the order of the table
   in enter.c. */
enum lock_limit {
	LOCK_LIMIT_AS,
	LOCK_LIMIT_CPU,
	LOCK_LIMIT_NPROC,
	LOCK_LIMIT_NOFILE,
	LOCK_LIMIT_FSIZE,
	LOCK_LIMITS,
};

struct lock_params {
	uint32_t magic;
	uint32_t size; /* of this struct */
	uint32_t filter;
	uint32_t uid;
	uint32_t skip;
	uint32_t fail_step;	      /* only in test builds; 0: none */
	uint64_t limits[LOCK_LIMITS]; /* 0: not set by this */
	uint32_t warm;		      /* the interpreter is there already */
	uint32_t bare;		      /* no namespaces */
	uint32_t branch; /* a copy of locked code, locked already */
	uint32_t keeper; /* to die with; 0: it dies with its pid 1 */
	uint32_t direct; /* a directory of the host is written without an
			    overlay */
	uint32_t has_cpus;
	cpu_set_t cpus;
};

#endif
