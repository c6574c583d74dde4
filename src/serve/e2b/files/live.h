/*
 * e2b_live: watchers of directories that the keeper watches, so that events
 * come while code runs and none is missed.
 */
#ifndef REMIT_E2B_LIVE_H
#define REMIT_E2B_LIVE_H

#include "serve/e2b/files/files.h"
#include "serve/e2b/files/watch.h"

/* Requests it. The reply, or watch_by_listing() if the keeper cannot watch the
   directory, follows in another thread. Returns false if nothing follows. */
bool live_begin(struct filing *f, bool recursive) must_check;
/* Ends the events of a watcher that is not in a list any more. */
void live_stop(const struct watcher *w, struct sandbox *sb);
/* Replies with the events so far. The filing has a reference to the watcher. */
void live_reply_events(struct filing *f);

#endif
