#include "policy/tier.h"

#include <string.h>

const struct tier_info tiers[TIER_COUNT] = {
	[TIER_STATIC] = {
		.name = "static",
		.sentence = "syntax and imports are checked in a jail, nothing "
			    "runs",
		.built = true,
		.jailed = true,
	},
	[TIER_UNSAFE] = {
		.name = "unsafe",
		.alias = "local_unsafe",
		.sentence = "a plain subprocess with a timeout and output "
			    "caps, and no wall",
		.built = true,
	},
	[TIER_LANDLOCK] = {
		.name = "landlock",
		.sentence = "Landlock, seccomp and rlimits without "
			    "namespaces, for containers",
		.built = true,
		.jailed = true,
		.bare = true,
	},
	[TIER_LOCAL] = {
		.name = "local",
		.sentence = "namespaces, Landlock, seccomp, rlimits and "
			    "cgroups on this kernel",
		.built = true,
		.jailed = true,
	},
	[TIER_CONTAINER] = {
		.name = "container",
		.sentence = "the local jail inside an OCI container",
	},
	[TIER_WASM] = {
		.name = "wasm",
		.sentence = "CPython compiled to WebAssembly",
	},
	[TIER_VM] = {
		.name = "vm",
		.sentence = "a virtual machine with its own kernel",
	},
};

int
tier_find(const char *name)
{
	for (int i = 0; i < TIER_COUNT; i++) {
		if (!strcmp(tiers[i].name, name))
			return i;
		if (tiers[i].alias && !strcmp(tiers[i].alias, name))
			return i;
	}
	return -1;
}
