/*
 * e2b: the API for clients of E2B, as tables of routes: control plane, code
 * interpreter, files and processes (docs/guide/e2b.md).
 */
#ifndef REMIT_E2B_H
#define REMIT_E2B_H

#include "base/error.h"
#include "http/route.h"

/* The ports at which clients in debug mode expect a sandbox. */
#define E2B_ENVD_PORT 49983
#define E2B_CODE_PORT 49999

struct e2b;
struct server;

/* Paths of E2B's API that do not exist here. Search it after the others. */
extern const struct route e2b_absent_routes[];
/* Hosts that name a port of a program in a sandbox. Search it before all
   others. */
extern const struct route e2b_port_routes[];
extern const struct route e2b_control_routes[];
extern const struct route e2b_code_routes[];
extern const struct route e2b_file_routes[];
extern const struct route e2b_process_routes[];

/* `debug`: requests at the ports above use a default sandbox that is created on
   demand, and need no key. */
int e2b_open(struct e2b **out, bool debug, struct remit_error *err) must_check;
/* Lists the watched directories again. Call it about once a second. */
void e2b_tick(struct server *s);
/* Pauses the sandboxes that have reached the end of their lives and are to be
   paused then. Call it about once a second. */
void e2b_pause_ended(struct server *s);
/* Call it when no hosted session exists any more. Accepts NULL. */
void e2b_free(struct e2b *e);

#endif
