/*
 * plan_network: no network, some hosts by name, all that are public, or the
 * host's own.
 */
#include <stdio.h>

#include "policy/plan/part.h"
#include "policy/rules/credential.h"
#include "policy/rules/host_rule.h"

static bool
has_credential(const struct credentials *all, const struct host_rule *r)
{
	for (size_t i = 0; i < all->count; i++)
		if (credential_is_for(&all->rows[i], r))
			return true;
	return false;
}

static int
check_methods(const struct policy *p, const struct host_rules *rules,
	      struct remit_error *err)
{
	struct credentials all;

	if (credentials_read(&p->credentials, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < rules->count; i++)
		if (rules->rows[i].methods && rules->rows[i].kind == HOST_TLS &&
		    !has_credential(&all, &rules->rows[i]))
			return fail_refused(
				err, "network_allow",
				"Leave methods out, or, if the host speaks "
				"HTTP without TLS at this port, add the word "
				"plain.",
				"%s:%u: the method is inside of TLS, which the "
				"proxy reads only for a credential",
				rules->rows[i].name, rules->rows[i].port);
	return 0;
}

static int
check_hosts(const struct decision *d, struct remit_error *err)
{
	struct host_rules rules;

	if (d->policy->network_access == NETWORK_HOST)
		return fail_refused(
			err, d->field->name,
			"Leave network_access out, or say true, or leave out "
			"the list.",
			"the host's own network has all hosts, so the list "
			"would keep nobody out");
	if (host_rules_read(&d->policy->network_allow, &rules, err) < 0)
		return -1;
	return check_methods(d->policy, &rules, err);
}

/* Sockets in a network of the jail's own, which lead to a proxy or nowhere. */
static void
use_proxy(struct decision *d)
{
	bool alone = plan_note_kept(d, MECH(NETWORK_NAMESPACE));

	/* Nothing runs that could want a way out. */
	if (d->plan->tier == TIER_STATIC)
		return;
	/* Without a network of its own its listeners would be the host's. */
	d->plan->proxied = plan_note_kept(d, MECH(PROXY)) && alone;
}

int
decide_hosts(struct decision *d, struct remit_error *err)
{
	if (check_hosts(d, err) < 0)
		return -1;
	use_proxy(d);
	if (d->policy->network_ask)
		snprintf(d->row->note, sizeof(d->row->note),
			 "and public hosts that a person allows");
	return 0;
}

static void
decide_none(struct decision *d)
{
	d->plan->own_network = plan_note_kept(d, MECH(NETWORK_NAMESPACE));
	if (names_hosts(d->policy)) {
		d->plan->filter |= PLAN_FILTER_NETWORK;
		snprintf(d->row->note, sizeof(d->row->note),
			 "but for the hosts of network_allow");
		return;
	}
	plan_note_kept(d, MECH(SECCOMP));
	if (d->plan->landlock_abi >= 4)
		plan_note_kept(d, MECH(LANDLOCK));
}

static int
decide_public(struct decision *d, struct remit_error *err)
{
	if (is_bare(d))
		return fail_refused(
			err, d->field->name,
			"Use the tier local, or give the host's own network: "
			"--net=host.",
			"the tier \"%s\" has no network namespace, and "
			"nothing else keeps code to public hosts",
			tiers[d->plan->tier].name);
	d->plan->filter |= PLAN_FILTER_NETWORK;
	d->plan->own_network = plan_keeps(d->plan, MECH(NETWORK_NAMESPACE));
	use_proxy(d);
	snprintf(d->row->note, sizeof(d->row->note),
		 "public hosts only, at the usual ports%s",
		 names_hosts(d->policy) ? ", and those of network_allow" : "");
	return 0;
}

int
decide_network(struct decision *d, struct remit_error *err)
{
	switch (d->policy->network_access) {
	case NETWORK_NONE:
		decide_none(d);
		return 0;
	case NETWORK_PUBLIC:
		return decide_public(d, err);
	default:
		d->plan->filter |= PLAN_FILTER_NETWORK;
		plan_grant(d, "not restricted: TCP and UDP on the host's own "
			      "network, its loopback included");
		return 0;
	}
}

static int
check_client_proxy(const struct plan *p, struct remit_error *err)
{
	struct host_rules rules;
	struct address own;

	if (!names_hosts(p->policy) &&
	    p->policy->network_access != NETWORK_PUBLIC)
		return fail_refused(err, "network_proxy",
				    "Name hosts by network_allow, or leave "
				    "network_proxy out.",
				    "there is no host that a proxy could lead "
				    "to");
	if (host_rules_read(&p->policy->network_allow, &rules, err) < 0 ||
	    address_read(HOST_PROXY_ADDRESS, &own) < 0)
		return -1;
	if (host_rules_address_port(&rules, &own, HOST_PROXY_PORT))
		return fail_refused(err, "network_proxy",
				    "Leave network_proxy or that entry out.",
				    "network_allow names " HOST_PROXY_ADDRESS
				    ":%d, which is the proxy's own place",
				    HOST_PROXY_PORT);
	return 0;
}

int
plan_check_proxy(const struct plan *p, struct remit_error *err)
{
	if (p->policy->network_proxy && check_client_proxy(p, err) < 0)
		return -1;
	if (p->policy->credentials.count && !tiers[p->tier].jailed)
		return fail_refused(err, "credentials", "Use the tier local.",
				    "the tier \"%s\" has no proxy that could "
				    "keep them",
				    tiers[p->tier].name);
	return 0;
}

/* ---- credentials ---- */

static int
check_entry(const struct credential *c, const struct host_rule *r,
	    struct remit_error *err)
{
	if (r->kind == HOST_TCP)
		return fail_refused(
			err, "credentials",
			"If the host speaks HTTP at this port, add the word "
			"tls or plain to its entry.",
			"%s:%u is an entry for bytes of any kind, and a header "
			"can be put only into HTTP",
			c->host, r->port);
	if (!r->name[0] && address_class(&r->address) == ADDRESS_PUBLIC)
		return fail_refused(
			err, "credentials",
			"Name an address of this machine or of your site.",
			"%s is a public address, and what is sent to it "
			"without TLS can be read on the way",
			c->host);
	return 0;
}

static int
check_credential(const struct credential *c, const struct host_rules *rules,
		 struct remit_error *err)
{
	const struct host_rule *found = NULL;

	for (size_t i = 0; i < rules->count; i++) {
		if (!credential_is_for(c, &rules->rows[i]))
			continue;
		if (check_entry(c, &rules->rows[i], err) < 0)
			return -1;
		if (found)
			return fail_refused(
				err, "credentials",
				"Write HOST:PORT:HEADER=..., for each port "
				"that shall have it.",
				"network_allow names %s at port %u and port "
				"%u, and the credential does not say which",
				c->host, found->port, rules->rows[i].port);
		found = &rules->rows[i];
	}
	if (found)
		return 0;
	return fail_refused(err, "credentials",
			    "Name it by network_allow, as it is here.",
			    "network_allow has no entry for %s itself%s",
			    c->host, c->port ? " at that port" : "");
}

int
decide_credentials(struct decision *d, struct remit_error *err)
{
	struct credentials all;
	struct host_rules rules;

	if (credentials_read(&d->policy->credentials, &all, err) < 0 ||
	    host_rules_read(&d->policy->network_allow, &rules, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++)
		if (check_credential(&all.rows[i], &rules, err) < 0)
			return -1;
	plan_note_kept(d, MECH(PROXY));
	for (size_t i = 0; i < all.count; i++)
		d->plan->has_given |= all.rows[i].place == CREDENTIAL_GIVEN;
	for (size_t i = 0; i < rules.count; i++)
		if (rules.rows[i].kind == HOST_TLS &&
		    has_credential(&all, &rules.rows[i]))
			d->plan->ends_tls = true;
	return 0;
}
