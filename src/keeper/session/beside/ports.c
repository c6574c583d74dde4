#include "keeper/session/beside/ports.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/listeners.h"
#include "keeper/session/part.h"

struct ports {
	struct session *session;
	struct link client;
	struct source on_client;
	struct listeners proxy; /* where its network proxy listens */
	/* Sockets that are not connected yet: a helper process makes several
	   at once. */
	int stock[JAIL_SOCKETS_MAX];
	size_t stock_count;
};

void
ports_free(struct ports *p)
{
	if (!p)
		return;
	p->session->beside.ports = NULL;
	loop_remove(&p->session->keeper->loop, &p->on_client);
	link_free(&p->client);
	while (p->stock_count)
		close(p->stock[--p->stock_count]);
	free(p);
}

/* ---- one connection ---- */

static int
take_socket(struct ports *p, struct remit_error *err)
{
	const struct jail *j = &p->session->worker->jail;

	if (!p->stock_count) {
		if (jail_make_sockets(j, p->stock, JAIL_SOCKETS_MAX, err) < 0)
			return -1;
		p->stock_count = JAIL_SOCKETS_MAX;
	}
	return p->stock[--p->stock_count];
}

static int
check_port(const struct ports *p, uint32_t port, struct remit_error *err)
{
	if (!port || port > UINT16_MAX)
		return fail(err, REMIT_E_INPUT, "there is no port %u", port);
	if (listeners_have_port(&p->proxy, (uint16_t)port))
		return fail_refused(err, "", "Let it listen at another port.",
				    "port %u of the jail belongs to its "
				    "network proxy: no program in it can "
				    "listen there",
				    port);
	return 0;
}

/* Starts to connect: if that fails at once, it is as if it failed later. */
static int
connect_to(struct ports *p, uint32_t port, int *out, struct remit_error *err)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port),
	};
	own_fd int fd = -1;

	if (check_port(p, port, err) < 0)
		return -1;
	fd = take_socket(p, err);
	if (fd < 0)
		return -1;
	if (connect(fd, (const void *)&to, sizeof(to)) < 0 &&
	    errno != EINPROGRESS)
		return fail_sys(err, REMIT_E_GONE, "connect to port %u", port);
	*out = take_fd(&fd);
	return 0;
}

static int
send_refusal(struct ports *p, const struct remit_error *why,
	     struct remit_error *err)
{
	char text[sizeof(why->message) + sizeof(why->remedy) + 4];
	size_t most = frame_rules[FRAME_PORT].max, len;

	snprintf(text, sizeof(text), "%s%s%s", why->message,
		 why->remedy[0] ? ". " : "", why->remedy);
	len = strlen(text);
	if (link_send(&p->client, FRAME_PORT, text, len < most ? len : most,
		      err) < 0)
		return -1;
	return link_flush(&p->client, err);
}

static int
recv_port(struct ports *p, const struct frame *f, struct remit_error *err)
{
	struct session *s = p->session;
	struct remit_error why;
	own_fd int fd = -1;
	uint32_t port;

	if (f->type != FRAME_PORT || f->len != sizeof(port))
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	memcpy(&port, f->payload, sizeof(port));
	/* Its client uses the session, which is therefore not idle. */
	if (s->state == SESSION_IDLE)
		session_start_idle_timer(s);
	if (connect_to(p, port, &fd, &why) < 0)
		return send_refusal(p, &why, err);
	if (link_send(&p->client, FRAME_PORT, "", 0, err) < 0)
		return -1;
	return link_flush_with(&p->client, fd, err);
}

/* ---- the connection for requests ---- */

/* A client waits for the answer to a request before it sends the next, so the
   answers always fit into the socket. */
static int
read_requests(struct ports *p, struct remit_error *err)
{
	struct frame f;

	if (link_fill(&p->client, err) < 0)
		return -1;
	do {
		if (link_next(&p->client, &f, err) < 0 ||
		    (f.type != FRAME_NONE && recv_port(p, &f, err) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	return p->client.ended ? -1 : 0;
}

static void
on_client(void *owner, uint32_t events)
{
	struct ports *p = owner;
	struct remit_error err;

	(void)events;
	if (read_requests(p, &err) < 0)
		ports_free(p);
}

static int
ports_new(struct session *s, int client, struct remit_error *err)
{
	struct ports *p = calloc(1, sizeof(*p));

	if (!p) {
		close(client);
		return fail_memory(err, "ports");
	}
	p->session = s;
	p->on_client = (struct source)SOURCE_INIT;
	link_open(&p->client, client, PARTY_CLIENT);
	s->beside.ports = p;
	if ((!s->pool->plan.proxied ||
	     listeners_list(&p->proxy, &s->pool->plan, err) == 0) &&
	    loop_add(&s->keeper->loop, &p->on_client, client, EPOLLIN,
		     on_client, p, err) == 0)
		return 0;
	ports_free(p);
	return -1;
}

int
session_open_ports(struct session *s, const struct frame *f,
		   struct remit_error *err)
{
	own_fd int client = take_fd(&s->client.passed_fd);

	(void)f;
	if (client < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "a request for ports without a connection");
	if (!s->worker || s->beside.ports || s->loss.code ||
	    !s->pool->plan.has_ports)
		return 0;
	return ports_new(s, take_fd(&client), err);
}
