#include "loop.h"

int
loop_open(struct loop *l, struct remit_error *err)
{
	l->stop = false;
	l->fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "epoll_create");
	return 0;
}

void
loop_free(struct loop *l)
{
	own_fd_close(&l->fd);
	l->fd = -1;
}

int
loop_add(struct loop *l, struct source *s, int fd, uint32_t events,
	 void (*ready)(void *owner, uint32_t events), void *owner,
	 struct remit_error *err)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	*s = (struct source){
		.fd = fd,
		.events = events,
		.ready = ready,
		.owner = owner,
	};
	if (epoll_ctl(l->fd, EPOLL_CTL_ADD, fd, &e) < 0) {
		s->fd = -1;
		return fail_sys(err, REMIT_E_KERNEL, "epoll_ctl");
	}
	return 0;
}

void
loop_want(struct loop *l, struct source *s, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	if (s->fd < 0 || s->events == events)
		return;
	s->events = events;
	epoll_ctl(l->fd, EPOLL_CTL_MOD, s->fd, &e);
}

void
loop_remove(struct loop *l, struct source *s)
{
	if (s->fd < 0)
		return;
	epoll_ctl(l->fd, EPOLL_CTL_DEL, s->fd, NULL);
	s->fd = -1;
}

int
loop_run(struct loop *l, struct remit_error *err)
{
	while (!l->stop) {
		struct epoll_event e;
		int n = epoll_wait(l->fd, &e, 1, -1);

		if (n < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "epoll_wait");
		if (n == 1) {
			struct source *s = e.data.ptr;

			s->ready(s->owner, e.events);
			if (l->after)
				l->after(l->after_owner);
		}
	}
	return 0;
}
