/*
 * e2b_watch: directories of a sandbox that a client watches. They are listed in
 * turn with the cells and compared with the previous list: when the client
 * polls, or once a second for a client that streams.
 */
#ifndef REMIT_E2B_WATCH_H
#define REMIT_E2B_WATCH_H

#include "serve/exchange.h"

/* The maximum for one sandbox. */
#define WATCHERS_MAX 8

struct watcher;

void watcher_free(struct watcher *w);
/* Frees the watchers of a sandbox. */
void watchers_free(struct watcher *first);

/* The routes of the filesystem service. */
void e2b_create_watcher(struct exchange *x);
void e2b_get_events(struct exchange *x);
void e2b_remove_watcher(struct exchange *x);
void e2b_watch_dir(struct exchange *x);

#endif
