/*
 * e2b_watch: directories of a sandbox that a client watches.
 *
 * Directories of the workspace are watched by the keeper (live.h), while code
 * runs. All others are listed in turn with the cells and compared with the
 * previous list: when the client polls, or once a second for a client that
 * streams.
 */
#ifndef REMIT_E2B_WATCH_H
#define REMIT_E2B_WATCH_H

#include "serve/e2b/files/listing.h"
#include "serve/exchange.h"
#include "wire/watch.h"

/* The maximum for one sandbox, of clients that poll and of those that
   stream. */
#define WATCHERS_MAX 8

struct watcher {
	struct watcher
		*next; /* in its sandbox's list, or in that of all streams */
	struct refcount refs;
	char id[HOSTED_ID_SIZE];
	char *path; /* absolute, in the jail */
	unsigned depth;
	bool describes; /* events have the member "entry" */
	struct listing seen;
	/* Only for streams, whose exchange owns this. It is in the list while
	   the client is connected; a list in progress has a reference to the
	   exchange. */
	struct exchange *x;
	struct sandbox *sb;
	bool is_listing; /* protected by the lock */
	/* ---- only if the keeper watches it (live.c) ---- */
	bool is_live;
	struct e2b *e2b;
	uint32_t watch;	       /* its id in the hosted session */
	struct filing *filing; /* the request, until the watch has begun */
	/* Events that wait for a client that polls, each with its length in
	   front. These are protected by the lock. */
	struct buf events;
	size_t last_event;     /* where the last one begins */
	enum watch_kind ended; /* 0: not yet */
};

/* Releases a reference. Accepts NULL. */
void watcher_unref(struct watcher *w);
/* Releases the watchers of a sandbox. */
void watchers_unref(struct watcher *first);
/* Called with the lock held. Returns whether it was in the list. */
bool watcher_unlink(struct watcher **at, const struct watcher *w);
/* Put it into the list, and reply that it watches, or that there are too
   many. */
void watcher_keep(struct filing *f, struct watcher *w);
void watcher_open_stream(struct filing *f, struct watcher *w);
/* Watches by listing. */
void watch_by_listing(struct filing *f);

/* The routes of the filesystem service. */
void e2b_create_watcher(struct exchange *x);
void e2b_get_events(struct exchange *x);
void e2b_remove_watcher(struct exchange *x);
void e2b_watch_dir(struct exchange *x);

#endif
