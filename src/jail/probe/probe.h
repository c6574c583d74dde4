/*
 * probe: find out what this machine and this user can enforce by doing it:
 * the whole lock-down, in a throw-away jail.
 */
#ifndef REMIT_PROBE_H
#define REMIT_PROBE_H

#include "policy/host.h"

/* Always answers; what failed is said in host->can. */
int probe_host(struct host *out, const char *runtime_dir,
	       struct remit_error *err) must_check;

/* From the cache if the boot, kernel, user, program and surroundings are the
   same; else by probe_host(), and kept if the cache can be written. */
int probe_host_cached(struct host *out, const char *runtime_dir,
		      struct remit_error *err) must_check;

#endif
