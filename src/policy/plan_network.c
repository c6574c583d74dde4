/*
 * plan_network: no network, some hosts by name, all that are public, or the
 * host's own.
 */
#include <stdio.h>

#include "host_rule.h"
#include "plan_part.h"

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
	return host_rules_read(&d->policy->network_allow, &rules, err);
}

/* Sockets in a network of the jail's own, which lead to a proxy or nowhere. */
static void
give_proxy(struct decision *d)
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
	give_proxy(d);
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
	give_proxy(d);
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
