/*
 * piston_version: whether a version is one that a selector of semantic versions
 * means: "3.11.2", "3.x", "*", "^3.8", "~3.11", ">=3.8 <4", "2.x || 3.x".
 */
#ifndef REMIT_PISTON_VERSION_H
#define REMIT_PISTON_VERSION_H

#include <stdbool.h>

/* False also for a selector that is not understood. */
bool piston_version_matches(const char *selector, const int version[3]);

#endif
