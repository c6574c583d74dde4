/*
 * e2b_code: what the files of the code interpreter's plane
 * (serve/e2b/execute.c, serve/e2b/contexts.c) know of each other. For them
 * only.
 */
#ifndef REMIT_E2B_CODE_H
#define REMIT_E2B_CODE_H

#include "serve/exchange.h"

void e2b_get_contexts(struct exchange *x);
void e2b_post_context(struct exchange *x);
void e2b_restart_context(struct exchange *x);
void e2b_delete_context(struct exchange *x);

#endif
