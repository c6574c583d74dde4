/*
 * secrets: what a door gives for the credentials of its session, by name. It
 * is in memory that no child of the keeper gets.
 */
#ifndef REMIT_SECRETS_H
#define REMIT_SECRETS_H

#include "error.h"

struct secrets {
	char *room; /* NAME=VALUE, each ended by NUL; NULL: none was given */
	size_t used;
};

/* NAME=VALUE; -1: there are too many, or it has no name. */
int secrets_add(struct secrets *s, const char *text,
		struct remit_error *err) must_check;
/* NULL: none has this name. */
const char *secrets_find(const struct secrets *s, const char *name);
void secrets_free(struct secrets *s);

#endif
