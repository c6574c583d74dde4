/*
 * plan_network: no network, some hosts by name, or the host's own.
 */
#include <stdio.h>

#include "host_rule.h"
#include "plan_part.h"

static int
check_hosts(const struct decision *d, struct remit_error *err)
{
	struct host_rules rules;

	if (d->policy->network_access)
		return fail_refused(
			err, d->field->name,
			"Leave network_access out, or the list.",
			"network_access gives all hosts, so the list would "
			"keep nobody out");
	return host_rules_read(&d->policy->network_allow, &rules, err);
}

int
decide_hosts(struct decision *d, struct remit_error *err)
{
	bool alone;

	if (check_hosts(d, err) < 0)
		return -1;
	alone = plan_note_kept(d, MECH(NETWORK_NAMESPACE));
	/* Nothing runs that could want a way out. */
	if (d->plan->tier == TIER_STATIC)
		return 0;
	/* Without a network of its own its listeners would be the host's. */
	d->plan->proxied = plan_note_kept(d, MECH(PROXY)) && alone;
	return 0;
}

int
decide_network(struct decision *d, struct remit_error *err)
{
	(void)err;
	if (names_hosts(d->policy) && !d->policy->network_access) {
		d->plan->filter |= PLAN_FILTER_NETWORK;
		d->plan->own_network =
			plan_note_kept(d, MECH(NETWORK_NAMESPACE));
		snprintf(d->row->note, sizeof(d->row->note),
			 "but for the hosts of network_allow");
		return 0;
	}
	if (d->policy->network_access) {
		d->plan->filter |= PLAN_FILTER_NETWORK;
		plan_grant(
			d,
			"TCP and UDP on the host's own network, its loopback "
			"included");
		return 0;
	}
	plan_note_kept(d, MECH(SECCOMP));
	d->plan->own_network = plan_note_kept(d, MECH(NETWORK_NAMESPACE));
	if (d->plan->landlock_abi >= 4)
		plan_note_kept(d, MECH(LANDLOCK));
	return 0;
}

int
plan_check_proxy(const struct plan *p, struct remit_error *err)
{
	struct host_rules rules;
	struct address own;

	if (!p->policy->network_proxy)
		return 0;
	if (!names_hosts(p->policy))
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
