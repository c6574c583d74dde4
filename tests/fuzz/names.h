/*
 * names: checks for host names, whichever parser accepted them.
 */
#ifndef REMIT_FUZZ_NAMES_H
#define REMIT_FUZZ_NAMES_H

#include <string.h>

#include "base/net/host_name.h"
#include "fuzz.h"

/* The name must be valid, and in its one form. */
static inline void
check_name(const char *name)
{
	char again[HOST_NAME_SIZE];

	must(host_name_read(name, strlen(name), again) == 0);
	must(!strcmp(name, again));
}

#endif
