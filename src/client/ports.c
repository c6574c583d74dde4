#include "client/ports.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/deadline.h"
#include "base/loop.h"
#include "client/part.h"

struct ports_link {
	pthread_mutex_t lock; /* held during a request and its answer */
	struct link link;
	bool broken; /* an answer may come late */
};

void
ports_link_free(struct ports_link *p)
{
	if (!p)
		return;
	link_free(&p->link);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct ports_link *
ports_link_new(int fd)
{
	struct ports_link *p = calloc(1, sizeof(*p));

	if (!p) {
		close(fd);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	link_open(&p->link, fd, PARTY_KEEPER);
	p->link.receives_fds = true;
	return p;
}

void
ports_shut_down(struct ports_link *p)
{
	shutdown(p->link.fd, SHUT_RDWR);
}

static int
wait_until(const struct ports_link *p, uint64_t deadline_at_us,
	   struct remit_error *err)
{
	struct pollfd fd = { .fd = p->link.fd, .events = POLLIN };
	uint64_t now = loop_now_us();

	if (now >= deadline_at_us)
		return deadline_missed(err, DEADLINE_PORT);
	if (poll(&fd, 1, (int)((deadline_at_us - now) / 1000 + 1)) < 0 &&
	    errno != EINTR)
		return fail_sys(err, REMIT_E_KERNEL, "poll");
	return 0;
}

static int
fail_ended(struct remit_error *err)
{
	return fail(err, REMIT_E_GONE,
		    "the jail has ended, or has no network that belongs to it "
		    "alone");
}

static int
recv_answer(struct ports_link *p, struct frame *f, struct remit_error *err)
{
	uint64_t deadline = loop_now_us() + deadline_us(DEADLINE_PORT);

	do {
		if (wait_until(p, deadline, err) < 0 ||
		    link_fill(&p->link, err) < 0 ||
		    link_next(&p->link, f, err) < 0)
			return -1;
		if (f->type == FRAME_NONE && p->link.ended)
			return fail_ended(err);
	} while (f->type == FRAME_NONE);
	return f->type == FRAME_PORT
		       ? 0
		       : fail(err, REMIT_E_PROTOCOL, "unexpected frame");
}

/* Called with the lock held. */
static int
request_port(struct ports_link *p, uint32_t port, int *fd,
	     struct remit_error *err)
{
	struct frame f;

	if (p->link.ended)
		return fail_ended(err);
	if (p->broken)
		return fail(err, REMIT_E_GONE,
			    "the ports of this session are unusable after an "
			    "error");
	p->broken = true;
	if (link_send(&p->link, FRAME_PORT, &port, sizeof(port), err) < 0)
		return -1;
	if (link_flush(&p->link, err) < 0) {
		p->link.ended = true;
		return fail_ended(err);
	}
	if (recv_answer(p, &f, err) < 0)
		return -1;
	p->broken = false;
	if (f.len)
		return fail(err, REMIT_E_REFUSED, "%.*s", (int)f.len,
			    f.payload);
	if (p->link.passed_fd < 0)
		return fail(err, REMIT_E_KERNEL,
			    "the keeper's socket did not arrive: this process "
			    "has too many open files");
	*fd = take_fd(&p->link.passed_fd);
	return 0;
}

int
ports_connect(struct ports_link *p, uint16_t port, int *fd,
	      struct remit_error *err)
{
	int failed;

	pthread_mutex_lock(&p->lock);
	failed = request_port(p, port, fd, err);
	pthread_mutex_unlock(&p->lock);
	return failed;
}
