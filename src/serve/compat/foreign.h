/*
 * foreign: the APIs of other services whose clients this server supports: E2B,
 * SandboxFusion and Piston. A build with -Dforeign_apis=false has none of them,
 * and uses foreign_out.c instead of foreign.c.
 */
#ifndef REMIT_FOREIGN_H
#define REMIT_FOREIGN_H

#include "base/error.h"
#include "http/route.h"
#include "serve/auth/keys.h"
#include "serve/openapi.h"

struct server;

#define FOREIGN_NAMES "E2B, SandboxFusion and Piston"

#define FOREIGN_TABLES 7

extern const bool foreign_is_built;
/* A sentence about it for users. */
extern const char foreign_sentence[];

/* The tables of routes; the last element is NULL. */
extern const struct route *const foreign_routes[FOREIGN_TABLES + 1];
/* A table that is searched before those of all APIs, or NULL. */
extern const struct route *const foreign_first_routes[2];
/* The schemas of their bodies; each table ends with a row without a name. */
extern const struct openapi_shape foreign_shapes[];
extern const struct openapi_other foreign_others[];

/* Determines the interpreters of all keys. It may fork, so call it while there
   is only one thread. */
void foreign_prepare(struct keys *k);
/* Prepares the APIs. `debug`: two more ports need no key, for clients of E2B in
   debug mode. */
int foreign_open(struct server *s, bool debug,
		 struct remit_error *err) must_check;
/* Call it about once a second. */
void foreign_tick(struct server *s);
/* Call it when no hosted session exists any more. */
void foreign_free(struct server *s);

#endif
