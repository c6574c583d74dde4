/*
 * e2b_code: what the files of the code interpreter's plane (e2b_execute.c,
 * e2b_contexts.c) know of each other. For them only.
 */
#ifndef REMIT_E2B_CODE_H
#define REMIT_E2B_CODE_H

#include "exchange.h"

/* A new text; NULL without memory. */
char *e2b_dedent(const char *code);
/* By name, or not said. */
bool e2b_is_python(const json_t *language);

void e2b_get_contexts(struct exchange *x);
void e2b_post_context(struct exchange *x);
void e2b_restart_context(struct exchange *x);
void e2b_delete_context(struct exchange *x);

#endif
