/*
 * lookup: ask this machine's resolvers for the addresses of a name. Each
 * question uses UDP, a new socket and a random id, so that only a host that
 * sees the question can answer it.
 */
#include <sys/random.h>
#include <sys/socket.h>

#include "proxy/gate.h"

#define ANSWER_TIMEOUT_US  (2 * 1000000ull)
#define TRIES_PER_RESOLVER 2 /* of each resolver */
/* How long the addresses of a name are used: a second look-up may return
   others. */
#define KNOWN_US (60 * 1000000ull)
#define LOST_US	 (1 * 1000000ull)

static void lookup_send(struct lookup *l);

static void
lookup_stop(struct lookup *l)
{
	int fd = l->on.fd;

	loop_set_timer(&l->gate->loop, &l->timer, 0);
	loop_remove(&l->gate->loop, &l->on);
	own_fd_close(&fd);
}

static void
settle_name(struct gate *g, struct name *n)
{
	bool known = n->addresses.count > 0;

	n->state = known ? NAME_KNOWN : NAME_LOST;
	n->until_us = loop_now_us() + (known ? KNOWN_US : LOST_US);
	relays_wake(g, n);
}

static void
lookup_end(struct lookup *l)
{
	struct name *n = l->name;

	lookup_stop(l);
	l->name = NULL;
	settle_name(l->gate, n);
}

static void
lookup_try_next(struct lookup *l)
{
	lookup_stop(l);
	l->tries++;
	lookup_send(l);
}

static void
on_timeout(void *owner)
{
	lookup_try_next(owner);
}

static void
lookup_use_answer(struct lookup *l, enum dns_code code)
{
	bool found = l->name->addresses.count > 0;

	if (!found && code != DNS_OK && code != DNS_NO_SUCH_NAME) {
		lookup_try_next(l); /* this resolver cannot answer */
	} else if (!found && code == DNS_OK && l->type == DNS_A) {
		lookup_stop(l);
		l->type = DNS_AAAA;
		l->tries = 0;
		lookup_send(l);
	} else {
		lookup_end(l);
	}
}

static void
on_answer(void *owner, uint32_t events)
{
	struct lookup *l = owner;
	char bytes[DNS_READ];
	ssize_t n = recvfrom(l->on.fd, bytes, sizeof(bytes), 0, NULL, NULL);
	enum dns_code code;

	(void)events;
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			lookup_try_next(l); /* no server at this address */
		return;
	}
	/* An answer to another question may be forged: wait for the right
	   one. */
	if (dns_answer_read(bytes, (size_t)n, l->id, l->name->host, l->type,
			    &l->name->addresses, &code) == 0)
		lookup_use_answer(l, code);
}

static int
lookup_send_question(struct lookup *l, int fd)
{
	const struct site_names *s = &l->gate->site;
	struct sockaddr_storage to;
	socklen_t to_len = address_socket(
		&s->resolvers[l->tries % s->resolver_count], 53, &to);
	char out[DNS_MAX];
	size_t len;

	if (getrandom(&l->id, sizeof(l->id), 0) != sizeof(l->id))
		return -1;
	len = dns_question_write(out, l->id, l->name->host, l->type);
	if (connect(fd, (void *)&to, to_len) < 0)
		return -1;
	return sendto(fd, out, len, MSG_NOSIGNAL, NULL, 0) == (ssize_t)len ? 0
									   : -1;
}

static void
lookup_send(struct lookup *l)
{
	const struct site_names *s = &l->gate->site;

	for (; l->tries < TRIES_PER_RESOLVER * s->resolver_count; l->tries++) {
		bool is_v6 = s->resolvers[l->tries % s->resolver_count].is_v6;
		own_fd int fd =
			socket(is_v6 ? AF_INET6 : AF_INET,
			       SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		struct remit_error err;

		if (fd < 0 || lookup_send_question(l, fd) < 0 ||
		    loop_add(&l->gate->loop, &l->on, fd, EPOLLIN, on_answer, l,
			     &err) < 0)
			continue;
		take_fd(&fd);
		loop_set_timer(&l->gate->loop, &l->timer,
			       loop_now_us() + ANSWER_TIMEOUT_US);
		return;
	}
	lookup_end(l);
}

void
lookup_init(struct lookup *l, struct gate *g)
{
	*l = (struct lookup){
		.gate = g,
		.on = SOURCE_INIT,
		.timer = { .ring = on_timeout, .owner = l },
	};
}

static struct lookup *
find_free_lookup(struct gate *g)
{
	for (int i = 0; i < LOOKUPS_MAX; i++)
		if (!g->lookups[i].name)
			return &g->lookups[i];
	return NULL;
}

void
lookup_start(struct gate *g, struct name *n)
{
	struct lookup *l = find_free_lookup(g);

	n->addresses.count = 0;
	site_names_find(&g->site, n->host, &n->addresses);
	if (n->addresses.count || !l) {
		settle_name(g, n);
		return;
	}
	n->state = NAME_PENDING;
	l->name = n;
	l->type = DNS_A;
	l->tries = 0;
	lookup_send(l);
}
