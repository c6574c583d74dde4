#include "keeper/pool/pool.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/number.h"
#include "base/proc.h"
#include "jail/probe/discover.h"
#include "keeper/keeper.h"
#include "keeper/pool/worker.h"
#include "keeper/pool/zygote_server.h"
#include "keeper/session/session.h"
#include "policy/rules/package_rule.h"

/* After this many failures in a row, nothing warm is built for a while. */
#define FAILURES_MAX 3
#define RETRY_US     (10 * 1000000ull)
/* How many workers of one pool may be built at the same time. */
#define BUILDING_MAX 4

/* ---- life cycle ---- */

struct pool *
pool_ref(struct pool *p)
{
	refcount_inc(&p->users);
	return p;
}

void
pool_unref(struct pool *p)
{
	(void)refcount_dec_and_test(&p->users);
}

void
pool_free(struct pool *p)
{
	root_template_free(&p->root_template);
	package_layer_free(&p->package_layer);
	plan_free(&p->plan);
	interpreter_free(&p->interpreter);
	policy_free(&p->policy);
	free(p->enforcement);
	free(p->alias);
	free(p->tenant);
	free(p->key);
	free(p);
}

/* A pool is outdated when its Python was replaced, or when its installed
   packages were changed. `checked` is the package layer that was already
   checked for the session that needs the pool, or NULL. */
static bool
pool_is_current(struct pool *p, const struct package_layer *checked)
{
	if (p->identity != discover_identity(&p->interpreter))
		return false;
	if (!p->package_layer.id[0])
		return true;
	if (checked && package_layer_is_same(&p->package_layer, checked)) {
		p->package_layer.checked_us = checked->checked_us;
		return true;
	}
	return package_layer_is_whole(&p->package_layer);
}

struct pool *
pool_find(struct keeper *k, const char *text, size_t len)
{
	for (struct pool *p = k->pools; p; p = p->next)
		if (p->alias && p->alias_len == len &&
		    !memcmp(p->alias, text, len) && pool_is_current(p, NULL))
			return p;
	return NULL;
}

static void
pool_set_alias(struct pool *p, const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		return; /* the alias only saves time */
	memcpy(copy, text, len);
	free(p->alias);
	p->alias = copy;
	p->alias_len = len;
}

static bool
has_host_mounts(const struct pool *p)
{
	for (size_t i = 0; i < p->plan.mount_count; i++)
		if (!p->plan.mounts[i].runtime)
			return true;
	return false;
}

/* A session that runs code passes its package layer. One that only asks for
   instructions does not, and a keeper that fills the pool at its start has no
   session (`package_layer` is NULL). */
static int
pool_show_packages(struct pool *p, struct package_layer *package_layer,
		   struct remit_error *err)
{
	struct package_layer_trust *trust =
		package_layer ? &p->keeper->package_layer_trust : NULL;
	char key[SHA256_TEXT];

	if (!package_rule_any(&p->policy))
		return 0;
	if (package_layer && package_layer->id[0]) {
		p->package_layer = *package_layer;
		*package_layer = (struct package_layer)PACKAGE_LAYER_INIT;
	} else {
		if (package_layer_key(key, &p->policy, &p->interpreter, err) <
		    0)
			return -1;
		if (package_layer_find(&p->package_layer, key, trust) ==
		    PACKAGE_LAYER_ABSENT)
			return fail_refused(err, "packages",
					    "Run any program with this policy "
					    "once; that installs the packages.",
					    "the packages are not installed "
					    "yet");
	}
	return package_layer_show(&p->package_layer, tiers[p->policy.tier].bare,
				  &p->interpreter, err);
}

static int
pool_make_plan(struct pool *p, struct package_layer *package_layer,
	       struct remit_error *err)
{
	struct keeper *k = p->keeper;
	struct plan_job job = { .session = p->use != POOL_RUNS,
				.forkable = p->use == POOL_FORKABLE };
	json_t *rows;

	if (keeper_prepare(k, &p->policy, &p->interpreter, err) < 0 ||
	    pool_show_packages(p, package_layer, err) < 0 ||
	    plan_build(&p->plan, &p->policy, &job, &k->host, &p->interpreter,
		       err) < 0)
		return -1;
	rows = plan_enforcement(&p->plan);
	p->enforcement =
		json_dumps(rows, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(rows);
	if (!p->enforcement)
		return fail_memory(err, "plan");
	p->identity = discover_identity(&p->interpreter);
	p->can_be_warm = plan_can_be_warm(&p->plan);
	return 0;
}

static char *
policy_key(const struct policy *policy)
{
	json_t *doc = policy_to_json(policy);
	char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(doc);
	return text;
}

static struct pool *
pool_find_key(struct keeper *k, const char *key, enum pool_use use,
	      const struct package_layer *checked)
{
	for (struct pool *p = k->pools; p; p = p->next)
		if (p->use == use && !strcmp(p->key, key) &&
		    pool_is_current(p, checked))
			return p;
	return NULL;
}

struct pool *
pool_for(struct keeper *k, struct policy *policy,
	 struct package_layer *package_layer, const char *text, size_t len,
	 enum pool_use use, struct remit_error *err)
{
	own_mem char *key = policy_key(policy);
	struct pool *p = key ? pool_find_key(k, key, use, package_layer) : NULL;

	if (p) {
		if (use == POOL_RUNS && text)
			pool_set_alias(p, text, len);
		return p;
	}
	p = key ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		fail_memory(err, "plan");
		return NULL;
	}
	p->keeper = k;
	p->use = use;
	p->root_template = (struct root_template)ROOT_TEMPLATE_INIT;
	p->package_layer = (struct package_layer)PACKAGE_LAYER_INIT;
	p->key = take_ptr(&key);
	p->policy = *policy;
	*policy = (struct policy){ 0 };
	if (pool_make_plan(p, package_layer, err) < 0) {
		*policy = p->policy;
		p->policy = (struct policy){ 0 };
		pool_free(p);
		return NULL;
	}
	if (use == POOL_RUNS && text)
		pool_set_alias(p, text, len);
	keeper_add_pool(k, p);
	return p;
}

int
pool_root_template(struct pool *p, const struct root_template **out,
		   struct remit_error *err)
{
	uint64_t now = loop_now_us();

	*out = NULL;
	if (!root_template_fits(&p->plan))
		return 0;
	if (p->root_template.mounts < 0 ||
	    now - p->root_template_us > POOL_ROOT_TEMPLATE_US) {
		root_template_free(&p->root_template);
		p->root_template_us = now;
		if (root_template_make(&p->root_template, &p->plan,
				       &p->keeper->site, err) < 0)
			return -1;
	}
	*out = &p->root_template;
	return 0;
}

bool
pool_is_pressed(const struct pool *p)
{
	static const uint64_t lately_us = 10000;

	return p->wanting_count ||
	       (!p->waiting_count && loop_now_us() - p->used_us < lately_us);
}

/* ---- queues ---- */

static void
push_waiting(struct pool *p, struct worker *i)
{
	i->later = NULL;
	if (p->last_waiting)
		p->last_waiting->later = i;
	else
		p->waiting = i;
	p->last_waiting = i;
	p->waiting_count++;
}

static bool
remove_waiting(struct pool *p, struct worker *i)
{
	struct worker **at = &p->waiting, *before = NULL;

	while (*at && *at != i) {
		before = *at;
		at = &(*at)->later;
	}
	if (!*at)
		return false;
	*at = i->later;
	if (p->last_waiting == i)
		p->last_waiting = before;
	p->waiting_count--;
	return true;
}

static void
push_wanting(struct pool *p, struct session *s)
{
	s->want_next = NULL;
	if (p->last_wanting)
		p->last_wanting->want_next = s;
	else
		p->wanting = s;
	p->last_wanting = s;
	p->wanting_count++;
}

static void
remove_wanting(struct pool *p, struct session *s)
{
	struct session **at = &p->wanting, *before = NULL;

	while (*at && *at != s) {
		before = *at;
		at = &(*at)->want_next;
	}
	if (!*at)
		return;
	*at = s->want_next;
	if (p->last_wanting == s)
		p->last_wanting = before;
	p->wanting_count--;
}

static struct session *
pop_wanting(struct pool *p)
{
	struct session *s = p->wanting;

	if (s)
		remove_wanting(p, s);
	return s;
}

void
pool_empty(struct pool *p)
{
	for (struct worker *i = p->keeper->workers, *next; i; i = next) {
		next = i->next;
		if (i->in_pool && i->pool == p)
			worker_kill(i);
	}
}

static bool
is_stale(const struct worker *i, uint64_t now_us)
{
	return (has_host_mounts(i->pool) || i->pool->plan.proxied) &&
	       now_us - i->made_us > POOL_STALE_US;
}

/*
 * Modules of packages are foreign code: a waiting worker that has imported them
 * may run a thread that no clock or limit of a job counts. So their memory is
 * limited, and each is stopped until it gets a job.
 */
static uint64_t
foreign_bytes(const struct pool *p)
{
	const struct plan_limits *l = &p->plan.limits;

	/* Only the worker's main process is stopped, so it must be the only
	   one. */
	if (p->policy.subprocess_execution)
		return UINT64_MAX;
	return number_add(p->policy.memory_bytes,
			  l->memory_cgroup_bytes ? 0 : p->policy.disk_bytes);
}

static void
limit_foreign(struct pool *p)
{
	uint64_t each = foreign_bytes(p), taken = 0, left;

	if (!pool_imports_inside(p))
		return;
	for (const struct pool *q = p->keeper->pools; q; q = q->next)
		if (q != p && pool_imports_inside(q))
			taken = number_add(
				taken, number_mul(foreign_bytes(q), q->target));
	left = taken < POOL_FOREIGN_BYTES ? POOL_FOREIGN_BYTES - taken : 0;
	if (number_mul(each, p->target) > left)
		p->target = each ? left / each : 0;
}

/* Ends waiting workers beyond the target: they were built for sessions that
   have ended since. */
static void
trim_foreign(struct pool *p)
{
	if (!pool_imports_inside(p))
		return;
	for (struct worker *i = p->keeper->workers, *next; i; i = next) {
		next = i->next;
		if (p->waiting_count + p->building_count <=
		    p->target + p->wanting_count)
			return;
		if (i->in_pool && i->pool == p)
			worker_kill(i);
	}
}

void
pool_unserve(struct pool *p, struct session *s)
{
	remove_wanting(p, s);
	trim_foreign(p);
}

/* Returns the worker that has waited longest and may still be used. */
static struct worker *
pop_waiting(struct pool *p)
{
	uint64_t now = loop_now_us();
	bool roots = has_host_mounts(p);
	uint64_t now_there = roots && p->waiting ? jail_roots(&p->plan) : 0;
	struct worker *i;

	while ((i = p->waiting)) {
		if (is_stale(i, now) || (roots && i->jail.roots != now_there)) {
			worker_kill(i);
			continue;
		}
		remove_waiting(p, i);
		i->in_pool = false;
		if (pool_imports_inside(p))
			jail_resume(&i->jail);
		return i;
	}
	return NULL;
}

void
pool_remove_worker(struct pool *p, struct worker *i)
{
	i->in_pool = false;
	if (i->state < WORKER_WAITING)
		p->building_count--;
	else
		remove_waiting(p, i);
	/* The zygote may not have reported this child yet. */
	if (p->zygote_server)
		zygote_server_remove_worker(p->zygote_server, i);
}

void
pool_add_ready(struct pool *p, struct worker *i)
{
	struct session *s;

	p->building_count--;
	p->failures = p->late_imports = 0;
	p->build_us = loop_now_us() - i->made_us;
	push_waiting(p, i);
	if (!p->wanting) {
		if (pool_imports_inside(p))
			jail_stop(&i->jail);
		trim_foreign(p);
		return;
	}
	i = pop_waiting(p);
	s = i ? pop_wanting(p) : NULL;
	if (s)
		session_attach_worker(s, i);
	keeper_refill_soon(p->keeper);
}

/* ---- serving ---- */

static void
start_cold(struct session *s)
{
	struct remit_error err;

	if (!worker_new_cold(s, &err))
		session_fail(s, &err);
}

static bool
must_be_warm(const struct pool *p)
{
	return p->policy.preload.count > 0;
}

bool
pool_imports_inside(const struct pool *p)
{
	return p->policy.preload.count && p->package_layer.id[0];
}

void
pool_fail_import(const struct pool *p, const char *why, struct remit_error *err)
{
	own(buf) struct buf modules = BUF_INIT(256);
	int added = 0;

	for (size_t i = 0; i < p->policy.preload.count && added == 0; i++)
		added = buf_addf(&modules, "%s%s", i ? ", " : "",
				 p->policy.preload.items[i]);
	fail_refused(
		err, "preload",
		"Remove the module from preload: code can still import it.",
		"%s (preload: %s)", why, buf_text(&modules));
}

/* Serves or fails all waiting sessions: no warm worker will come. */
static void
fail_all_wanting(struct pool *p, const struct remit_error *err)
{
	struct session *s;

	while ((s = pop_wanting(p))) {
		if (must_be_warm(p))
			session_fail(s, err);
		else
			start_cold(s);
	}
}

void
pool_worker_failed(struct pool *p, const struct remit_error *err)
{
	struct session *s;

	/* The worker's zygote is gone. Zygotes are replaced regularly, so that
	   is not a failure of the pool. */
	if (err->code == REMIT_E_GONE) {
		keeper_refill_soon(p->keeper);
		return;
	}
	snprintf(p->error, sizeof(p->error), "%.199s", err->message);
	if (++p->failures >= FAILURES_MAX) {
		p->not_before_us = loop_now_us() + RETRY_US;
		p->failures = 0;
		fail_all_wanting(p, err);
		return;
	}
	s = pop_wanting(p);
	if (s && must_be_warm(p))
		session_fail(s, err);
	else if (s)
		start_cold(s);
	keeper_refill_soon(p->keeper);
}

void
pool_zygote_server_changed(struct pool *p)
{
	if (p->zygote_server->state == ZYGOTE_SERVER_UNFIT) {
		p->can_be_warm = false;
		fail_all_wanting(p, &p->zygote_server->error);
	}
	keeper_refill_soon(p->keeper);
}

static bool
is_warm_now(const struct pool *p)
{
	return p->zygote_server &&
	       p->zygote_server->state == ZYGOTE_SERVER_READY &&
	       loop_now_us() >= p->not_before_us;
}

static void
pool_grow(struct pool *p)
{
	p->misses++;
	p->target = p->target ? p->target * 2 : 2;
	if (p->target > POOL_TARGET_MAX)
		p->target = POOL_TARGET_MAX;
	limit_foreign(p);
}

/* Records which tenant the pool serves, for keeper_keep_warm(). If memory is
   short, the pool counts for no tenant. */
static void
note_tenant(struct pool *p, const char *tenant)
{
	if (!tenant || p->is_common)
		return;
	if (!p->tenant)
		p->tenant = strdup(tenant);
	else
		p->is_common = strcmp(p->tenant, tenant) != 0;
}

bool
pool_has_tenant_of(const struct pool *p, const struct pool *other)
{
	const char *a = p->is_common ? NULL : p->tenant;
	const char *b = other->is_common ? NULL : other->tenant;

	return a && b ? !strcmp(a, b) : !a && !b;
}

/* For policies with `preload`, whose runs all need a zygote. */
static int
ensure_zygote(struct pool *p, bool may_be_warm, struct remit_error *err)
{
	if (p->can_be_warm && !may_be_warm) {
		fail(err, REMIT_E_BUSY,
		     "sessions of %d policies are waiting for a warm start",
		     POOL_MAX);
		snprintf(err->remedy, sizeof(err->remedy),
			 "Use fewer different policies at once, or leave out "
			 "preload.");
		return -1;
	}
	if (!p->zygote_server)
		p->zygote_server = zygote_server_find(p, err);
	if (!p->zygote_server)
		return -1;
	if (p->zygote_server->state != ZYGOTE_SERVER_UNFIT)
		return 0;
	*err = p->zygote_server->error;
	return -1;
}

int
pool_serve(struct pool *p, struct session *s, struct remit_error *err)
{
	struct worker *i = pop_waiting(p);
	bool may_be_warm;

	note_tenant(p, s->cell.tenant);
	p->used_us = loop_now_us();
	if (i) {
		p->hits++;
		session_attach_worker(s, i);
		return 0;
	}
	may_be_warm = p->can_be_warm && keeper_keep_warm(p->keeper, p);
	if (must_be_warm(p) && ensure_zygote(p, may_be_warm, err) < 0)
		return -1;
	if (may_be_warm && !(s->options & SESSION_OPTION_ONCE))
		pool_grow(p);
	if (may_be_warm && (must_be_warm(p) || is_warm_now(p))) {
		push_wanting(p, s);
		keeper_refill_soon(p->keeper);
		return 0;
	}
	return worker_new_cold(s, err) ? 0 : -1;
}

/* ---- growing and shrinking ---- */

bool
pool_refill(struct pool *p, uint64_t now_us)
{
	struct remit_error err;
	size_t want = p->target + p->wanting_count;

	if (!p->can_be_warm || !want || now_us < p->not_before_us)
		return false;
	if (!p->zygote_server)
		p->zygote_server = zygote_server_find(p, &err);
	if (p->zygote_server)
		zygote_server_rotate(p->zygote_server, now_us);
	if (!p->zygote_server ||
	    zygote_server_start(p->zygote_server, p, &err) < 0) {
		pool_worker_failed(p, &err);
		return false;
	}
	if (!zygote_server_has_space(p->zygote_server) ||
	    p->building_count >= BUILDING_MAX ||
	    p->waiting_count + p->building_count >= want)
		return false;
	/* Waiting sessions are more important than workers kept in advance. */
	if (keeper_is_full(p->keeper) &&
	    !(p->wanting_count && keeper_evict_worker(p->keeper, p)))
		return false;
	p->building_count++;
	if (!worker_new_warm(p, &err)) {
		p->building_count--;
		pool_worker_failed(p, &err);
		return false;
	}
	return p->waiting_count + p->building_count < want;
}

void
pool_shrink(struct pool *p, uint64_t now_us)
{
	static const uint64_t idle_us = 10 * 1000000ull;
	uint64_t idle = now_us - p->used_us;

	if (idle > idle_us && p->target > 1)
		p->target /= 2;
	if (idle > 30 * idle_us)
		p->target = 0;
	if (p->target < p->target_min)
		p->target = p->target_min;
	while (p->waiting_count > p->target)
		worker_kill(p->waiting);
	while (p->waiting && is_stale(p->waiting, now_us))
		worker_kill(p->waiting);
}

json_t *
pool_to_json(const struct pool *p)
{
	json_t *preload = json_array();
	uint64_t bytes = 0;
	struct hash h = HASH_INIT;
	char id[24];

	hash_text(&h, p->key);
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)h.value);
	for (size_t i = 0; i < p->policy.preload.count; i++)
		json_array_append_new(preload,
				      json_string(p->policy.preload.items[i]));
	for (const struct worker *i = p->waiting; i; i = i->later)
		bytes += proc_pss_bytes(i->jail.run_pid) +
			 proc_pss_bytes(i->proxy.pid);
	return json_pack("{s:s, s:b, s:s, s:o, s:b, s:b, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:s}",
			 "plan", id, "session", p->use != POOL_RUNS, "tier",
			 tiers[p->plan.tier].name, "preload", preload, "warm",
			 p->can_be_warm, "proxied", p->plan.proxied, "build_us",
			 (json_int_t)p->build_us, "waiting",
			 (json_int_t)p->waiting_count, "building",
			 (json_int_t)p->building_count, "target",
			 (json_int_t)p->target, "hits", (json_int_t)p->hits,
			 "misses", (json_int_t)p->misses, "memory_bytes",
			 (json_int_t)bytes, "error", p->error);
}
