/*
 * secrets: what a client gives for the credentials of its session, by name. It
 * comes as a file in memory, so that no buffer of a frame ever has it, and is
 * kept in memory that no child of the keeper gets.
 */
#ifndef REMIT_SECRETS_H
#define REMIT_SECRETS_H

#include "base/error.h"

struct secrets {
	char *room; /* NAME=VALUE, each ended by NUL; NULL: none was given */
	size_t used;
};

/* From the beginning of a memfd, which is read once: NAME=VALUE and a NUL,
   each. -1 if it is none, or if there is too much. */
int secrets_read(struct secrets *s, int fd, struct remit_error *err) must_check;
/* NULL: none has this name. */
const char *secrets_find(const struct secrets *s, const char *name);
void secrets_free(struct secrets *s);

#endif
