/*
 * session_network: a new list of hosts for an open session, between two cells.
 * The proxy of its jail gets the list; a later jail of the session gets it as
 * well.
 */
#include <string.h>

#include "jail/listeners.h"
#include "keeper/session/part.h"
#include "wire/record.h"

void
network_list_free(struct network_list *n)
{
	if (!n)
		return;
	policy_free(&n->policy);
	free(n->enforcement);
	free(n);
}

static void
free_network(struct network_list **n)
{
	network_list_free(*n);
}

static const struct policy *
current_policy(const struct session *s)
{
	return s->network.list ? &s->network.list->policy : session_policy(s);
}

/* The document may change only the two fields of hosts. */
static int
check_fields(const struct policy *before, const struct policy *now,
	     struct remit_error *err)
{
	for (int i = 0; i < FIELD_TOTAL; i++) {
		json_auto_t *old = field_to_json(before, &fields[i]);
		json_auto_t *wanted = field_to_json(now, &fields[i]);

		if (!old || !wanted)
			return fail_memory(err, "policy");
		if (i != F_NETWORK_ACCESS && i != F_NETWORK_ALLOW &&
		    !json_equal(old, wanted))
			return fail_refused(err, fields[i].name,
					    "Open another session.",
					    "only network_access and "
					    "network_allow of an open session "
					    "can be changed");
	}
	return 0;
}

/* The jail has only the listeners that it was built with. */
static int
check_listeners(const struct plan *plan, const struct policy *now,
		struct remit_error *err)
{
	struct listeners open;
	struct host_rules rules;
	size_t which = 0;

	if (listeners_list(&open, plan, err) < 0 ||
	    host_rules_read(&now->network_allow, &rules, err) < 0)
		return -1;
	if (listeners_cover(&open, &rules, &which))
		return 0;
	return fail_refused(err, "network_allow",
			    "Open a session whose list has an entry with this "
			    "port (and, for an address, this address), and "
			    "narrow it later.",
			    "%.200s: the jail of this session was built "
			    "without a listener for it",
			    now->network_allow.items[which]);
}

static char *
write_enforcement(const struct plan *plan)
{
	json_auto_t *rows = plan_enforcement(plan);

	return json_dumps(rows, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

/* Returns the session's network by this document, or NULL. */
static struct network_list *
make_network(const struct session *s, const struct frame *f,
	     struct remit_error *err)
{
	struct plan plan = s->pool->plan; /* its lists are not changed */
	__attribute__((cleanup(free_network))) struct network_list *n =
		calloc(1, sizeof(*n));

	if (!n || policy_copy(&n->policy, current_policy(s)) < 0) {
		fail_memory(err, "policy");
		return NULL;
	}
	if (policy_parse(&n->policy, f->payload, f->len, "network", err) < 0 ||
	    check_fields(current_policy(s), &n->policy, err) < 0 ||
	    plan_change_network(&plan, &n->policy, err) < 0 ||
	    check_listeners(&s->pool->plan, &n->policy, err) < 0)
		return NULL;
	n->enforcement = write_enforcement(&plan);
	if (n->enforcement)
		return take_ptr(&n);
	fail_memory(err, "policy");
	return NULL;
}

static int
send_network(const struct session *s, const struct network_list *n,
	     struct remit_error *err)
{
	struct host_rules rules;

	if (host_rules_read(&n->policy.network_allow, &rules, err) < 0)
		return -1;
	return proxy_set_rules(&s->worker->proxy,
			       n->policy.network_access == NETWORK_PUBLIC,
			       &rules, err);
}

int
session_apply_network(struct session *s, struct remit_error *err)
{
	return s->network.list ? send_network(s, s->network.list, err) : 0;
}

static int
change_network(struct session *s, const struct frame *f,
	       struct remit_error *err)
{
	struct network_list *n;

	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	n = make_network(s, f, err);
	if (!n)
		return -1;
	if (send_network(s, n, err) < 0) {
		network_list_free(n);
		return -1;
	}
	network_list_free(s->network.list);
	s->network.list = n;
	return 0;
}

int
session_set_network(struct session *s, const struct frame *f,
		    struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_OPENED].max);
	struct remit_error why;

	s->requested_us = loop_now_us();
	if (change_network(s, f, &why) < 0) {
		s->cell.facts.closed = true; /* this is not a cell */
		session_refuse_cell(s, &why);
		return 0;
	}
	if (record_add(&records, "id", s->open_id) < 0)
		return fail_memory(err, "network");
	if (link_send(&s->client, FRAME_OPENED, records.data, records.len,
		      err) < 0)
		return -1;
	session_start_idle_timer(s);
	session_flush_client(s);
	if (s->client_gone)
		session_remove(s);
	return 0;
}
