#include "proxy/gate.h"

#include <string.h>
#include <sys/socket.h>

#include "proxy/dns/dns.h"
#include "proxy/params.h"

/* How many DNS questions to answer per event, so that other sockets get their
   turn. */
#define QUESTIONS_PER_EVENT 32

/* ---- the keeper's line ---- */

static bool
is_same_rule(const struct host_rule *a, const struct host_rule *b)
{
	return !strcmp(a->name, b->name) && a->is_below == b->is_below &&
	       (a->name[0] || address_equal(&a->address, &b->address)) &&
	       a->port == b->port && a->kind == b->kind &&
	       a->may_be_private == b->may_be_private &&
	       a->must_be_public == b->must_be_public &&
	       a->methods == b->methods;
}

/* Returns the entry of the new list by which an open connection would have been
   let through in the same way, or its own rule if it needs no entry; NULL: it
   must end. */
static const struct host_rule *
find_same_rule(const struct relay *r, const struct proxy_rules *now)
{
	const struct host_rule *found = NULL;
	struct address a;

	if (r->name)
		found = host_rules_name_port(&now->rules, r->host, r->port);
	else if (address_read(r->host, &a) == 0)
		found = host_rules_address_port(&now->rules, &a, r->port);
	if (r->rule == &r->any_rule)
		return !found && now->allows_public ? r->rule : NULL;
	return found && is_same_rule(found, r->rule) ? found : NULL;
}

/* A connection without a rule has not named its host yet. */
static void
end_others(struct gate *g, const struct proxy_rules *now,
	   const struct host_rule *kept[RELAYS_MAX])
{
	for (int i = 0; i < RELAYS_MAX; i++) {
		struct relay *r = &g->relays[i];

		kept[i] = NULL;
		if (r->state == RELAY_FREE || !r->rule)
			continue;
		kept[i] = find_same_rule(r, now);
		if (!kept[i])
			relay_refuse(r, LEDGER_NOT_NAMED);
	}
}

static void add_rule_names(struct gate *g);

static void
set_rules(struct gate *g, const struct proxy_rules *now)
{
	const struct host_rule *kept[RELAYS_MAX];

	end_others(g, now, kept);
	g->rules = now->rules;
	g->allows_public = now->allows_public;
	/* No entry of either list has limits. */
	memset(g->uses, 0, sizeof(g->uses));
	for (int i = 0; i < RELAYS_MAX; i++)
		if (kept[i] && kept[i] != &g->relays[i].any_rule)
			g->relays[i].rule =
				&g->rules.rows[kept[i] - now->rules.rows];
	add_rule_names(g);
}

/* Reads one message. Returns false if there is none. The keeper sends nothing
   else: anything else means that it has closed the line, and the proxy ends. */
static bool
read_line(struct gate *g)
{
	static union {
		struct proxy_prompt_answer answer;
		struct proxy_rules rules;
	} m;
	ssize_t n = recvfrom(g->on_line.fd, &m, sizeof(m), MSG_DONTWAIT, NULL,
			     NULL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n == sizeof(m.answer))
		pending_settle(g, &m.answer);
	else if (n == sizeof(m.rules))
		set_rules(g, &m.rules);
	else
		g->loop.stop = true;
	return !g->loop.stop;
}

/* Called before a question or a connection is judged: the list that the keeper
   has sent before is in force. */
static void
drain_line(struct gate *g)
{
	while (read_line(g))
		;
}

static void
on_line(void *owner, uint32_t events)
{
	(void)events;
	drain_line(owner);
}

/* ---- DNS ---- */

/* Decide how to answer a question. *address is left unchanged if there is
   none. */
static enum dns_code
resolve_question(struct gate *g, const struct dns_question *q,
		 in_addr_t *address)
{
	const struct name *n;

	if (q->len == 12)
		return DNS_MALFORMED;
	if (!q->has_name)
		return DNS_NO_SUCH_NAME;
	/* If a person is asked about hosts, every name resolves: the question
	   needs the port too, so it is asked when the code connects. */
	if (!g->allows_public && !g->pending.prompts &&
	    !host_rules_name(&g->rules, q->name)) {
		/* Most resolvers query both address families: record the
		   refusal once. */
		if (q->type == DNS_A)
			ledger_note(g->ledger, q->name, 0, LEDGER_NOT_NAMED);
		return DNS_NO_SUCH_NAME;
	}
	if (q->type != DNS_A)
		return DNS_OK;
	n = names_get(&g->names, q->name);
	if (!n)
		return DNS_REFUSED;
	*address = names_inside(&g->names, n);
	return DNS_OK;
}

static bool
answer_question(struct gate *g, int fd)
{
	char asked[DNS_MAX], out[DNS_MAX];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n =
		recvfrom(fd, asked, sizeof(asked), 0, (void *)&from, &from_len);
	struct dns_question q;
	in_addr_t address = 0;
	enum dns_code code;
	size_t len;

	if (n < 0)
		return false;
	if (dns_question_read(asked, (size_t)n, &q) < 0)
		return true;
	drain_line(g);
	code = resolve_question(g, &q, &address);
	len = dns_answer_write(out, &q, asked, code, address ? &address : NULL);
	/* If this is lost, the client asks again. */
	sendto(fd, out, len, MSG_NOSIGNAL, (void *)&from, from_len);
	return true;
}

static void
on_question(void *owner, uint32_t events)
{
	struct gate *g = owner;

	(void)events;
	for (int i = 0; i < QUESTIONS_PER_EVENT; i++)
		if (!answer_question(g, g->on_question.fd))
			return;
}

/* ---- connections ---- */

static void
watch_ports(struct gate *g, uint32_t events)
{
	for (size_t i = 0; i < g->port_count; i++)
		loop_want(&g->loop, &g->ports[i].on, events);
}

static void
on_port(void *owner, uint32_t events)
{
	struct gate_port *p = owner;
	int fd;

	(void)events;
	/* Another port may have used the last free relay in this round. */
	if (p->gate->relay_count >= RELAYS_MAX)
		return;
	fd = accept4(p->on.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	drain_line(p->gate);
	relay_begin(p->gate, fd);
	/* Let further connections wait in the kernel. */
	if (p->gate->relay_count >= RELAYS_MAX)
		watch_ports(p->gate, 0);
}

void
gate_resume_accepting(struct gate *g)
{
	watch_ports(g, EPOLLIN);
}

/* ---- the process ---- */

/* Reserve an address for each name in the rules, whatever else is looked up. */
static void
add_rule_names(struct gate *g)
{
	_Static_assert(NAMES_MAX > HOST_RULES_MAX,
		       "every rule's name has a place");
	for (size_t i = 0; i < g->rules.count; i++)
		if (g->rules.rows[i].name[0] && !g->rules.rows[i].is_below)
			names_get(&g->names, g->rules.rows[i].name);
}

int
gate_open(struct gate *g, int line, const int *fds, size_t count,
	  struct remit_error *err)
{
	if (!count || loop_open(&g->loop, err) < 0 ||
	    loop_add(&g->loop, &g->on_line, line, EPOLLIN, on_line, g, err) <
		    0 ||
	    loop_add(&g->loop, &g->on_question, fds[0], EPOLLIN, on_question, g,
		     err) < 0)
		return -1;
	for (size_t i = 1; i < count; i++, g->port_count++) {
		struct gate_port *p = &g->ports[g->port_count];

		p->gate = g;
		if (loop_add(&g->loop, &p->on, fds[i], EPOLLIN, on_port, p,
			     err) < 0)
			return -1;
	}
	add_rule_names(g);
	for (int i = 0; i < LOOKUPS_MAX; i++)
		lookup_init(&g->lookups[i], g);
	return 0;
}

void
gate_run(struct gate *g)
{
	struct remit_error err;

	if (loop_run(&g->loop, &err) < 0)
		_exit(1);
}
