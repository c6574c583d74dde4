/*
 * small_apis: APIs of other services in which one request is one program, or
 * one notebook:
 *
 *	POST /			{"code": "..."}, the simplest of all
 *	POST /run_code		SandboxFusion's (fusion.c)
 *	POST /run_jupyter	likewise (notebook.c)
 *	POST /api/v2/execute	Piston's (piston.c)
 *	GET /api/v2/runtimes	likewise
 */
#ifndef REMIT_SMALL_APIS_H
#define REMIT_SMALL_APIS_H

#include "serve/auth/keys.h"
#include "serve/exchange.h"

extern const struct route small_api_routes[], fusion_routes[], piston_routes[];

/* What Piston's clients are told of each key's interpreter. Finding out may
   fork: to be called while there is one thread. */
void piston_find_pythons(struct keys *k);

/* The other route of SandboxFusion. */
void fusion_post_notebook(struct exchange *x);

#endif
