#include "e2b_policy.h"

#include <stdio.h>
#include <string.h>

/* All traffic, in E2B's words. */
static const char *const all_traffic[] = { "0.0.0.0/0", "::/0" };

static int
refuse(struct remit_error *err, const char *field, const char *why)
{
	return fail_refused(err, field, "Leave it out.", "%s", why);
}

/* ---- what a sandbox here cannot have ---- */

static bool
is_asked_for(const json_t *value)
{
	if (json_is_object(value))
		return json_object_size(value) > 0;
	if (json_is_array(value))
		return json_array_size(value) > 0;
	return json_is_true(value) || json_is_string(value) ||
	       json_is_number(value);
}

static int
check_wishes(const json_t *body, struct remit_error *err)
{
	static const struct {
		const char *name, *why;
	} impossible[] = {
		{ "autoPause", "a sandbox cannot be paused here" },
		{ "autoPauseMemory", "a sandbox cannot be paused here" },
		{ "volumeMounts", "there are no volumes here; folders are "
				  "given by the server's policy (--mount)" },
		{ "mcp", "there is no gateway inside of a sandbox here" },
		{ "iam", "there are no identities for sandboxes here" },
	};
	const json_t *resume = json_object_get(body, "autoResume");

	for (size_t i = 0; i < ARRAY_LEN(impossible); i++)
		if (is_asked_for(json_object_get(body, impossible[i].name)))
			return refuse(err, impossible[i].name,
				      impossible[i].why);
	if (json_is_true(json_object_get(resume, "enabled")))
		return refuse(err, "autoResume",
			      "a sandbox cannot be paused here");
	return 0;
}

static int
check_template(const json_t *body, struct remit_error *err)
{
	static const char *const known[] = { "base", "code-interpreter-v1",
					     "code-interpreter-beta" };
	const char *name =
		json_string_value(json_object_get(body, "templateID"));

	if (!name)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i]))
			return 0;
	return refuse(err, "templateID",
		      "there is one template here, code-interpreter-v1: the "
		      "server's own interpreter and packages");
}

/* ---- the network ---- */

static bool
is_all_traffic(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);

		for (size_t a = 0; text && a < 2; a++)
			if (!strcmp(text, all_traffic[a]))
				return true;
	}
	return false;
}

/* E2B looks at names on these ports; so does Remit, and lets no others. */
static int
allow_host(json_t *allow, const char *host)
{
	static const char *const ports[] = { "443", "80" };
	char entry[300];

	for (size_t i = 0; i < 2; i++) {
		int n = snprintf(entry, sizeof(entry), "%s:%s", host, ports[i]);

		if (n < 0 || (size_t)n >= sizeof(entry) ||
		    json_array_append_new(allow, json_string(entry)) < 0)
			return -1;
	}
	return 0;
}

static int
allow_hosts(json_t *policy, const json_t *list, struct remit_error *err)
{
	json_t *allow = json_array();
	const json_t *item;
	size_t i;

	json_object_set_new(policy, "network_allow", allow);
	json_array_foreach(list, i, item)
	{
		const char *host = json_string_value(item);

		if (!host)
			return fail(err, REMIT_E_INPUT,
				    "network.allowOut[%zu]: must be a string",
				    i);
		if (strchr(host, '/') || !strcmp(host, "*"))
			return refuse(err, "network.allowOut",
				      "ranges of addresses cannot be allowed: "
				      "name hosts or single addresses");
		if (allow_host(allow, host) < 0)
			return fail(err, REMIT_E_INPUT,
				    "network.allowOut[%zu]: no host name", i);
	}
	return 0;
}

static int
check_network(const json_t *network, bool open, struct remit_error *err)
{
	static const struct {
		const char *name, *why;
	} impossible[] = {
		{ "rules",
		  "headers are put into requests by the server's policy only "
		  "(--credential), which has their values" },
		{ "egressProxy", "connections go through no other proxy" },
		{ "maskRequestHost", "nothing inside can be connected to" },
	};
	const json_t *deny = json_object_get(network, "denyOut");

	for (size_t i = 0; i < ARRAY_LEN(impossible); i++)
		if (is_asked_for(json_object_get(network, impossible[i].name)))
			return refuse(err, impossible[i].name,
				      impossible[i].why);
	if (json_array_size(deny) && open && !is_all_traffic(deny))
		return refuse(err, "network.denyOut",
			      "this server's policy lets everything through, "
			      "and single hosts cannot be taken out of that: "
			      "deny 0.0.0.0/0 and allow those that are needed");
	return 0;
}

/* No network unless the server's policy has one: permission to use it is no
   wish for it. */
static int
take_network(json_t *policy, const json_t *body, bool open,
	     struct remit_error *err)
{
	const json_t *network = json_object_get(body, "network");
	const json_t *allow = json_object_get(network, "allowOut");
	bool denied =
		json_is_false(json_object_get(body, "allow_internet_access")) ||
		is_all_traffic(json_object_get(network, "denyOut"));

	if (check_network(network, open && !denied, err) < 0)
		return -1;
	if (denied)
		json_object_set_new(policy, "network_access", json_false());
	if (denied && !json_array_size(allow))
		json_object_set_new(policy, "network_allow", json_array());
	/* Where all is open already, nothing need be allowed. */
	if (!json_array_size(allow) || is_all_traffic(allow) ||
	    (open && !denied))
		return 0;
	return allow_hosts(policy, allow, err);
}

json_t *
e2b_policy(const json_t *body, bool has_network, struct remit_error *err)
{
	json_t *policy = json_object();

	if (!policy) {
		fail_sys(err, REMIT_E_MEMORY, "policy");
		return NULL;
	}
	if (check_template(body, err) == 0 && check_wishes(body, err) == 0 &&
	    take_network(policy, body, has_network, err) == 0)
		return policy;
	json_decref(policy);
	return NULL;
}
