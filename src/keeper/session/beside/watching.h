/*
 * session_watching: the watcher of a session (watcher/main.h).
 *
 * The client sends a connection for it when it opens the session. The process
 * starts when the client sends the first byte over it: most clients watch
 * nothing. It ends with the jail, with the keeper, and when the client
 * disconnects.
 */
#ifndef REMIT_SESSION_WATCHING_H
#define REMIT_SESSION_WATCHING_H

#include "base/error.h"
#include "wire/frame.h"

struct session;
struct watching;

/* Handles the request, between two cells. If the jail cannot be watched, the
   connection is closed. */
int session_open_watcher(struct session *s, const struct frame *f,
			 struct remit_error *err) must_check;
/* Kills the watcher. Accepts NULL. */
void watching_free(struct watching *w);

#endif
