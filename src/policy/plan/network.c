/*
 * plan_network: no network, loopback, listed hosts, all public hosts, or the
 * host's own network; and unix sockets.
 */
#include <stdio.h>
#include <string.h>

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
				"Leave methods out, or add the word plain if "
				"the host serves HTTP without TLS at this "
				"port.",
				"%s:%u: methods are encrypted by TLS, which "
				"the proxy decrypts only for a host with a "
				"credential",
				rules->rows[i].name, rules->rows[i].port);
	return 0;
}

static int
check_hosts(const struct decision *d, struct remit_error *err)
{
	struct host_rules rules;

	if (d->policy->network_access == NETWORK_HOST)
		return fail_refused(err, d->field->name,
				    "Leave network_access out, set it to true, "
				    "or leave out the list.",
				    "the host's own network reaches all hosts, "
				    "so the list would have no effect");
	if (host_rules_read(&d->policy->network_allow, &rules, err) < 0)
		return -1;
	return check_methods(d->policy, &rules, err);
}

/* Gives the jail a separate network namespace, in which sockets reach only the
   proxy. */
static void
use_proxy(struct decision *d)
{
	bool alone = plan_note_kept(d, MECH(NETWORK_NAMESPACE));

	/* The tier static runs no code that could connect. */
	if (d->plan->tier == TIER_STATIC)
		return;
	/* Without a network namespace, the proxy's listeners for the jail would
	   be open on the host. */
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
			 "except the hosts of network_allow");
		return;
	}
	plan_note_kept(d, MECH(SECCOMP));
	if (d->plan->landlock_abi >= 4)
		plan_note_kept(d, MECH(LANDLOCK));
}

static int
decide_loopback(struct decision *d, struct remit_error *err)
{
	if (is_bare(d))
		return fail_refused(
			err, d->field->name,
			"Use the tier local, or leave it out.",
			"the tier \"%s\" has no network namespace, and the "
			"loopback device of the host leads to its services",
			tiers[d->plan->tier].name);
	d->plan->filter |= PLAN_FILTER_NETWORK;
	d->plan->own_network = plan_note_kept(d, MECH(NETWORK_NAMESPACE));
	d->plan->has_loopback = d->plan->own_network;
	snprintf(
		d->row->note, sizeof(d->row->note),
		"the code reaches only the jail itself, at 127.0.0.1 and ::1%s",
		names_hosts(d->policy) ? ", and the hosts of network_allow"
				       : "");
	return 0;
}

static int
decide_public(struct decision *d, struct remit_error *err)
{
	if (is_bare(d))
		return fail_refused(
			err, d->field->name,
			"Use the tier local, or allow the host's own network: "
			"--net=host.",
			"the tier \"%s\" has no network namespace, and nothing "
			"else can restrict code to public hosts",
			tiers[d->plan->tier].name);
	d->plan->filter |= PLAN_FILTER_NETWORK;
	d->plan->own_network = plan_keeps(d->plan, MECH(NETWORK_NAMESPACE));
	use_proxy(d);
	snprintf(d->row->note, sizeof(d->row->note),
		 "only public hosts at the usual ports%s",
		 names_hosts(d->policy) ? ", and those of network_allow" : "");
	return 0;
}

int
decide_network(struct decision *d, struct remit_error *err)
{
	if (is_wasm(d) && d->policy->network_access != NETWORK_NONE)
		return plan_refuse_wasm(d,
					"has no sockets; tools can fetch what "
					"code needs",
					err);
	switch (d->policy->network_access) {
	case NETWORK_NONE:
		decide_none(d);
		return 0;
	case NETWORK_LOOPBACK:
		return decide_loopback(d, err);
	case NETWORK_PUBLIC:
		return decide_public(d, err);
	default:
		d->plan->filter |= PLAN_FILTER_NETWORK;
		plan_grant(d, "not restricted: TCP and UDP on the host's own "
			      "network, its loopback included");
		return 0;
	}
}

/* ---- changes while the jail exists ---- */

static bool
has_limit(const struct host_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		if (rules->rows[i].most_bytes ||
		    rules->rows[i].most_connections)
			return true;
	return false;
}

static int
refuse_change(struct remit_error *err, const char *field, const char *remedy,
	      const char *why)
{
	return fail_refused(err, field, remedy,
			    "the network of this session cannot be changed: %s",
			    why);
}

/* What only a new proxy could change. */
static int
check_changeable(const struct plan *p, struct remit_error *err)
{
	if (!p->proxied)
		return refuse_change(err, "network_allow",
				     "Open a session whose policy lists hosts "
				     "in network_allow or has network_access.",
				     "it has no network that a proxy controls");
	if (p->policy->credentials.count)
		return refuse_change(err, "credentials",
				     "Open another session.",
				     "its proxy has credentials for hosts of "
				     "the list");
	if (p->policy->network_ask)
		return refuse_change(err, "network_ask",
				     "Open a session without network_ask.",
				     "a person decides on its hosts");
	return 0;
}

static int
check_change(const struct plan *p, const struct policy *now,
	     struct remit_error *err)
{
	struct host_rules before, after;
	uint64_t from = p->policy->network_access, to = now->network_access;

	if (check_changeable(p, err) < 0)
		return -1;
	if (to != from && !(from == NETWORK_PUBLIC && to == NETWORK_NONE))
		return refuse_change(err, "network_access",
				     "Open a session with that "
				     "network_access, and narrow it later.",
				     "network_access can only be taken away, "
				     "from a session that began with all "
				     "public hosts");
	if (host_rules_read(&p->policy->network_allow, &before, err) < 0 ||
	    host_rules_read(&now->network_allow, &after, err) < 0 ||
	    check_methods(now, &after, err) < 0)
		return -1;
	/* A new list would let the code use the limit again. */
	if (has_limit(&before) || has_limit(&after))
		return refuse_change(err, "network_allow",
				     "List hosts without bytes= and "
				     "connections=.",
				     "an entry has a limit for the whole "
				     "session");
	return 0;
}

static void
set_network_row(struct plan *p, enum field_id field, const char *note)
{
	struct plan_row *row = &p->rows[field];

	row->present = true;
	row->strength = STRENGTH_ENFORCED;
	row->mechanisms |= MECH(NETWORK_NAMESPACE) | MECH(PROXY);
	snprintf(row->note, sizeof(row->note), "%s", note);
}

int
plan_change_network(struct plan *p, const struct policy *now,
		    struct remit_error *err)
{
	if (check_change(p, now, err) < 0)
		return -1;
	set_network_row(p, F_NETWORK_ALLOW,
			"changed while the session is open");
	if (now->network_access == NETWORK_NONE)
		set_network_row(p, F_NETWORK_ACCESS,
				"except the hosts of network_allow");
	p->policy = now;
	return 0;
}

/* ---- unix sockets and FIFOs ---- */

/* Returns why the code may not have unix sockets, or NULL. */
static const char *
lacks_unix_sockets(const struct plan *p)
{
	if (p->policy->network_access == NETWORK_HOST)
		return "with the host's network, abstract names would be the "
		       "host's";
	if (p->shares_paths)
		return "a folder of the host is mounted in mode ro or direct, "
		       "and code could connect to its sockets; mode overlay "
		       "prevents that";
	return NULL;
}

/*
 * Before ABI 9 Landlock does not restrict connecting to a socket that is a
 * file, and a read-only mount does not prevent it. So no mount may show a
 * directory of the host itself. A socket below an overlay cannot be connected
 * to: the kernel finds a socket by its inode, and the inodes of an overlay are
 * others.
 */
void
plan_decide_unix_sockets(struct plan *p)
{
	struct plan_row *row = &p->rows[F_SUBPROCESS_EXECUTION];
	size_t used = strlen(row->note);
	const char *why = lacks_unix_sockets(p);

	if (p->tier != TIER_LOCAL || !p->policy->subprocess_execution)
		return;
	if (!why)
		p->filter |= PLAN_FILTER_UNIX;
	snprintf(row->note + used, sizeof(row->note) - used, "; %s%s",
		 why ? "no unix sockets and FIFOs: "
		     : "unix sockets and FIFOs inside the jail",
		 why ? why : "");
}

static int
check_client_proxy(const struct plan *p, struct remit_error *err)
{
	struct host_rules rules;
	struct address own;

	if (!names_hosts(p->policy) &&
	    p->policy->network_access != NETWORK_PUBLIC)
		return fail_refused(err, "network_proxy",
				    "List hosts in network_allow, or leave "
				    "network_proxy out.",
				    "the policy allows no host that a proxy "
				    "could connect to");
	if (host_rules_read(&p->policy->network_allow, &rules, err) < 0 ||
	    address_read(HOST_PROXY_ADDRESS, &own) < 0)
		return -1;
	if (host_rules_address_port(&rules, &own, HOST_PROXY_PORT))
		return fail_refused(err, "network_proxy",
				    "Leave network_proxy or that entry out.",
				    "network_allow lists " HOST_PROXY_ADDRESS
				    ":%d, which is the address of the proxy",
				    HOST_PROXY_PORT);
	return 0;
}

int
plan_check_proxy(const struct plan *p, struct remit_error *err)
{
	if (p->policy->network_proxy && check_client_proxy(p, err) < 0)
		return -1;
	if (p->policy->credentials.count && !tiers[p->tier].jailed)
		return fail_refused(
			err, "credentials", "Use the tier local.",
			"the tier \"%s\" has no proxy that could add them",
			tiers[p->tier].name);
	return 0;
}

/* ---- credentials ---- */

static int
check_entry(const struct credential *c, const struct host_rule *r,
	    struct remit_error *err)
{
	if (r->kind == HOST_TCP)
		return fail_refused(err, "credentials",
				    "If the host serves HTTP at this port, add "
				    "the word tls or plain to its entry.",
				    "%s:%u is an entry for any protocol, and a "
				    "header can be added only to HTTP",
				    c->host, r->port);
	if (!r->name[0] && address_class(&r->address) == ADDRESS_PUBLIC)
		return fail_refused(
			err, "credentials",
			"Use an address of this machine or of your site.",
			"%s is a public address, and a header sent to it "
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
				"Write HOST:PORT:HEADER=... for each port that "
				"needs it.",
				"network_allow lists %s at port %u and port "
				"%u, and the credential names no port",
				c->host, found->port, rules->rows[i].port);
		found = &rules->rows[i];
	}
	if (found)
		return 0;
	return fail_refused(err, "credentials",
			    "Add this host to network_allow.",
			    "network_allow has no entry for exactly %s%s",
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
