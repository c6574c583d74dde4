/*
 * connection: our side of the socket that one run, or one session, has to
 * itself, so that threads share nothing and a closed socket ends it. A run that
 * ends in order leaves its connection to the next.
 */
#ifndef REMIT_CONNECTION_H
#define REMIT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct remit;

/* As many as threads that run at once have use for. */
#define CONNECTIONS_KEPT 16

struct connections {
	int kept[CONNECTIONS_KEPT];
	size_t count;
};

/* To the keeper that listens there, if it is the same user's or root's. */
int connection_connect(const char *path, struct remit_error *err) must_check;
/* A connection. *theirs is the other side, to be given to the keeper, or -1
   where the keeper has it already. */
int connection_make(struct remit *r, bool shared, int *theirs,
		    struct remit_error *err) must_check;
/* Nothing to do for -1. */
int connection_give(struct remit *r, int theirs,
		    struct remit_error *err) must_check;
/* Both. */
int connection_open(struct remit *r, bool shared,
		    struct remit_error *err) must_check;
/* The keeper waits at its other side for the next job. Takes it. */
void connection_keep(struct remit *r, int fd);
void connections_close(struct connections *d);

#endif
