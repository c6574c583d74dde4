/*
 * hosted_watch: watched directories of a hosted session. A thread receives
 * their events, from the first watch on, so they never wait for the worker of
 * the session.
 */
#include <string.h>

#include "client/watch.h"
#include "hosted/hosted_part.h"

#define WATCHES_STACK ((size_t)512 * 1024)

struct watch {
	struct watch *next;
	uint32_t id;
	const struct hosted_watch_events *ev;
	void *user;
};

struct sync {
	struct sync *next;
	uint32_t id;
	void (*done)(void *user);
	void *user;
};

struct hosted_watches {
	struct refcount refs; /* of the session, the thread and callers */
	struct hosted *hosted;
	struct watch_link *link;
	pthread_mutex_t lock; /* of the members below */
	struct watch *first;
	struct sync *syncs;
	unsigned count;
	uint32_t last_id;
	bool is_received; /* the thread runs */
	bool is_over;
};

static void
watches_free(struct hosted_watches *w)
{
	watch_link_free(w->link);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void
watches_unref(struct hosted_watches *w)
{
	if (w && refcount_dec_and_test(&w->refs))
		watches_free(w);
}

/* ---- events ---- */

/* Removes a watch from the list. Returns NULL if it is not in it. */
static struct watch *
unlist_watch(struct hosted_watches *w, uint32_t id)
{
	struct watch **at, *found;

	pthread_mutex_lock(&w->lock);
	for (at = &w->first; *at && (*at)->id != id; at = &(*at)->next)
		;
	found = *at;
	if (found) {
		*at = found->next;
		w->count--;
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

static void
end_watch(struct watch *g, enum watch_kind why)
{
	if (!g)
		return;
	g->ev->ended(g->user, why);
	free(g);
}

static void
end_sync(struct hosted_watches *w, uint32_t id)
{
	struct sync **at, *found;

	pthread_mutex_lock(&w->lock);
	for (at = &w->syncs; *at && (*at)->id != id; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&w->lock);
	if (found)
		found->done(found->user);
	free(found);
}

/* Only the thread that calls this removes watches, so the result stays
   valid. */
static struct watch *
find_watch(struct hosted_watches *w, uint32_t id)
{
	struct watch *g;

	pthread_mutex_lock(&w->lock);
	for (g = w->first; g && g->id != id; g = g->next)
		;
	pthread_mutex_unlock(&w->lock);
	return g;
}

static void
on_event(void *user, const struct watch_event *e)
{
	struct hosted_watches *w = user;
	struct watch *g;

	if (e->kind == WATCH_SYNCED) {
		end_sync(w, e->id);
	} else if (e->kind >= WATCH_REFUSED) {
		end_watch(unlist_watch(w, e->id), e->kind);
	} else {
		g = find_watch(w, e->id);
		if (g)
			g->ev->event(g->user, e);
	}
}

static void
end_all(struct hosted_watches *w)
{
	struct watch *g, *next;
	struct sync *s, *then;

	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	g = take_ptr(&w->first);
	s = take_ptr(&w->syncs);
	pthread_mutex_unlock(&w->lock);
	for (; g; g = next) {
		next = g->next;
		end_watch(g, WATCH_GONE);
	}
	for (; s; s = then) {
		then = s->next;
		s->done(s->user);
		free(s);
	}
}

static void *
watches_main(void *arg)
{
	struct hosted_watches *w = arg;
	struct hosted *r = w->hosted;
	struct hosted_table *table = r->table;
	struct remit_error err;

	while (watch_link_next(w->link, on_event, w, &err) == 0)
		;
	end_all(w);
	watches_unref(w);
	hosted_unref(r);
	hosted_table_end_worker(table);
	return NULL;
}

/* ---- for the worker of the session ---- */

void
hosted_watches_begin(struct hosted *r)
{
	struct hosted_watches *w =
		r->opt.watches ? calloc(1, sizeof(*w)) : NULL;
	struct remit_error err;

	/* If it cannot be had, requests to watch fail. */
	if (!w || watch_link_open(r->session, &w->link, &err) < 0) {
		free(w);
		return;
	}
	w->refs = (struct refcount)REFCOUNT_INIT(1);
	w->hosted = r;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_lock(&r->table->lock);
	r->watches = w;
	pthread_mutex_unlock(&r->table->lock);
}

void
hosted_watches_end(struct hosted *r)
{
	struct hosted_watches *w;

	pthread_mutex_lock(&r->table->lock);
	w = take_ptr(&r->watches);
	pthread_mutex_unlock(&r->table->lock);
	if (!w)
		return;
	watch_link_shut_down(w->link);
	watches_unref(w);
}

/* ---- for clients ---- */

static struct hosted_watches *
watches_of(struct hosted *r, struct remit_error *err)
{
	struct hosted_watches *w;

	pthread_mutex_lock(&r->table->lock);
	w = r->watches;
	if (w)
		refcount_inc(&w->refs);
	pthread_mutex_unlock(&r->table->lock);
	if (!w)
		fail(err, REMIT_E_GONE,
		     "this session has ended, or cannot be watched");
	return w;
}

/* Called with the lock held. */
static int
start_thread(struct hosted_watches *w, struct remit_error *err)
{
	if (w->is_received)
		return 0;
	refcount_inc(&w->refs);
	hosted_ref(w->hosted);
	if (hosted_table_begin_thread(w->hosted->table, watches_main, w,
				      WATCHES_STACK, err) < 0) {
		hosted_unref(w->hosted);
		/* The caller has another reference. */
		(void)refcount_dec_and_test(&w->refs);
		return -1;
	}
	w->is_received = true;
	return 0;
}

static int
list_watch(struct hosted_watches *w, struct watch *g, uint32_t *id,
	   struct remit_error *err)
{
	int failed = 0;

	pthread_mutex_lock(&w->lock);
	if (w->is_over)
		failed = fail(err, REMIT_E_GONE, "the watcher has ended");
	else if (w->count == WATCHES_MAX)
		failed = fail(err, REMIT_E_BUSY,
			      "%d directories are watched, the maximum",
			      WATCHES_MAX);
	else
		failed = start_thread(w, err);
	if (!failed) {
		*id = g->id = ++w->last_id;
		g->next = w->first;
		w->first = g;
		w->count++;
	}
	pthread_mutex_unlock(&w->lock);
	return failed;
}

static int
begin_watch(struct hosted_watches *w, struct watch *g, const char *path,
	    unsigned flags, uint32_t *id, struct remit_error *err)
{
	struct watch_request q = {
		.op = WATCH_BEGIN,
		.flags = (uint8_t)flags,
		.path = path,
		.path_len = strlen(path),
	};

	if (list_watch(w, g, id, err) < 0)
		return -1;
	q.id = *id;
	/* Unlisted already: the thread has reported its end. */
	if (watch_link_send(w->link, &q, err) < 0 && unlist_watch(w, q.id))
		return -1;
	return 0;
}

int
hosted_watch(struct hosted *r, const char *path, unsigned flags,
	     const struct hosted_watch_events *ev, void *user, uint32_t *id,
	     struct remit_error *err)
{
	struct hosted_watches *w = watches_of(r, err);
	struct watch *g = w ? calloc(1, sizeof(*g)) : NULL;
	int failed;

	if (!g) {
		watches_unref(w);
		return w ? fail_memory(err, "watch") : -1;
	}
	g->ev = ev;
	g->user = user;
	failed = begin_watch(w, g, path, flags, id, err);
	if (failed)
		free(g);
	watches_unref(w);
	return failed;
}

void
hosted_watch_stop(struct hosted *r, uint32_t id)
{
	struct watch_request q = { .id = id, .op = WATCH_STOP, .path = "" };
	struct remit_error err;
	struct hosted_watches *w = watches_of(r, &err);

	/* A watcher that does not read is useless: all watches end. */
	if (w && watch_link_send(w->link, &q, &err) < 0)
		watch_link_shut_down(w->link);
	watches_unref(w);
}

static int
list_sync(struct hosted_watches *w, struct sync *s, struct remit_error *err)
{
	int failed = 0;

	pthread_mutex_lock(&w->lock);
	if (w->is_over || !w->is_received) {
		failed = fail(err, REMIT_E_GONE, "nothing is watched");
	} else {
		s->id = ++w->last_id;
		s->next = w->syncs;
		w->syncs = s;
	}
	pthread_mutex_unlock(&w->lock);
	return failed;
}

int
hosted_watch_sync(struct hosted *r, void (*done)(void *user), void *user,
		  struct remit_error *err)
{
	struct watch_request q = { .op = WATCH_SYNC, .path = "" };
	struct hosted_watches *w = watches_of(r, err);
	struct sync *s = w ? calloc(1, sizeof(*s)) : NULL;
	int failed = s ? 0 : -1;

	if (w && !s)
		fail_memory(err, "watch");
	if (s) {
		*s = (struct sync){ .done = done, .user = user };
		failed = list_sync(w, s, err);
		if (failed)
			free(s);
		else
			q.id = s->id;
	}
	/* If it cannot be sent, all watches end, and this with them. */
	if (!failed && watch_link_send(w->link, &q, err) < 0)
		watch_link_shut_down(w->link);
	watches_unref(w);
	return failed;
}
