/*
 * probe: learn what this machine and this user can enforce by doing it: run the
 * whole lock-down in a throw-away jail.
 */
#ifndef REMIT_PROBE_H
#define REMIT_PROBE_H

#include "policy/host.h"

/* Probe the host. host->can explains what failed. Returns -1 only if the probe
   itself could not run. */
int probe_host(struct host *out, const char *runtime_dir,
	       struct remit_error *err) must_check;

/* Like probe_host(), but use the cache if boot, kernel, user, program and
   surroundings are the same. Otherwise probe, and save the result if the cache
   can be written. */
int probe_host_cached(struct host *out, const char *runtime_dir,
		      struct remit_error *err) must_check;

#endif
