/*
 * tier: how strong the wall is. Tiers not built yet have rows too, so that
 * the matrix can show them and a policy that names one is refused by name.
 */
#ifndef REMIT_TIER_H
#define REMIT_TIER_H

#include <stdbool.h>

enum tier {
	TIER_STATIC,
	TIER_UNSAFE,
	TIER_LANDLOCK,
	TIER_LOCAL,
	TIER_CONTAINER,
	TIER_WASM,
	TIER_VM,
	TIER_COUNT,
};

struct tier_info {
	const char *name;
	const char *alias;    /* accepted too, or NULL */
	const char *sentence; /* for people */
	bool built;
	bool jailed; /* runs in a jail (static parses in one) */
	bool bare;   /* the jail is one process without namespaces */
};

extern const struct tier_info tiers[TIER_COUNT];

/* By name or alias; -1 if there is none. */
int tier_find(const char *name);

#endif
