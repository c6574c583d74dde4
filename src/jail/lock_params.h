/*
 * lock_params: the parameters that the keeper sends to the module in the
 * interpreter. Fixed size, no pointers, nothing to parse.
 */
#ifndef REMIT_LOCK_PARAMS_H
#define REMIT_LOCK_PARAMS_H

#include <sched.h>
#include <stdint.h>

#include "wire/frame.h"

/* A module with another protocol version rejects this number. */
#define LOCK_MAGIC (0x72656d00u | FRAME_PROTOCOL)

/* Descriptors that the interpreter starts with, in addition to 0, 1 and 2. */
#define LOCK_CHANNEL_FD 3
#define LOCK_RULESET_FD 4

/* The stack of the program that runs a WebAssembly guest. */
#define LOCK_GUEST_STACK (32 << 20)

/* The size of the path of a workspace, with its NUL. */
#define LOCK_WORKSPACE_SIZE 256

enum lock_skip { /* only in test builds */
		 LOCK_SKIP_LANDLOCK = 1,
		 LOCK_SKIP_SECCOMP = 2,
		 LOCK_SKIP_ROOT = 4, /* the host's directories are visible */
};

/* The resource limits of a process in a jail, in the order of the table in
   enter.c. */
enum lock_limit {
	LOCK_LIMIT_AS,
	LOCK_LIMIT_DATA,
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
	uint64_t limits[LOCK_LIMITS]; /* 0: leave unchanged */
	uint32_t warm;		      /* the process is a fork of a zygote */
	uint32_t bare;		      /* no namespaces */
	uint32_t branch; /* a copy of code that is already locked */
	uint32_t
		keeper; /* die with this process; 0: the jail's pid 1 ends it */
	uint32_t closing;     /* CLOSING_ bits of jail/seccomp/filter.h */
	uint32_t guest_pages; /* of 64 KiB, for WebAssembly; else 0 */
	uint32_t has_cpus;
	cpu_set_t cpus;
	char workspace[LOCK_WORKSPACE_SIZE]; /* the initial directory */
};

#endif
