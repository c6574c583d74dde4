/*
 * e2b: the API of E2B's clients, as tables of routes: control plane, code
 * interpreter, files and processes (docs/guide/e2b.md).
 */
#ifndef REMIT_E2B_H
#define REMIT_E2B_H

#include "base/error.h"
#include "http/route.h"

/* Where clients in debug mode look for a sandbox. */
#define E2B_ENVD_PORT 49983
#define E2B_CODE_PORT 49999

struct e2b;
struct server;

extern const struct route e2b_control_routes[];
extern const struct route e2b_code_routes[];
extern const struct route e2b_file_routes[];
extern const struct route e2b_process_routes[];

/* `debug`: whoever asks at the ports above has a sandbox, without asking for
   one first and without a key. */
int e2b_open(struct e2b **out, bool debug, struct remit_error *err) must_check;
/* Look at what is watched. To be called about once a second. */
void e2b_tick(struct server *s);
/* When no room lives any more. */
void e2b_free(struct e2b *e);

#endif
