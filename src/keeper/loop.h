/*
 * loop: epoll with one event at a time, so that a handler may remove any
 * source, its own included.
 */
#ifndef REMIT_LOOP_H
#define REMIT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "error.h"

struct loop {
	int fd;
	bool stop;
	/* Called after each handler, or NULL. */
	void (*after)(void *owner);
	void *after_owner;
};

struct source {
	int fd; /* -1: not watched */
	uint32_t events;
	void (*ready)(void *owner, uint32_t events);
	void *owner;
};

#define SOURCE_INIT      \
	{                \
		.fd = -1 \
	}

int loop_open(struct loop *l, struct remit_error *err) must_check;
void loop_free(struct loop *l);
int loop_add(struct loop *l, struct source *s, int fd, uint32_t events,
	     void (*ready)(void *owner, uint32_t events), void *owner,
	     struct remit_error *err) must_check;
void loop_want(struct loop *l, struct source *s, uint32_t events);
void loop_remove(struct loop *l, struct source *s);
int loop_run(struct loop *l, struct remit_error *err) must_check;

#endif
