/*
 * client_watch: watched directories of a session's workspace (wire/watch.h).
 * For servers; it is not a part of libremit's interface.
 *
 * They have a separate connection, so they never wait for a cell. One
 * thread receives with watch_link_next(). All other functions may be called
 * from any thread and do not block.
 */
#ifndef REMIT_CLIENT_WATCH_H
#define REMIT_CLIENT_WATCH_H

#include "remit.h"
#include "wire/watch.h"

struct watch_link;

/* Requests a watcher from an open session, between two cells. The keeper closes
   the connection if there can be none. Call it once for each jail of the
   session. */
int watch_link_open(struct remit_session *s, struct watch_link **out,
		    struct remit_error *err) must_check;
/* Accepts NULL. The watcher ends. */
void watch_link_free(struct watch_link *w);
/* Makes watch_link_next() return -1. */
void watch_link_shut_down(struct watch_link *w);

int watch_link_send(struct watch_link *w, const struct watch_request *r,
		    struct remit_error *err) must_check;
/* Waits for events and calls the function for each. Returns -1 when no more
   will come. */
int watch_link_next(struct watch_link *w,
		    void (*event)(void *user, const struct watch_event *e),
		    void *user, struct remit_error *err) must_check;

/* For watch_link_open(). Takes ownership of the connection. */
struct watch_link *watch_link_new(int fd);

#endif
