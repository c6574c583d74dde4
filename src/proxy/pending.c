#include "proxy/pending.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/admission.h"
#include "proxy/gate.h"
#include "proxy/params.h"

static const struct pending_answer *
find_said(const struct pending *h, const struct relay *r)
{
	for (uint32_t i = 0; i < h->said_count; i++)
		if (h->said[i].port == r->port &&
		    !strcmp(h->said[i].host, r->host))
			return &h->said[i];
	return NULL;
}

static bool
is_for(const struct pending *h, const struct relay *r)
{
	return r->state == RELAY_HELD && r->port == h->port &&
	       !strcmp(r->host, h->host);
}

static int
ask(struct gate *g, const struct relay *r)
{
	struct pending *h = &g->pending;
	struct proxy_question q = { .id = ++h->count, .port = r->port };

	snprintf(q.host, sizeof(q.host), "%s", r->host);
	snprintf(h->host, sizeof(h->host), "%s", r->host);
	h->port = r->port;
	h->is_waiting = sendto(g->on_line.fd, &q, sizeof(q), MSG_NOSIGNAL, NULL,
			       0) == sizeof(q);
	return h->is_waiting ? 0 : -1;
}

/* What leads to no public host is no question: the answer would be wrong. */
static bool
can_be_asked(const struct relay *r)
{
	struct address a;

	return r->name || (address_read(r->host, &a) == 0 &&
			   address_class(&a) == ADDRESS_PUBLIC);
}

enum pending_outcome
pending_check(struct gate *g, struct relay *r)
{
	struct pending *h = &g->pending;
	const struct pending_answer *said = find_said(h, r);

	if (said)
		return said->is_allowed ? PENDING_HOST_ALLOWED
					: PENDING_HOST_REFUSED;
	if (!h->asks || !can_be_asked(r) ||
	    (!h->is_waiting && h->count == PENDING_QUESTIONS_MAX))
		return PENDING_HOST_REFUSED;
	relay_suspend(r);
	if (h->is_waiting || ask(g, r) == 0)
		return PENDING_HOST_ASKED;
	return PENDING_HOST_REFUSED;
}

static void
remember(struct pending *h, bool is_allowed)
{
	struct pending_answer *s = &h->said[h->said_count++];

	/* There is room for the answer to every question. */
	memcpy(s->host, h->host, sizeof(s->host));
	s->port = h->port;
	s->is_allowed = is_allowed;
}

/* The next that is held, if anybody may still be asked. */
static void
go_on(struct gate *g)
{
	struct pending *h = &g->pending;

	for (int i = 0; i < RELAYS_MAX && !h->is_waiting; i++) {
		struct relay *r = &g->relays[i];

		if (r->state == RELAY_HELD &&
		    (h->count == PENDING_QUESTIONS_MAX || ask(g, r) < 0))
			admission_settle(r, false);
	}
}

void
pending_settle(struct gate *g, const struct proxy_answer *a)
{
	struct pending *h = &g->pending;

	if (!h->is_waiting || a->id != h->count)
		return;
	h->is_waiting = false;
	/* A no is a no. */
	if (a->allowed != 1)
		remember(h, a->allowed != 0);
	for (int i = 0; i < RELAYS_MAX; i++)
		if (is_for(h, &g->relays[i]))
			admission_settle(&g->relays[i], a->allowed != 0);
	go_on(g);
}
