#include "proxy/hold.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/admission.h"
#include "proxy/gate.h"
#include "proxy/order.h"

static const struct hold_said *
find_said(const struct hold *h, const struct relay *r)
{
	for (uint32_t i = 0; i < h->said_count; i++)
		if (h->said[i].port == r->port &&
		    !strcmp(h->said[i].host, r->host))
			return &h->said[i];
	return NULL;
}

static bool
is_for(const struct hold *h, const struct relay *r)
{
	return r->state == RELAY_HELD && r->port == h->port &&
	       !strcmp(r->host, h->host);
}

static int
ask(struct gate *g, const struct relay *r)
{
	struct hold *h = &g->hold;
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

enum hold_verdict
hold_judge(struct gate *g, struct relay *r)
{
	struct hold *h = &g->hold;
	const struct hold_said *said = find_said(h, r);

	if (said)
		return said->is_allowed ? HOLD_ALLOWED : HOLD_REFUSED;
	if (!h->asks || !can_be_asked(r) ||
	    (!h->is_waiting && h->count == HOLD_QUESTIONS))
		return HOLD_REFUSED;
	relay_hold(r);
	if (h->is_waiting || ask(g, r) == 0)
		return HOLD_ASKED;
	return HOLD_REFUSED;
}

static void
remember(struct hold *h, bool is_allowed)
{
	struct hold_said *s = &h->said[h->said_count++];

	/* There is room for the answer to every question. */
	memcpy(s->host, h->host, sizeof(s->host));
	s->port = h->port;
	s->is_allowed = is_allowed;
}

/* The next that is held, if anybody may still be asked. */
static void
go_on(struct gate *g)
{
	struct hold *h = &g->hold;

	for (int i = 0; i < RELAYS_MAX && !h->is_waiting; i++) {
		struct relay *r = &g->relays[i];

		if (r->state == RELAY_HELD &&
		    (h->count == HOLD_QUESTIONS || ask(g, r) < 0))
			admission_settle(r, false);
	}
}

void
hold_answer(struct gate *g, const struct proxy_answer *a)
{
	struct hold *h = &g->hold;

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
