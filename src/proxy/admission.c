#include "admission.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gate.h"
#include "tls_hello.h"

_Static_assert(HEAD_MAX + HTTP_REQUEST_MORE < RELAY_BYTES,
	       "a new head finds room in a flow");

static struct gate_use *
use_of(const struct relay *r)
{
	return &r->gate->uses[r->rule - r->gate->rules.rows];
}

/* All that was asked of it is as it should be. */
static void
admit(struct relay *r)
{
	uint64_t most = r->rule->most_connections;

	if (most && use_of(r)->connections >= most) {
		relay_refuse(r, LEDGER_TOO_MANY);
		return;
	}
	use_of(r)->connections++;
	use_of(r)->bytes += r->out.len;
	relay_find(r);
}

/* ---- plain requests ---- */

/* No other form of a target names no other host. */
static bool
is_own_target(struct http_text t)
{
	return t.text[0] == '/' || (t.len == 1 && t.text[0] == '*');
}

static enum ledger_why
judge_request(const struct relay *r, const struct http_head *h)
{
	if (!is_own_target(h->target) || strcmp(h->host, r->host) != 0 ||
	    (h->port && h->port != r->port))
		return LEDGER_OTHER_NAME;
	if (!r->is_single)
		return LEDGER_LET_THROUGH;
	if (h->is_ambiguous)
		return LEDGER_OTHER_REQUEST;
	if (r->rule->methods &&
	    !(host_method(h->method.text, h->method.len) & r->rule->methods))
		return LEDGER_OTHER_METHOD;
	return LEDGER_LET_THROUGH;
}

/* Put the new head in the old one's place. */
static enum ledger_why
write_request(struct relay *r, const struct http_head *h)
{
	char head[HEAD_MAX + HTTP_REQUEST_MORE];
	struct flow *f = &r->out;
	size_t rest = f->len - h->len;
	size_t n = http_request_write(head, f->data, h, h->target, NULL);

	http_body_begin(&r->body, h);
	if (http_body_take(&r->body, f->data + h->len, rest) < 0)
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
	*why = judge_request(r, &h);
	if (*why == LEDGER_LET_THROUGH && r->is_single)
		*why = write_request(r, &h);
	return found;
}

/* ---- hellos ---- */

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

void
admission_go_on(struct relay *r)
{
	enum ledger_why why = LEDGER_OTHER_NAME;
	enum head found;

	if (relay_read_head(r) < 0) {
		relay_cut(r);
		return;
	}
	found = r->rule->kind == HOST_TLS ? read_hello(r, &why)
					  : read_request(r, &why);
	if (found == HEAD_MORE && !r->out.ended)
		return;
	/* Somebody who only looked whether there is a host. */
	if (found == HEAD_MORE && !r->out.len)
		relay_end(r);
	else if (why == LEDGER_LET_THROUGH)
		admit(r);
	else
		relay_refuse(r, why);
}

/* ---- the beginning ---- */

/* Whom the connection was made to, by the kernel's word. */
static int
identify(struct relay *r)
{
	struct gate *g = r->gate;
	struct sockaddr_storage to = { 0 };
	socklen_t len = sizeof(to);
	struct address a;

	if (getsockname(r->code, (void *)&to, &len) < 0)
		return -1;
	a = address_of_socket(&to, &r->port);
	r->name = names_find_inside(&g->names, &a);
	if (r->name) {
		snprintf(r->host, sizeof(r->host), "%s", r->name->host);
		r->rule = host_rules_name_port(&g->rules, r->host, r->port);
		return 0;
	}
	address_show(&a, r->host);
	r->rule = host_rules_address_port(&g->rules, &a, r->port);
	r->targets = (struct addresses){ .rows = { a }, .count = 1 };
	return 0;
}

void
admission_begin(struct relay *r)
{
	if (identify(r) < 0) {
		relay_cut(r);
		return;
	}
	if (!r->rule) {
		relay_refuse(r, LEDGER_NOT_NAMED);
		return;
	}
	r->is_single = r->rule->methods != 0;
	if (r->rule->kind == HOST_TCP)
		admit(r);
	else
		relay_hear(r);
}

/* ---- once it is open ---- */

int
admission_holds(struct relay *r, size_t sent, size_t received)
{
	const struct flow *f = &r->out;
	uint64_t most = r->rule->most_bytes;
	enum ledger_why why = LEDGER_LET_THROUGH;

	use_of(r)->bytes += sent + received;
	if (most && use_of(r)->bytes > most)
		why = LEDGER_TOO_MUCH;
	else if (r->is_single &&
		 http_body_take(&r->body, f->data + f->start + f->len - sent,
				sent) < 0)
		why = LEDGER_OTHER_REQUEST;
	if (why == LEDGER_LET_THROUGH)
		return 0;
	ledger_note(r->gate->ledger, r->host, r->port, why);
	return -1;
}
