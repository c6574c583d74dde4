/*
 * uid_pool: host user ids for jails started by root, each used by one jail at a
 * time. An id is locked by a lock on one byte of a file, so that a dying keeper
 * releases its ids.
 */
#ifndef REMIT_UID_POOL_H
#define REMIT_UID_POOL_H

#include <stdint.h>

#include "base/error.h"

/* The first id: accounts do not use ids this high. REMIT_UID_BASE replaces
   it. */
#define UID_POOL_BASE 1879048192u /* 0x70000000 */
#define UID_POOL_SIZE 65536u

struct uid_lease {
	int fd; /* -1: no lease */
	uint32_t uid;
};

#define UID_LEASE_INIT { .fd = -1 }

int uid_lease_acquire(struct uid_lease *out,
		      struct remit_error *err) must_check;
void uid_lease_free(struct uid_lease *l);

#endif
