/*
 * e2b_network: changes the network of a live sandbox, within its key's policy.
 */
#include <string.h>

#include "policy/fields/field.h"
#include "serve/e2b/part.h"
#include "serve/e2b/policy.h"
#include "serve/native/request.h"

struct changing {
	struct exchange *x;
	struct sandbox *sb;
	char *policy_text; /* only the fields of hosts */
	json_t *wishes;	   /* what a later sandbox is made with */
	bool has_network;
};

static void
changing_free(void *changing)
{
	struct changing *c = changing;

	sandbox_unref(c->sb);
	free(c->policy_text);
	json_decref(c->wishes);
	free(c);
}

/* Returns the request in the form of one that makes a sandbox: there, all
   members but one are in "network". */
static json_t *
as_made(const json_t *body)
{
	static const char access[] = "allow_internet_access";
	json_t *network = json_copy((json_t *)body);
	json_t *value = json_object_get(body, access);
	json_t *made = json_object();

	json_object_del(network, access);
	if (json_object_set_new(made, "network", network) == 0 &&
	    (!value || json_object_set(made, access, value) == 0))
		return made;
	json_decref(made);
	return NULL;
}

/* The decision about the network replaces the former one as a whole. */
static json_t *
change_wishes(const json_t *before, const json_t *made)
{
	json_t *wishes = json_copy((json_t *)before);

	json_object_del(wishes, "network");
	json_object_del(wishes, "allow_internet_access");
	if (wishes && json_object_update(wishes, (json_t *)made) == 0)
		return wishes;
	json_decref(wishes);
	return NULL;
}

static char *
hosts_text(const struct policy *p)
{
	static const enum field_id both[] = { F_NETWORK_ACCESS,
					      F_NETWORK_ALLOW };
	json_auto_t *doc = json_object();

	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		if (json_object_set_new(doc, fields[both[i]].name,
					field_to_json(p, &fields[both[i]])) < 0)
			return NULL;
	return json_dumps(doc, JSON_COMPACT);
}

/* The policy is made as for a new sandbox, by the same checks. */
static int
read_change(struct changing *c, const json_t *made, struct remit_error *err)
{
	own(e2b_policy) struct e2b_policy wanted = { 0 };
	own(policy) struct policy policy = { 0 };
	own_mem char *whole = NULL;
	const struct key *key = c->sb->key;

	if (e2b_policy_read(&wanted, made,
			    key->policy.network_access >= NETWORK_PUBLIC,
			    &key->policy.network_allow, err) < 0)
		return -1;
	if (json_array_size(wanted.credentials))
		return fail_refused(err, "network.rules",
				    "Make another sandbox with these headers.",
				    "headers cannot be added to a sandbox that "
				    "exists");
	if (request_policy(json_object_size(wanted.policy) ? wanted.policy
							   : NULL,
			   key, &policy, &whole, err) < 0)
		return -1;
	c->has_network = policy.network_access >= NETWORK_PUBLIC ||
			 policy.network_allow.count;
	c->policy_text = hosts_text(&policy);
	return c->policy_text ? 0 : fail_memory(err, "network");
}

/* Called in the thread of the sandbox's session, one call at a time. */
static int
changing_visit(void *user, struct remit_session *session,
	       struct remit_error *err)
{
	struct changing *c = user;
	struct e2b *e = c->x->server->e2b;

	if (remit_session_network(session, c->policy_text, err) < 0)
		return -1;
	pthread_mutex_lock(&e->lock);
	json_decref(c->sb->wishes);
	c->sb->wishes = take_ptr(&c->wishes);
	c->sb->has_network = c->has_network;
	c->sb->enforcement_sent = false;
	pthread_mutex_unlock(&e->lock);
	return 0;
}

static void
changing_on_done(void *user, struct remit_result *res,
		 const struct remit_error *err)
{
	struct changing *c = user;
	struct exchange *x = c->x;

	(void)res;
	if (err)
		e2b_error(x, err);
	else
		reply_bytes(x, 204, NULL, "", 0);
	exchange_unref(x);
}

/* Wishes are never changed, only replaced. */
static json_t *
current_wishes(const struct changing *c)
{
	struct e2b *e = c->x->server->e2b;
	json_t *wishes;

	pthread_mutex_lock(&e->lock);
	wishes = json_incref(c->sb->wishes);
	pthread_mutex_unlock(&e->lock);
	return wishes;
}

static int
changing_begin(struct changing *c, struct remit_error *err)
{
	static const struct hosted_events events = {
		.visit = changing_visit,
		.result = changing_on_done,
	};
	json_auto_t *none = json_object();
	json_auto_t *made = as_made(c->x->json ? c->x->json : none);
	json_auto_t *before = current_wishes(c);

	c->wishes = made ? change_wishes(before, made) : NULL;
	if (!c->wishes)
		return fail_memory(err, "network");
	if (read_change(c, made, err) < 0)
		return -1;
	exchange_ref(c->x);
	if (hosted_visit(c->sb->hosted, false, &events, c, err) == 0)
		return 0;
	exchange_unref(c->x);
	return -1;
}

void
e2b_put_network(struct exchange *x)
{
	struct snapshot_info paused;
	struct remit_error err;
	struct sandbox *sb;
	struct changing *c;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused)) {
		e2b_fail(x, 409,
			 "the sandbox is paused: connect to it, then change "
			 "its network");
		return;
	}
	sb = e2b_find_named(x);
	if (!sb)
		return;
	c = calloc(1, sizeof(*c));
	if (!c) {
		sandbox_unref(sb);
		e2b_fail(x, 500, "no memory");
		return;
	}
	*c = (struct changing){ .x = x, .sb = sb };
	exchange_own(x, c, changing_free);
	if (changing_begin(c, &err) < 0)
		e2b_error(x, &err);
}
