/*
 * e2b_control: what the files of E2B's control plane know of each other:
 * sandboxes are looked at and kept alive or killed (serve/e2b/control.c), made
 * (serve/e2b/make.c) and copied (serve/e2b/fork.c). For them only.
 */
#ifndef REMIT_E2B_CONTROL_H
#define REMIT_E2B_CONTROL_H

#include "serve/e2b/part.h"

/* What a client is told of a sandbox that is made for it. */
json_t *e2b_made_json(const struct sandbox *sb);
/* The member "timeout" of a request. */
int e2b_take_life(const json_t *body, uint64_t *life_ms,
		  struct remit_error *err) must_check;

void e2b_post_sandbox(struct exchange *x);
void e2b_post_fork(struct exchange *x);

#endif
