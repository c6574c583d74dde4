#include "serve/e2b/policy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file/path.h"
#include "policy/rules/host_rule.h"
#include "serve/e2b/request.h"

/* How E2B writes "all traffic". */
static const char *const all_traffic[] = { "0.0.0.0/0", "::/0" };

static int
refuse_member(struct remit_error *err, const char *field, const char *why)
{
	return fail_refused(err, field, "Leave it out.", "%s", why);
}

/* ---- features that are not supported ---- */

static bool
is_set(const json_t *value)
{
	if (json_is_object(value))
		return json_object_size(value) > 0;
	if (json_is_array(value))
		return json_array_size(value) > 0;
	return json_is_true(value) || json_is_string(value) ||
	       json_is_number(value);
}

static int
check_unsupported(const json_t *body, struct remit_error *err)
{
	static const struct {
		const char *name, *why;
	} impossible[] = {
		{ "volumeMounts", "there are no volumes here; the server's "
				  "policy can give folders (--mount)" },
		{ "mcp", "there is no MCP gateway inside a sandbox here" },
		{ "iam", "there are no identities for sandboxes here" },
	};
	const json_t *resume = json_object_get(body, "autoResume");

	for (size_t i = 0; i < ARRAY_LEN(impossible); i++)
		if (is_set(json_object_get(body, impossible[i].name)))
			return refuse_member(err, impossible[i].name,
					     impossible[i].why);
	if (json_is_true(json_object_get(resume, "enabled")))
		return refuse_member(err, "autoResume",
				     "a sandbox is paused without its memory, "
				     "so only connect() resumes it");
	return 0;
}

bool
e2b_is_template(const char *name)
{
	static const char *const known[] = { "base", "code-interpreter-v1",
					     "code-interpreter-beta" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

static int
check_template(const json_t *body, struct remit_error *err)
{
	const char *name =
		json_string_value(json_object_get(body, "templateID"));

	if (!name || e2b_is_template(name))
		return 0;
	return refuse_member(err, "templateID",
			     "the only template here is code-interpreter-v1: "
			     "the server's own interpreter and packages");
}

/* ---- the network ---- */

/* The network settings of a request. */
struct network {
	const json_t *allow, *deny, *rules;
	const struct list *hosts; /* listed in the server's policy */
	bool is_open;		  /* the whole network is allowed */
};

static bool
is_all_traffic(const char *text)
{
	return text &&
	       (!strcmp(text, all_traffic[0]) || !strcmp(text, all_traffic[1]));
}

static bool
has_all_traffic(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (is_all_traffic(json_string_value(item)))
			return true;
	}
	return false;
}

/* "*.b.test" matches every name below b.test. */
static bool
pattern_covers(const char *pattern, const char *host)
{
	size_t n = strlen(host), m = strlen(pattern);

	if (strncmp(pattern, "*.", 2) != 0)
		return !strcasecmp(pattern, host);
	return n >= m && !strcasecmp(host + n - (m - 1), pattern + 1);
}

/* Adds an entry unless it is in the list. */
static int
add_entry(json_t *list, const char *entry)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (!strcasecmp(json_string_value(item), entry))
			return 0;
	}
	return json_array_append_new(list, json_string(entry));
}

static bool
entry_is_for(const char *entry, const char *host)
{
	size_t n = strlen(host);

	return !strncasecmp(entry, host, n) && entry[n] == ':';
}

/* Adds the entries of the server's policy for this host. If it has none, allows
   ports 443 and 80: E2B filters by name on these ports, and Remit allows no
   others. */
static int
add_host(json_t *list, const char *given, const struct list *hosts)
{
	static const char *const ports[] = { "443", "80" };
	char host[260], entry[280];
	bool is_named = false;
	int n = snprintf(host, sizeof(host), strchr(given, ':') ? "[%s]" : "%s",
			 given);

	if (n < 1 || (size_t)n >= sizeof(host))
		return -1;
	for (size_t i = 0; i < hosts->count; i++) {
		if (!entry_is_for(hosts->items[i], host))
			continue;
		is_named = true;
		if (add_entry(list, hosts->items[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < 2 && !is_named; i++) {
		snprintf(entry, sizeof(entry), "%s:%s", host, ports[i]);
		if (add_entry(list, entry) < 0)
			return -1;
	}
	return 0;
}

static int
add_hosts(json_t *list, const struct network *n, struct remit_error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(n->allow, i, item)
	{
		const char *host = json_string_value(item);

		if (!host || strlen(host) != json_string_length(item))
			return fail(err, REMIT_E_INPUT,
				    "network.allowOut[%zu]: must be a string",
				    i);
		if (is_all_traffic(host))
			continue; /* allowed, but not required */
		if (strchr(host, '/') || !strcmp(host, "*"))
			return refuse_member(
				err, "network.allowOut",
				"address ranges cannot be allowed: list hosts "
				"or single addresses");
		if (add_host(list, host, n->hosts) < 0)
			return fail(err, REMIT_E_INPUT,
				    "network.allowOut[%zu]: is not a host name",
				    i);
	}
	return 0;
}

/* ---- headers ---- */

/* Whether the host is allowed at all. */
static bool
is_allowed(const struct network *n, const char *host)
{
	const json_t *item;
	size_t i;

	if (n->is_open)
		return true;
	json_array_foreach(n->allow, i, item)
	{
		const char *named = json_string_value(item);

		if (named &&
		    (is_all_traffic(named) || pattern_covers(named, host)))
			return true;
	}
	return false;
}

static int
add_credential(struct e2b_policy *p, const char *host, int port,
	       const char *header, const char *from)
{
	return json_array_append_new(p->credentials,
				     json_pack("{s:s, s:i, s:s, s:s}", "host",
					       host, "port", port, "header",
					       header, "from", from));
}

/* Adds a credential for each HTTP entry of the server's policy for this host;
   if there is none, for port 443 only: on port 80 it would be sent
   unencrypted. */
static int
add_credentials(struct e2b_policy *p, const char *host,
		const struct list *hosts, const char *header, const char *from)
{
	struct remit_error unreadable;
	struct host_rule r;
	bool is_named = false;
	char text[260];

	snprintf(text, sizeof(text), strchr(host, ':') ? "[%s]" : "%s", host);
	for (size_t i = 0; i < hosts->count; i++) {
		if (!entry_is_for(hosts->items[i], text) ||
		    host_rule_read(hosts->items[i], &r, &unreadable) < 0 ||
		    r.kind == HOST_TCP)
			continue;
		is_named = true;
		if (add_credential(p, host, r.port, header, from) < 0)
			return -1;
	}
	return is_named ? 0 : add_credential(p, host, 443, header, from);
}

static int
parse_header(struct e2b_policy *p, const char *host, const struct list *hosts,
	     const char *header, const json_t *value, struct remit_error *err)
{
	const char *text = json_string_value(value);
	char name[32], from[48];

	if (!text || strlen(text) != json_string_length(value))
		return fail(err, REMIT_E_INPUT,
			    "network.rules: the header %.64s for %.200s must "
			    "be a string",
			    header, host);
	if (strstr(text, "${e2b."))
		return refuse_member(
			err, "network.rules",
			"sandboxes have no identities here, so a header cannot "
			"contain the token of one");
	snprintf(name, sizeof(name), "RULE_%zu",
		 json_object_size(p->secrets) + 1);
	snprintf(from, sizeof(from), "given:%s", name);
	if (add_credentials(p, host, hosts, header, from) < 0 ||
	    json_object_set_new(p->secrets, name, json_string(text)) < 0)
		return fail_memory(err, "network.rules");
	return 0;
}

static int
check_only_member(const json_t *object, const char *member,
		  struct remit_error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return fail(err, REMIT_E_INPUT,
			    "network.rules: a rule must be an object");
	json_object_foreach((json_t *)object, name, value)
	{
		if (strcmp(name, member) != 0 && !json_is_null(value))
			return refuse_member(
				err, "network.rules",
				"a rule can only add headers to requests");
	}
	return 0;
}

static int
parse_rule(struct e2b_policy *p, const char *host, const struct list *hosts,
	   const json_t *rule, struct remit_error *err)
{
	json_t *transform = json_object_get(rule, "transform"), *headers,
	       *value;
	const char *header;

	if (check_only_member(rule, "transform", err) < 0)
		return -1;
	if (!transform || json_is_null(transform))
		return 0;
	if (check_only_member(transform, "headers", err) < 0)
		return -1;
	headers = json_object_get(transform, "headers");
	json_object_foreach(headers, header, value)
	{
		if (parse_header(p, host, hosts, header, value, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds the hosts that have headers; such a host must not be a wildcard. */
static int
parse_rules(struct e2b_policy *p, json_t *list, const struct network *n,
	    struct remit_error *err)
{
	const char *host;
	json_t *rules, *rule;
	size_t i;

	json_object_foreach((json_t *)n->rules, host, rules)
	{
		size_t before = json_object_size(p->secrets);

		if (!json_is_array(rules))
			return fail(
				err, REMIT_E_INPUT,
				"network.rules: each host must have a list");
		json_array_foreach(rules, i, rule)
		{
			if (parse_rule(p, host, n->hosts, rule, err) < 0)
				return -1;
		}
		if (json_object_size(p->secrets) == before)
			continue;
		if (json_object_size(p->secrets) > before + 1)
			return refuse_member(
				err, "network.rules",
				"only one header per host is supported: let "
				"the code send headers that are not secret");
		if (strpbrk(host, "*/"))
			return refuse_member(
				err, "network.rules",
				"headers are possible only for single hosts, "
				"by name or address");
		if (!is_allowed(n, host))
			return refuse_member(err, "network.rules",
					     "a host with headers must be "
					     "listed in allowOut");
		if (add_host(list, host, n->hosts) < 0)
			return fail(err, REMIT_E_INPUT,
				    "network.rules: is not a host name");
	}
	return 0;
}

/* ---- the workspace ---- */

static bool
overlap(const char *a, const char *b)
{
	return path_lies_in(a, b) || path_lies_in(b, a);
}

static bool
list_overlaps_home(const struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (overlap(l->items[i], SANDBOX_HOME))
			return true;
	return false;
}

static bool
mounts_overlap_home(const struct policy *p)
{
	for (size_t i = 0; i < p->mounts.count; i++)
		if (overlap(p->mounts.items[i].jail, SANDBOX_HOME))
			return true;
	return list_overlaps_home(&p->filesystem_read_roots) ||
	       list_overlaps_home(&p->filesystem_write_roots);
}

bool
e2b_policy_can_move_home(const struct policy *p)
{
	const struct list *aliases = &p->workspace_aliases;
	bool is_alias = list_has(aliases, SANDBOX_HOME);

	return tiers[p->tier].jailed && !tiers[p->tier].bare &&
	       !overlap(p->workspace, SANDBOX_HOME) &&
	       (is_alias || !list_overlaps_home(aliases)) &&
	       aliases->count < FIELD_MAX_ENTRIES && !mounts_overlap_home(p);
}

/* The workspace and an alias of this name change places. */
int
e2b_policy_move_home(struct policy *p, struct remit_error *err)
{
	struct list *aliases = &p->workspace_aliases;
	own(list) struct list old = *aliases;
	own_mem char *before = p->workspace;

	*aliases = (struct list){ 0 };
	p->workspace = strdup(SANDBOX_HOME);
	if (!p->workspace || list_add(aliases, before) < 0)
		return fail_memory(err, "policy");
	for (size_t i = 0; i < old.count; i++)
		if (strcmp(old.items[i], SANDBOX_HOME) != 0 &&
		    list_add(aliases, old.items[i]) < 0)
			return fail_memory(err, "policy");
	return 0;
}

/* ---- all of it ---- */

static int
check_network(const json_t *network, const struct network *n,
	      struct remit_error *err)
{
	static const struct {
		const char *name, *why; /* NULL: supported */
	} members[] = {
		{ "allowOut", NULL },
		{ "denyOut", NULL },
		{ "rules", NULL },
		{ "allowPublicTraffic", NULL },
		{ "egressProxy", "connections cannot use another proxy" },
		{ "maskRequestHost",
		  "servers inside the sandbox get the Host header that the "
		  "client sent" },
		{ "httpsPorts",
		  "connections to servers inside the sandbox have no TLS" },
		{ "dnsServers", "names are resolved by the server's machine" },
	};
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)network, name, value)
	{
		const char *why = "this is not supported here";

		for (size_t i = 0; i < ARRAY_LEN(members); i++)
			if (!strcmp(members[i].name, name))
				why = members[i].why;
		if (why && is_set(value))
			return refuse_member(err, name, why);
	}
	if (json_array_size(n->deny) && !has_all_traffic(n->deny) &&
	    (n->is_open || (n->hosts->count && !json_array_size(n->allow))))
		return refuse_member(
			err, "network.denyOut",
			"single hosts cannot be denied while this server's "
			"policy allows more: deny 0.0.0.0/0 and allow the "
			"hosts that are needed");
	return 0;
}

/* A value of the wrong type would otherwise be ignored, and not restrict
   anything. */
static int
check_types(const json_t *body, const struct network *n,
	    struct remit_error *err)
{
	const json_t *network = json_object_get(body, "network");
	const json_t *access = json_object_get(body, "allow_internet_access");
	const json_t *traffic = json_object_get(network, "allowPublicTraffic");
	const struct {
		const char *name;
		const json_t *value;
		bool is_right;
	} all[] = {
		{ "network", network, json_is_object(network) },
		{ "network.allowOut", n->allow, json_is_array(n->allow) },
		{ "network.denyOut", n->deny, json_is_array(n->deny) },
		{ "network.rules", n->rules, json_is_object(n->rules) },
		{ "network.allowPublicTraffic", traffic,
		  json_is_boolean(traffic) },
		{ "allow_internet_access", access, json_is_boolean(access) },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].value && !json_is_null(all[i].value) &&
		    !all[i].is_right)
			return fail(err, REMIT_E_INPUT,
				    "%s: has the wrong type", all[i].name);
	return 0;
}

/* Keeps the hosts of the server's policy, where none are denied. */
static int
keep_hosts(json_t *list, const struct network *n, struct remit_error *err)
{
	for (size_t i = 0; i < n->hosts->count; i++)
		if (add_entry(list, n->hosts->items[i]) < 0)
			return fail_memory(err, "network");
	return 0;
}

/* Adds no network that the server's policy does not have: allowing a host does
   not request the network. */
static int
parse_network(struct e2b_policy *p, const json_t *body, bool open,
	      const struct list *hosts, struct remit_error *err)
{
	const json_t *network = json_object_get(body, "network");
	struct network n = { .allow = json_object_get(network, "allowOut"),
			     .deny = json_object_get(network, "denyOut"),
			     .rules = json_object_get(network, "rules"),
			     .hosts = hosts };
	bool denied =
		json_is_false(json_object_get(body, "allow_internet_access")) ||
		has_all_traffic(n.deny);
	json_auto_t *list = json_array();

	n.is_open = open && !denied;
	/* If the whole network is allowed, hosts need not be listed. */
	if (check_types(body, &n, err) < 0 ||
	    check_network(network, &n, err) < 0 ||
	    (!n.is_open && add_hosts(list, &n, err) < 0))
		return -1;
	if ((n.is_open || has_all_traffic(n.allow)) && !denied &&
	    json_object_size(n.rules) && keep_hosts(list, &n, err) < 0)
		return -1;
	if (parse_rules(p, list, &n, err) < 0)
		return -1;
	/* The permission is about the internet: a jail's loopback stays. */
	if (denied && open)
		json_object_set_new(p->policy, "network_access", json_false());
	if (denied || json_array_size(list))
		json_object_set(p->policy, "network_allow", list);
	return 0;
}

int
e2b_policy_read(struct e2b_policy *out, const json_t *body, bool open,
		const struct list *hosts, struct remit_error *err)
{
	struct e2b_policy p = { json_object(), json_array(), json_object() };

	if (!p.policy || !p.credentials || !p.secrets)
		fail_memory(err, "policy");
	else if (check_template(body, err) == 0 &&
		 check_unsupported(body, err) == 0 &&
		 parse_network(&p, body, open, hosts, err) == 0) {
		*out = p;
		return 0;
	}
	e2b_policy_free(&p);
	return -1;
}

void
e2b_policy_free(struct e2b_policy *p)
{
	json_decref(p->policy);
	json_decref(p->credentials);
	json_decref(p->secrets);
	*p = (struct e2b_policy){ 0 };
}
