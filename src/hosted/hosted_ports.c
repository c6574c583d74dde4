/*
 * hosted_ports: connections to programs that listen in the jail of a hosted
 * session. They never wait for its worker.
 */
#include "client/ports.h"
#include "hosted/hosted_part.h"

struct hosted_ports {
	struct refcount refs; /* of the session and of callers */
	struct ports_link *link;
};

static void
ports_unref(struct hosted_ports *p)
{
	if (!p || !refcount_dec_and_test(&p->refs))
		return;
	ports_link_free(p->link);
	free(p);
}

/* ---- for the worker of the session ---- */

void
hosted_ports_begin(struct hosted *r)
{
	struct hosted_ports *p = r->opt.ports ? calloc(1, sizeof(*p)) : NULL;
	struct remit_error err;

	if (!p)
		return;
	p->refs = (struct refcount)REFCOUNT_INIT(1);
	if (ports_open(r->session, &p->link, &err) < 0) {
		free(p);
		return;
	}
	pthread_mutex_lock(&r->table->lock);
	r->ports = p;
	pthread_mutex_unlock(&r->table->lock);
}

void
hosted_ports_end(struct hosted *r)
{
	struct hosted_ports *p;

	pthread_mutex_lock(&r->table->lock);
	p = take_ptr(&r->ports);
	pthread_mutex_unlock(&r->table->lock);
	if (!p)
		return;
	ports_shut_down(p->link);
	ports_unref(p);
}

/* ---- for clients ---- */

int
hosted_port(struct hosted *r, uint16_t port, int *fd, struct remit_error *err)
{
	struct hosted_ports *p;
	int failed;

	pthread_mutex_lock(&r->table->lock);
	p = r->ports;
	if (p)
		refcount_inc(&p->refs);
	pthread_mutex_unlock(&r->table->lock);
	if (!p)
		return fail(err, REMIT_E_GONE,
			    "this session has ended, or its ports cannot be "
			    "reached");
	failed = ports_connect(p->link, port, fd, err);
	ports_unref(p);
	return failed;
}
