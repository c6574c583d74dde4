#include "client/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "client/part.h"

struct watch_link {
	pthread_mutex_t lock; /* for sending */
	struct link link;
};

void
watch_link_free(struct watch_link *w)
{
	if (!w)
		return;
	link_free(&w->link);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct watch_link *
watch_link_new(int fd)
{
	struct watch_link *w = calloc(1, sizeof(*w));

	if (!w) {
		close(fd);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	link_open(&w->link, fd, PARTY_KEEPER);
	return w;
}

void
watch_link_shut_down(struct watch_link *w)
{
	shutdown(w->link.fd, SHUT_RDWR);
}

int
watch_link_send(struct watch_link *w, const struct watch_request *r,
		struct remit_error *err)
{
	own(buf) struct buf payload = BUF_INIT(frame_rules[FRAME_WATCH].max);
	int failed;

	if (watch_request_write(&payload, r) < 0)
		return fail(err, REMIT_E_INPUT, "the path is too long");
	pthread_mutex_lock(&w->lock);
	/* Requests are few and short: a watcher that has not read the last one
	   is stuck. */
	if (link_wants_write(&w->link))
		failed = fail(err, REMIT_E_BUSY,
			      "the watcher does not read its requests");
	else if (link_send(&w->link, FRAME_WATCH, payload.data, payload.len,
			   err) < 0)
		failed = -1;
	else
		failed = link_flush(&w->link, err);
	pthread_mutex_unlock(&w->lock);
	return failed;
}

static int
handle_frame(const struct frame *f,
	     void (*event)(void *user, const struct watch_event *e), void *user,
	     struct remit_error *err)
{
	struct watch_event e;

	if (f->type != FRAME_WATCH_EVENT ||
	    watch_event_read(&e, f->payload, f->len) < 0)
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	event(user, &e);
	return 0;
}

int
watch_link_next(struct watch_link *w,
		void (*event)(void *user, const struct watch_event *e),
		void *user, struct remit_error *err)
{
	struct pollfd fd = { .fd = w->link.fd, .events = POLLIN };
	struct frame f;

	if (poll(&fd, 1, -1) < 0)
		return errno == EINTR ? 0
				      : fail_sys(err, REMIT_E_KERNEL, "poll");
	if (link_fill(&w->link, err) < 0)
		return -1;
	do {
		if (link_next(&w->link, &f, err) < 0 ||
		    (f.type != FRAME_NONE &&
		     handle_frame(&f, event, user, err) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	return w->link.ended ? fail(err, REMIT_E_GONE,
				    "the session's watcher has ended")
			     : 0;
}
