/*
 * small_doors: APIs of other services in which one request is one program:
 *
 *	POST /		{"code": "..."}, the simplest of all
 *	POST /run_code	SandboxFusion's
 */
#ifndef REMIT_SMALL_DOORS_H
#define REMIT_SMALL_DOORS_H

#include "route.h"

extern const struct route small_door_routes[];

#endif
