/*
 * foreign: the APIs of other services that clients find at this server: E2B's,
 * SandboxFusion's and Piston's. A build with -Dforeign_apis=false has
 * foreign_out.c in the place of foreign.c, and none of them.
 */
#ifndef REMIT_FOREIGN_H
#define REMIT_FOREIGN_H

#include "base/error.h"
#include "http/route.h"
#include "serve/auth/keys.h"
#include "serve/openapi.h"

struct server;

#define FOREIGN_NAMES "E2B, SandboxFusion and Piston"

#define FOREIGN_TABLES 6

extern const bool foreign_is_built;
/* The same for people. */
extern const char foreign_sentence[];

/* The tables of routes, at most so many; ends with NULL. */
extern const struct route *const foreign_routes[FOREIGN_TABLES + 1];
/* What their bodies look like; each ends with one without a name. */
extern const struct openapi_shape foreign_shapes[];
extern const struct openapi_other foreign_others[];

/* Finding out may fork: to be called while there is one thread. */
void foreign_prepare(struct keys *k);
/* `debug`: ports without a key for clients of E2B in debug mode. */
int foreign_open(struct server *s, bool debug,
		 struct remit_error *err) must_check;
/* To be called about once a second. */
void foreign_tick(struct server *s);
/* When no room lives any more. */
void foreign_free(struct server *s);

#endif
