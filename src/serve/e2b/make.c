/*
 * e2b_make: makes sandboxes as their clients specify, and of what is stored.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/snapshot/copy.h"
#include "policy/rules/credential.h"
#include "serve/e2b/part.h"
#include "serve/e2b/policy.h"
#include "serve/native/native.h"
#include "serve/native/request.h"

/* The default and the maximum lifetime, in seconds. */
#define LIFE	 300
#define LIFE_MAX (30 * 86400)

/* The maximum size of the names and values of metadata or variables, which the
   server keeps as long as the sandbox lives. */
#define STRINGS_MAX ((size_t)64 * 1024)

/* ---- the request ---- */

/* Parses an optional object of strings. */
static int
parse_strings(json_t **to, const json_t *body, const char *name,
	      struct remit_error *err)
{
	json_t *given = json_object_get(body, name), *value;
	const char *key;
	size_t bytes = 0;

	*to = json_object();
	if (!*to)
		return fail_memory(err, name);
	if (!given || json_is_null(given))
		return 0;
	if (!json_is_object(given) || json_object_size(given) > 256)
		return fail(err, REMIT_E_INPUT,
			    "%s: must be an object of at most 256 strings",
			    name);
	json_object_foreach(given, key, value)
	{
		if (!json_is_string(value) || !*key || strchr(key, '='))
			return fail(err, REMIT_E_INPUT,
				    "%s.%.40s: must be a string", name, key);
		bytes += strlen(key) + json_string_length(value);
	}
	if (bytes > STRINGS_MAX)
		return fail(err, REMIT_E_INPUT,
			    "%s: names and values together may have at most "
			    "%zu KiB",
			    name, STRINGS_MAX / 1024);
	return json_object_update(*to, given) < 0 ? fail_memory(err, name) : 0;
}

int
e2b_parse_life(const json_t *body, uint64_t *life_ms, struct remit_error *err)
{
	const json_t *value = json_object_get(body, "timeout");
	double seconds = json_number_value(value);

	if (!value || json_is_null(value)) {
		*life_ms = LIFE * UINT64_C(1000);
		return 0;
	}
	if (!json_is_number(value) || seconds < 0 || seconds > LIFE_MAX)
		return fail(err, REMIT_E_INPUT,
			    "timeout: must be a number of seconds up to %d",
			    LIFE_MAX);
	/* A lifetime of 0 would be unlimited. */
	*life_ms = seconds < 0.001 ? 1 : (uint64_t)(seconds * 1000);
	return 0;
}

/* Whether a sandbox with this policy can be forkable. It cannot if a copy would
   share processes, connections or folders with it. */
static bool
can_fork(const struct policy *p)
{
	return !p->subprocess_execution && p->network_access == NETWORK_NONE &&
	       !p->network_allow.count && !p->mounts.count &&
	       !p->filesystem_write_roots.count && p->tier == TIER_LOCAL;
}

/* Returns why no program in a jail with this policy can be reached, or NULL. */
static const char *
why_no_ports(const struct policy *p)
{
	if (!tiers[p->tier].jailed || tiers[p->tier].bare)
		return "its tier has no network that belongs to one sandbox "
		       "alone; use the tier local";
	if (p->network_access == NETWORK_HOST)
		return "it shares the network of the server's machine; start "
		       "the server with --net=loopback or --net instead of "
		       "--net=host";
	if (p->network_access == NETWORK_NONE && !p->network_allow.count)
		return "programs in it have no network, and cannot listen; "
		       "start the server with --net=loopback";
	return NULL;
}

static void
note_policy(struct sandbox *sb, const struct policy *p)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	sb->cpus = p->cpus && p->cpus != POLICY_UNLIMITED
			   ? p->cpus
			   : (uint64_t)(online > 0 ? online : 1);
	sb->memory_bytes = p->memory_bytes;
	sb->disk_bytes = p->disk_bytes;
	sb->input_bytes = p->input_bytes;
	sb->may_start_programs = p->subprocess_execution;
	sb->why_no_ports = why_no_ports(p);
	sb->has_network =
		p->network_access >= NETWORK_PUBLIC || p->network_allow.count;
}

struct making {
	struct exchange *x;
	struct sandbox *sb;
	struct hosted_options opt;
	char *policy_text;
	json_t *secrets; /* an object of strings */
	/* With the workspace where the server's policy has it, in case it
	   cannot be at /home/user here. NULL: policy_text is that. */
	char *unmoved_text;
	struct list unmoved_names;
	uint64_t life_ms;
	char stored[SNAPSHOT_ID_SIZE]; /* whose files it gets; "": none */
	bool resumes; /* it is a paused sandbox, of which one can be made */
};

/* Lets other requests resume the paused sandbox, unless this one has. */
static void
release_stored(struct making *m)
{
	if (m->resumes)
		snapshot_store_release(m->x->server->snapshots,
				       m->sb->key->name, m->stored);
	m->resumes = false;
}

static void
making_free(void *making)
{
	struct making *m = making;

	release_stored(m);
	sandbox_unref(m->sb);
	free(m->policy_text);
	free(m->unmoved_text);
	list_free(&m->unmoved_names);
	json_decref(m->secrets);
	free(m);
}

/* Adds the credentials of a client to those of the key. They are the client's
   own secrets, and the key's policy already limits the hosts. */
static int
add_credentials(struct making *m, struct policy *policy, const json_t *more,
		struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT((size_t)64 * 1024);
	const json_t *item;
	size_t i;

	json_array_foreach(more, i, item)
	{
		text.len = 0;
		if (credential_text(item, "network.rules", &text, err) < 0)
			return -1;
		if (list_add(&policy->credentials, buf_text(&text)) < 0)
			return fail_memory(err, "network.rules");
	}
	free(m->policy_text);
	m->policy_text = keys_policy_text(policy);
	return m->policy_text ? 0 : fail_memory(err, "policy");
}

static int
plan_policy(struct making *m, const json_t *body, struct policy *policy,
	    struct remit_error *err)
{
	own(e2b_policy) struct e2b_policy wanted = { 0 };
	const struct key *key = m->sb->key;

	if (e2b_policy_read(&wanted, body,
			    key->policy.network_access >= NETWORK_PUBLIC,
			    &key->policy.network_allow, err) < 0 ||
	    request_policy(json_object_size(wanted.policy) ? wanted.policy
							   : NULL,
			   key, policy, &m->policy_text, err) < 0)
		return -1;
	m->secrets = json_incref(wanted.secrets);
	return json_array_size(wanted.credentials)
		       ? add_credentials(m, policy, wanted.credentials, err)
		       : 0;
}

/* Lists all paths that lead to the workspace. In names that a client sends,
   /home/user is one of them in any case. */
static int
list_names(struct list *out, const struct policy *p, struct remit_error *err)
{
	if (list_add(out, p->workspace) < 0 ||
	    list_copy(out, &p->workspace_aliases) < 0 ||
	    (!list_has(out, SANDBOX_HOME) && list_add(out, SANDBOX_HOME) < 0))
		return fail_memory(err, "policy");
	return 0;
}

static int
place_workspace(struct making *m, struct policy *policy,
		struct remit_error *err)
{
	own(list) struct list names = { 0 };

	if (e2b_policy_can_move_home(policy)) {
		if (list_names(&m->unmoved_names, policy, err) < 0 ||
		    e2b_policy_move_home(policy, err) < 0)
			return -1;
		m->unmoved_text = m->policy_text;
		m->policy_text = keys_policy_text(policy);
		if (!m->policy_text)
			return fail_memory(err, "policy");
	}
	if (list_names(&names, policy, err) < 0)
		return -1;
	return sandbox_set_names(m->sb, &names) < 0 ? fail_memory(err, "policy")
						    : 0;
}

/* Returns false if the workspace was not moved. */
static bool
leave_workspace(struct making *m)
{
	if (!m->unmoved_text || sandbox_set_names(m->sb, &m->unmoved_names) < 0)
		return false;
	free(m->policy_text);
	m->policy_text = take_ptr(&m->unmoved_text);
	return true;
}

/* The members of a request that the server stores with a sandbox. */
static const char *const kept_wishes[] = { "network",	"allow_internet_access",
					   "metadata",	"envVars",
					   "autoPause", "autoPauseMemory" };

static int
keep_wishes(struct sandbox *sb, const json_t *body, struct remit_error *err)
{
	sb->wishes = json_object();
	for (size_t i = 0; i < ARRAY_LEN(kept_wishes); i++) {
		json_t *value = json_object_get(body, kept_wishes[i]);

		if (value &&
		    json_object_set(sb->wishes, kept_wishes[i], value) < 0)
			return fail_memory(err, "sandbox");
	}
	return sb->wishes ? 0 : fail_memory(err, "sandbox");
}

/* Decides whether the sandbox is paused when its life ends. */
static int
plan_end(struct making *m, const json_t *body, struct remit_error *err)
{
	const json_t *pauses = json_object_get(body, "autoPause");
	struct sandbox *sb = m->sb;

	if (pauses && !json_is_null(pauses) && !json_is_boolean(pauses))
		return fail(err, REMIT_E_INPUT, "autoPause: must be a boolean");
	sb->has_secrets = json_object_size(m->secrets);
	sb->pauses_at_end = json_is_true(pauses);
	if (!sb->pauses_at_end)
		return 0;
	if (sb->has_secrets)
		return fail_refused(err, "autoPause", "Leave it out.",
				    "a sandbox with headers in network.rules "
				    "cannot be paused: they would be stored");
	/* A paused sandbox may have been made under other server options. */
	if (m->resumes)
		return 0;
	return e2b_check_storing(m->x->server, body, "autoPauseMemory", err);
}

/* Fills the options of the hosted session. */
static int
plan_sandbox(struct making *m, const json_t *body, struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	struct hosted_options *opt = &m->opt;
	struct sandbox *sb = m->sb;

	if (plan_policy(m, body, &policy, err) < 0 ||
	    place_workspace(m, &policy, err) < 0 ||
	    e2b_parse_life(body, &m->life_ms, err) < 0 ||
	    parse_strings(&sb->metadata, body, "metadata", err) < 0 ||
	    parse_strings(&sb->env, body, "envVars", err) < 0 ||
	    plan_end(m, body, err) < 0 || keep_wishes(sb, body, err) < 0)
		return -1;
	note_policy(sb, &policy);
	opt->life_ms = sb->pauses_at_end ? 0 : m->life_ms;
	opt->owner = sb->key->name;
	opt->forkable = can_fork(&policy);
	opt->commands = policy.subprocess_execution;
	opt->watches = true;
	sb->has_public_ports = !json_is_false(json_object_get(
		json_object_get(body, "network"), "allowPublicTraffic"));
	opt->ports = m->x->server->sandbox_ports != PORTS_CLOSED &&
		     !sb->why_no_ports;
	opt->memory_bytes = policy.memory_bytes;
	opt->result_bytes = policy_result_bytes(&policy);
	return 0;
}

/* ---- making one ---- */

/* Memory lent to the hosted session. */
struct lent {
	char *policy_text;
	json_t *values; /* the values of the secrets */
	struct remit_secret secrets[CREDENTIALS_MAX];
};

static void
lent_free(void *lent)
{
	struct lent *l = lent;

	if (!l)
		return;
	free(l->policy_text);
	json_decref(l->values);
	free(l);
}

/* Returns NULL if memory is exhausted. */
static struct lent *
lend_policy(struct making *m)
{
	struct lent *l = calloc(1, sizeof(*l));
	const char *name;
	json_t *value;

	if (!l)
		return NULL;
	l->values = json_incref(m->secrets);
	m->opt.secret_count = 0;
	json_object_foreach(l->values, name, value)
	{
		if (m->opt.secret_count < CREDENTIALS_MAX)
			l->secrets[m->opt.secret_count++] =
				(struct remit_secret){ name, json_string_value(
								     value) };
	}
	l->policy_text = strdup(m->policy_text);
	m->opt.policy_json = l->policy_text;
	m->opt.secrets = l->secrets;
	m->opt.loan = (struct hosted_loan){ lent_free, l };
	if (l->policy_text)
		return l;
	lent_free(l);
	return NULL;
}

static void making_on_made(void *user, struct remit_result *res,
			   const struct remit_error *err);
static const struct hosted_events made_events = { .result = making_on_made };

static int
open_hosted(struct making *m, const struct hosted_events *ev, void *user,
	    struct remit_error *err)
{
	struct lent *lent = lend_policy(m);

	if (!lent)
		return fail_memory(err, "policy");
	if (hosted_open(m->x->server->hosted_table, &m->opt, ev, user,
			&m->sb->hosted, err) == 0)
		return 0;
	lent_free(lent);
	return -1;
}

static void
making_on_gone(void *user)
{
	struct making *m = user;

	(void)sandbox_kill(m->x, m->sb);
}

static void
drop_hosted(struct making *m)
{
	struct e2b *e = m->x->server->e2b;
	struct hosted *r;

	pthread_mutex_lock(&e->lock);
	r = take_ptr(&m->sb->hosted);
	pthread_mutex_unlock(&e->lock);
	hosted_unref(r);
}

/* Gives up something that sandboxes have only where it is possible. Returns
   false if that cannot be the reason of the error. */
static bool
making_adapts(struct making *m, const struct remit_error *err)
{
	/* On a host that cannot fork sessions, sandboxes are made without
	   it. */
	if (m->opt.forkable && !strcmp(err->where, "forkable")) {
		m->opt.forkable = false;
		return true;
	}
	/* The server's interpreter may be in /home/user. */
	return (!strcmp(err->where, fields[F_WORKSPACE].name) ||
		!strcmp(err->where, fields[F_WORKSPACE_ALIASES].name)) &&
	       leave_workspace(m);
}

/* ---- files that it begins with ---- */

static int
making_visit(void *user, struct remit_session *session, struct remit_error *err)
{
	struct making *m = user;
	struct snapshot_reader *r;
	uint64_t piece = m->sb->input_bytes;
	int failed;

	if (snapshot_reader_open(&r, m->x->server->snapshots, m->sb->key->name,
				 m->stored, err) < 0)
		return -1;
	failed = snapshot_restore(session, r, (size_t)piece, err);
	snapshot_reader_free(r);
	return failed;
}

/* Releases the paused sandbox before the reply, since the client may repeat its
   request at once. */
static void
making_fail(struct making *m, const struct remit_error *err)
{
	release_stored(m);
	e2b_error(m->x, err);
}

static void
making_reply(struct making *m)
{
	struct sandbox *sb = m->sb;
	struct exchange *x = m->x;

	if (!sb->id[0])
		snprintf(sb->id, sizeof(sb->id), "%s", hosted_id(sb->hosted));
	if (sb->pauses_at_end)
		sandbox_set_life(x->server->e2b, sb, m->life_ms);
	if (m->resumes) {
		/* The live sandbox replaces the stored one. */
		m->resumes = false;
		snapshot_store_remove(x->server->snapshots, sb->key->name,
				      m->stored);
	}
	sandbox_add(x, sb);
	reply_json(x, 201, e2b_made_json(sb));
}

static void
making_on_restored(void *user, struct remit_result *res,
		   const struct remit_error *err)
{
	struct making *m = user;

	(void)res;
	if (err) {
		hosted_drop(m->sb->hosted);
		making_fail(m, err);
	} else {
		making_reply(m);
	}
	exchange_unref(m->x);
}

static void
making_on_made(void *user, struct remit_result *res,
	       const struct remit_error *err)
{
	static const struct hosted_events restoring = {
		.visit = making_visit,
		.result = making_on_restored,
	};
	struct making *m = user;
	struct remit_error again;

	(void)res;
	if (err && making_adapts(m, err)) {
		drop_hosted(m);
		if (open_hosted(m, &made_events, m, &again) == 0)
			return;
		err = &again;
	}
	if (!err && m->stored[0]) {
		if (hosted_visit(m->sb->hosted, false, &restoring, m, &again) <
		    0)
			making_on_restored(m, NULL, &again);
		return;
	}
	if (err)
		making_fail(m, err);
	else
		making_reply(m);
	exchange_unref(m->x);
}

/* Returns NULL if memory is exhausted. */
static struct making *
making_new(struct exchange *x, struct key *key)
{
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->x = x;
	m->sb = sandbox_new(key);
	if (m->sb)
		return m;
	free(m);
	return NULL;
}

/* Makes the sandbox that a body describes. The exchange owns the making. */
static void
making_begin(struct making *m, const json_t *body)
{
	struct exchange *x = m->x;
	struct remit_error err;
	bool resumes;

	if (plan_sandbox(m, body, &err) < 0 ||
	    native_check_limits(x, m->opt.memory_bytes, &err) < 0) {
		making_fail(m, &err);
		return;
	}
	resumes = m->resumes;
	exchange_ref(x);
	if (open_hosted(m, &made_events, m, &err) < 0) {
		making_on_made(m, NULL, &err);
		return;
	}
	/* Resume a paused sandbox even if its client is gone: its files would
	   be lost if a late disconnection ended the resumed sandbox. */
	if (!resumes)
		exchange_on_gone(x, making_on_gone, m);
}

/* Returns the request's body, completed by the wishes that were stored with the
   snapshot that it names; NULL after a failure. */
static json_t *
complete_body(struct making *m, const json_t *body,
	      const struct snapshot_info *info, struct remit_error *err)
{
	json_auto_t *about =
		e2b_stored_about(m->x->server, m->sb->key->name, info->id, err);
	const json_t *wishes = json_object_get(about, "wishes");
	json_t *whole = about ? json_copy((json_t *)body) : NULL;

	if (!whole)
		return about ? (fail_memory(err, "sandbox"), NULL) : NULL;
	json_object_del(whole, "templateID");
	if (!json_object_get(body, "envVars"))
		json_object_set(whole, "envVars",
				json_object_get(wishes, "envVars"));
	/* Both members express one decision, so inherit both or neither. */
	if (!json_object_get(body, "network") &&
	    !json_object_get(body, "allow_internet_access")) {
		json_object_set(whole, "network",
				json_object_get(wishes, "network"));
		json_object_set(
			whole, "allow_internet_access",
			json_object_get(wishes, "allow_internet_access"));
	}
	memcpy(m->stored, info->id, sizeof(m->stored));
	memcpy(m->sb->template, info->id, sizeof(m->sb->template));
	return whole;
}

void
e2b_post_sandbox(struct exchange *x)
{
	const char *template = e2b_request_text(x->json, "templateID");
	struct making *m = making_new(x, x->key);
	json_auto_t *body = NULL;
	struct snapshot_info info;
	struct remit_error err;

	if (!m) {
		e2b_fail(x, 500, "no memory");
		return;
	}
	exchange_own(x, m, making_free);
	if (!template || e2b_is_template(template)) {
		making_begin(m, x->json);
		return;
	}
	if (!e2b_find_stored(x, SNAPSHOT_TEMPLATE, template, &info)) {
		e2b_fail(x, 404,
			 "this key has no snapshot %.60s, and the only "
			 "template here is code-interpreter-v1: the server's "
			 "own interpreter and packages",
			 template);
		return;
	}
	body = complete_body(m, x->json, &info, &err);
	if (body)
		making_begin(m, body);
	else
		e2b_error(x, &err);
}

/* Gives the new sandbox the id and token of the paused one, which clients
   have. */
static int
restore_identity(struct making *m, const json_t *about,
		 const struct snapshot_info *info, struct remit_error *err)
{
	const char *token = e2b_request_text(about, "token");
	struct sandbox *sb = m->sb;

	if (!token || strlen(token) >= sizeof(sb->token) ||
	    !json_is_object(json_object_get(about, "wishes")))
		return fail(err, REMIT_E_KERNEL,
			    "the paused sandbox is damaged: its description "
			    "is incomplete");
	snprintf(sb->token, sizeof(sb->token), "%s", token);
	memcpy(sb->id, info->id, sizeof(sb->id));
	snprintf(sb->template, sizeof(sb->template), "%s",
		 json_string_value(json_object_get(about, "template")) ?: "");
	return 0;
}

void
e2b_resume(struct exchange *x, const struct snapshot_info *info)
{
	struct making *m = making_new(x, x->key);
	json_auto_t *about = NULL, *body = NULL;
	struct remit_error err;
	json_t *timeout, *left;

	if (!m) {
		e2b_fail(x, 500, "no memory");
		return;
	}
	exchange_own(x, m, making_free);
	if (!snapshot_store_claim(x->server->snapshots, x->owner, info->id)) {
		e2b_fail(x, 409, "the sandbox is being resumed");
		return;
	}
	memcpy(m->stored, info->id, sizeof(m->stored));
	m->resumes = true;
	about = e2b_stored_about(x->server, x->owner, info->id, &err);
	if (!about || restore_identity(m, about, info, &err) < 0) {
		making_fail(m, &err);
		return;
	}
	body = json_copy(json_object_get(about, "wishes"));
	timeout = json_object_get(x->json, "timeout");
	left = json_object_get(about, "left");
	/* Otherwise the sandbox gets the default time. */
	if (timeout && !json_is_null(timeout))
		json_object_set(body, "timeout", timeout);
	else if (json_number_value(left) > LIFE)
		json_object_set(body, "timeout", left);
	making_begin(m, body);
}

static void
on_nothing(void *user, struct remit_result *res, const struct remit_error *err)
{
	/* Requests that wait for a hosted session which could not be opened
	   fail by themselves. */
	(void)user;
	(void)res;
	(void)err;
}

struct sandbox *
e2b_debug_sandbox(struct exchange *x)
{
	static const struct hosted_events nothing = { .result = on_nothing };
	struct making *m = making_new(x, &x->server->keys->all[0]);
	json_auto_t *body = json_pack("{s:i}", "timeout", LIFE_MAX);
	struct sandbox *sb = NULL;
	struct remit_error err;

	if (!m) {
		e2b_fail(x, 500, "no memory");
		return NULL;
	}
	snprintf(m->sb->id, sizeof(m->sb->id), SANDBOX_DEBUG_ID);
	/* This sandbox is used before it is known whether it can be made, so
	   it cannot be made in another way afterwards. */
	if (plan_sandbox(m, body, &err) < 0 ||
	    (m->unmoved_text && access(SANDBOX_HOME, F_OK) == 0 &&
	     !leave_workspace(m) && fail_memory(&err, "policy") < 0) ||
	    open_hosted(m, &nothing, NULL, &err) < 0) {
		e2b_error(x, &err);
	} else {
		sandbox_add(x, m->sb);
		sb = sandbox_ref(m->sb);
	}
	making_free(m);
	return sb;
}
