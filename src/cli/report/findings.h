/*
 * findings: what the validator found, for people: place, what, and a hint.
 */
#ifndef REMIT_FINDINGS_H
#define REMIT_FINDINGS_H

#include <jansson.h>
#include <stdio.h>

/* The array of a rejected result; `name` is the program's. */
void findings_show(FILE *to, const char *name, const json_t *findings);

#endif
