/*
 * admission: whether a connection of the jail may go on, from its first byte:
 * which host it is for, whether its bytes name the same host, and what its
 * entry allows.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "http/head.h"
#include "http/tls_hello.h"
#include "proxy/gate.h"
#include "proxy/params.h"
#include "proxy/relay.h"

_Static_assert(HEAD_MAX + HTTP_REQUEST_MORE < FLOW_BYTES,
	       "a rewritten head fits into a flow");

/* ---- hosts that no rule names and no person has decided on ---- */

enum pending_outcome {
	PENDING_HOST_REFUSED,
	PENDING_HOST_ALLOWED,
	PENDING_HOST_ASKED, /* the relay is suspended until the answer */
};

static const struct pending_answer *
pending_find_answer(const struct pending *h, const struct relay *r)
{
	for (uint32_t i = 0; i < h->answer_count; i++)
		if (h->answers[i].port == r->port &&
		    !strcmp(h->answers[i].host, r->host))
			return &h->answers[i];
	return NULL;
}

static bool
pending_matches(const struct pending *h, const struct relay *r)
{
	return r->state == RELAY_PENDING && r->port == h->port &&
	       !strcmp(r->host, h->host);
}

static int
pending_ask(struct gate *g, const struct relay *r)
{
	struct pending *h = &g->pending;
	struct proxy_prompt q = { .id = ++h->count, .port = r->port };

	snprintf(q.host, sizeof(q.host), "%s", r->host);
	snprintf(h->host, sizeof(h->host), "%s", r->host);
	h->port = r->port;
	h->is_waiting = sendto(g->on_line.fd, &q, sizeof(q), MSG_NOSIGNAL, NULL,
			       0) == sizeof(q);
	return h->is_waiting ? 0 : -1;
}

/* Prompt only for what can be a public host: for others a yes would not
   help. */
static bool
pending_can_ask(const struct relay *r)
{
	struct address a;

	return r->name || (address_read(r->host, &a) == 0 &&
			   address_class(&a) == ADDRESS_PUBLIC);
}

/* Decide on a relay whose host no entry names. */
static enum pending_outcome
pending_check(struct gate *g, struct relay *r)
{
	struct pending *h = &g->pending;
	const struct pending_answer *known = pending_find_answer(h, r);

	if (known)
		return known->is_allowed ? PENDING_HOST_ALLOWED
					 : PENDING_HOST_REFUSED;
	if (!h->prompts || !pending_can_ask(r) ||
	    (!h->is_waiting && h->count == PENDING_PROMPTS_MAX))
		return PENDING_HOST_REFUSED;
	relay_suspend(r);
	if (h->is_waiting || pending_ask(g, r) == 0)
		return PENDING_HOST_ASKED;
	return PENDING_HOST_REFUSED;
}

static void
pending_remember(struct pending *h, bool is_allowed)
{
	struct pending_answer *s = &h->answers[h->answer_count++];

	/* There is space for the answer to every prompt. */
	memcpy(s->host, h->host, sizeof(s->host));
	s->port = h->port;
	s->is_allowed = is_allowed;
}

/* Prompt for the next pending host, or refuse what may not be asked any
   more. */
static void
pending_ask_next(struct gate *g)
{
	struct pending *h = &g->pending;

	for (int i = 0; i < RELAYS_MAX && !h->is_waiting; i++) {
		struct relay *r = &g->relays[i];

		if (r->state == RELAY_PENDING &&
		    (h->count == PENDING_PROMPTS_MAX || pending_ask(g, r) < 0))
			admission_settle(r, false);
	}
}

void
pending_settle(struct gate *g, const struct proxy_prompt_answer *a)
{
	struct pending *h = &g->pending;

	if (!h->is_waiting || a->id != h->count)
		return;
	h->is_waiting = false;
	/* A no always applies to the whole run. */
	if (a->allowed != 1)
		pending_remember(h, a->allowed != 0);
	for (int i = 0; i < RELAYS_MAX; i++)
		if (pending_matches(h, &g->relays[i]))
			admission_settle(&g->relays[i], a->allowed != 0);
	pending_ask_next(g);
}

/* ---- the entries ---- */

/* What has been used of its entry's limits. Without an entry, each connection
   is counted alone. */
static struct relay_use *
use_of(struct relay *r)
{
	return r->rule == &r->any_rule
		       ? &r->any_use
		       : &r->gate->uses[r->rule - r->gate->rules.rows];
}

/* Returns the entry for the host, or a rule for a host that no entry names: if
   all public hosts are allowed, its bytes are not inspected; if a person has
   allowed it, it is treated like an entry without words. */
static const struct host_rule *
rule_or_any(struct relay *r, const struct host_rule *rule)
{
	if (rule || (!r->gate->allows_public && !r->is_allowed))
		return rule;
	r->any_rule = (struct host_rule){
		.port = r->port,
		.kind = r->gate->allows_public || !r->name
				? HOST_TCP
				: host_rule_usual_kind(r->port),
	};
	r->any_use = (struct relay_use){ 0 };
	return &r->any_rule;
}

/* Decide on a host that no entry names. */
static enum pending_outcome
check_unnamed(struct relay *r)
{
	enum pending_outcome v = pending_check(r->gate, r);

	r->is_allowed = v == PENDING_HOST_ALLOWED;
	r->rule = rule_or_any(r, NULL);
	return v;
}

/* Every check has passed. */
static void
let_through(struct relay *r)
{
	uint64_t most = r->rule->most_connections;

	if (most && use_of(r)->connections >= most) {
		relay_refuse(r, LEDGER_TOO_MANY);
		return;
	}
	use_of(r)->connections++;
	use_of(r)->bytes += r->out.len;
	relay_resolve(r);
}

/* ---- plain requests ---- */

/* Other forms of a request target may name another host. */
static bool
is_origin_form(struct http_text t)
{
	return t.text[0] == '/' || (t.len == 1 && t.text[0] == '*');
}

static enum ledger_why
check_request(const struct relay *r, const struct http_head *h)
{
	unsigned method;

	if (!is_origin_form(h->target) || strcmp(h->host, r->host) != 0 ||
	    (h->port && h->port != r->port))
		return LEDGER_OTHER_NAME;
	if (!r->is_single)
		return LEDGER_LET_THROUGH;
	if (h->is_ambiguous)
		return LEDGER_OTHER_REQUEST;
	method = host_method(h->method.text, h->method.len);
	/* TRACE would return the credential to the code. */
	if ((r->rule->methods && !(method & r->rule->methods)) ||
	    (r->credential && !method))
		return LEDGER_OTHER_METHOD;
	return LEDGER_LET_THROUGH;
}

/* Replace the head by the rewritten one. */
static enum ledger_why
write_request(struct relay *r, const struct http_head *h,
	      struct http_text target)
{
	char head[HEAD_MAX + HTTP_REQUEST_MORE];
	struct flow *f = &r->out;
	size_t rest = f->len - h->len;
	size_t n = http_request_write(head, f->data, h, target, r->credential);

	http_body_begin(&r->body, h);
	if (http_body_feed(&r->body, f->data + h->len, rest) < 0)
		return LEDGER_OTHER_REQUEST;
	memmove(f->data + n, f->data + h->len, rest);
	memcpy(f->data, head, n);
	f->len = n + rest;
	return LEDGER_LET_THROUGH;
}

static enum head
read_request(struct relay *r, enum ledger_why *why)
{
	struct http_head h;
	enum head found = http_head_read(r->out.data, r->out.len, &h);

	if (found != HEAD_NAME)
		return found;
	*why = check_request(r, &h);
	if (*why == LEDGER_LET_THROUGH && r->is_single)
		*why = write_request(r, &h, h.target);
	return found;
}

/* ---- TLS hellos ---- */

static enum head
read_hello(const struct relay *r, enum ledger_why *why)
{
	char name[HOST_NAME_SIZE];
	enum head found = tls_hello_read(r->out.data, r->out.len, name);

	if (found == HEAD_NAME)
		*why = strcmp(name, r->host) ? LEDGER_OTHER_NAME
					     : LEDGER_LET_THROUGH;
	return found;
}

static void read_bytes(struct relay *r);

/* The hello names the right host: the request is inside the TLS connection. */
static void
open_tls(struct relay *r)
{
	if (relay_end_tls(r) < 0 || relay_read_head(r) < 0)
		relay_cut(r);
	else
		read_bytes(r);
}

/* Check what code has sent on a connection to a named host, directly or through
   CONNECT. */
static void
read_bytes(struct relay *r)
{
	bool is_hello = r->rule->kind == HOST_TLS && !r->code_tls;
	enum ledger_why why = LEDGER_OTHER_NAME;
	enum head found =
		is_hello ? read_hello(r, &why) : read_request(r, &why);

	if (found == HEAD_MORE && !r->out.ended)
		return;
	if (is_hello && r->tls_end && why == LEDGER_LET_THROUGH) {
		open_tls(r);
		return;
	}
	/* The code only tested whether the host can be reached. */
	if (found == HEAD_MORE && !r->out.len)
		relay_end(r);
	else if (why == LEDGER_LET_THROUGH)
		let_through(r);
	else
		relay_refuse(r, why);
}

/* Use credentials only for hosts that an entry names, not for those that a
   person allows later. */
static void
find_credential(struct relay *r)
{
	const struct gate *g = r->gate;
	const struct vault_row *v = vault_find(&g->vault, r->rule, r->host);

	if (!v || r->rule == &r->any_rule)
		return;
	r->credential = &v->header;
	if (r->rule->kind == HOST_TLS)
		r->tls_end = &g->ends->rows[v - g->vault.rows];
}

/* The entry is known: check its bytes, unless it allows any. */
static void
start_reading(struct relay *r)
{
	find_credential(r);
	r->is_single = r->rule->methods || r->credential;
	if (r->rule->kind == HOST_TCP) {
		let_through(r);
		return;
	}
	relay_await_head(r);
	if (r->state == RELAY_HEAD && r->out.len)
		read_bytes(r);
}

/* ---- explicit proxy requests ---- */

static int
send_to_code(struct relay *r, const char *text)
{
	size_t len = strlen(text);

	/* A socket that has sent nothing yet accepts all of it. */
	return sendto(r->code, text, len, MSG_NOSIGNAL, NULL, 0) == (ssize_t)len
		       ? 0
		       : -1;
}

static void
send_refusal(struct relay *r, const char *status)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n"
		 "\r\n",
		 status);
	if (send_to_code(r, text) < 0)
		relay_cut(r);
	else
		relay_end(r);
}

/* Set the requested host, and its entry if there is one. */
static void
set_proxy_target(struct relay *r, const struct http_proxy_request *a)
{
	struct gate *g = r->gate;
	const struct host_rule *named;
	struct address address;

	snprintf(r->host, sizeof(r->host), "%s", a->host);
	r->port = a->port;
	r->name = NULL;
	if (address_read(a->host, &address) == 0) {
		named = host_rules_address_port(&g->rules, &address, a->port);
		r->targets = (struct addresses){ { address }, 1 };
		r->rule = rule_or_any(r, named);
		return;
	}
	named = host_rules_name_port(&g->rules, a->host, a->port);
	if (named || g->allows_public || g->pending.prompts)
		r->name = names_get(&g->names, a->host);
	r->rule = r->name ? rule_or_any(r, named) : NULL;
}

static void
open_tunnel(struct relay *r, const struct http_head *h)
{
	struct flow *f = &r->out;

	f->len -= h->len;
	memmove(f->data, f->data + h->len, f->len);
	if (send_to_code(r, "HTTP/1.1 200 Connection established\r\n\r\n") < 0)
		relay_cut(r);
	else
		start_reading(r);
}

/* An explicit proxy connection carries only one request. */
static void
pass_request(struct relay *r, const struct http_head *h,
	     const struct http_proxy_request *a)
{
	struct http_head own = *h;
	enum ledger_why why;

	own.target = a->target;
	find_credential(r);
	r->is_single = true;
	why = r->rule->kind == HOST_TLS ? LEDGER_OTHER_NAME
					: check_request(r, &own);
	if (why == LEDGER_LET_THROUGH)
		why = write_request(r, h, a->target);
	if (why == LEDGER_LET_THROUGH) {
		let_through(r);
		return;
	}
	ledger_note(r->gate->ledger, r->host, r->port, why);
	send_refusal(r, "403 Forbidden");
}

static void
deny_proxy_request(struct relay *r)
{
	ledger_note(r->gate->ledger, r->host, r->port, LEDGER_NOT_NAMED);
	send_refusal(r, "403 Forbidden");
}

static void
serve_proxy_request(struct relay *r, const struct http_head *h,
		    const struct http_proxy_request *a)
{
	enum pending_outcome v = PENDING_HOST_ALLOWED;

	set_proxy_target(r, a);
	if (!r->rule)
		v = check_unnamed(r);
	if (v == PENDING_HOST_ASKED)
		return;
	r->is_explicit = false;
	if (v == PENDING_HOST_REFUSED)
		deny_proxy_request(r);
	else if (a->is_tunnel)
		open_tunnel(r, h);
	else
		pass_request(r, h, a);
}

static void
read_proxy_request(struct relay *r)
{
	struct http_head h;
	struct http_proxy_request a;
	enum head found = http_head_read(r->out.data, r->out.len, &h);

	if (found == HEAD_MORE && !r->out.ended)
		return;
	if (found == HEAD_MORE && !r->out.len) {
		relay_end(r);
	} else if (found != HEAD_NAME || http_proxy_request_read(&h, &a) < 0) {
		ledger_note(r->gate->ledger, r->host, r->port,
			    LEDGER_OTHER_NAME);
		send_refusal(r, "400 Bad Request");
	} else {
		serve_proxy_request(r, &h, &a);
	}
}

void
admission_continue(struct relay *r)
{
	if (relay_read_head(r) < 0)
		relay_cut(r);
	else if (r->is_explicit)
		read_proxy_request(r);
	else
		read_bytes(r);
}

/* ---- the beginning ---- */

static bool
is_proxy_client(const struct relay *r, const struct address *to)
{
	struct address own = address_v4(htonl(INADDR_LOOPBACK));

	return r->gate->explicit_proxy && r->port == HOST_PROXY_PORT &&
	       address_equal(to, &own);
}

/* The address that the code connected to, as the kernel reports it. */
static int
identify_target(struct relay *r)
{
	struct gate *g = r->gate;
	struct sockaddr_storage to = { 0 };
	socklen_t len = sizeof(to);
	struct address a;

	if (getsockname(r->code, (void *)&to, &len) < 0)
		return -1;
	a = address_of_socket(&to, &r->port);
	r->is_explicit = is_proxy_client(r, &a);
	r->name = names_find_inside(&g->names, &a);
	if (r->name) {
		snprintf(r->host, sizeof(r->host), "%s", r->name->host);
		r->rule = rule_or_any(
			r, host_rules_name_port(&g->rules, r->host, r->port));
		return 0;
	}
	address_show(&a, r->host);
	r->rule =
		rule_or_any(r, host_rules_address_port(&g->rules, &a, r->port));
	r->targets = (struct addresses){ .rows = { a }, .count = 1 };
	return 0;
}

/* The target is known: check it. */
static void
check_target(struct relay *r)
{
	enum pending_outcome v = PENDING_HOST_ALLOWED;

	if (!r->rule)
		v = check_unnamed(r);
	if (v == PENDING_HOST_REFUSED)
		relay_refuse(r, LEDGER_NOT_NAMED);
	else if (v == PENDING_HOST_ALLOWED)
		start_reading(r);
}

void
admission_start(struct relay *r)
{
	if (identify_target(r) < 0)
		relay_cut(r);
	else if (r->is_explicit)
		relay_await_head(r);
	else
		check_target(r);
}

void
admission_settle(struct relay *r, bool is_allowed)
{
	r->state = RELAY_HEAD;
	r->is_allowed = is_allowed;
	if (!is_allowed && r->is_explicit)
		deny_proxy_request(r);
	else if (!is_allowed)
		relay_refuse(r, LEDGER_NOT_NAMED);
	else if (r->is_explicit)
		read_proxy_request(r);
	else {
		r->rule = rule_or_any(r, NULL);
		start_reading(r);
	}
}

/* ---- open connections ---- */

int
admission_account(struct relay *r, size_t sent, size_t received)
{
	const struct flow *f = &r->out;
	uint64_t most = r->rule->most_bytes;
	enum ledger_why why = LEDGER_LET_THROUGH;

	use_of(r)->bytes += sent + received;
	if (most && use_of(r)->bytes > most)
		why = LEDGER_TOO_MUCH;
	else if (r->is_single &&
		 http_body_feed(&r->body, f->data + f->start + f->len - sent,
				sent) < 0)
		why = LEDGER_OTHER_REQUEST;
	if (why == LEDGER_LET_THROUGH)
		return 0;
	ledger_note(r->gate->ledger, r->host, r->port, why);
	return -1;
}
