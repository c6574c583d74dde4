/*
 * pool: a plan, and the workers built by it that wait for a job. Identical
 * policies share a pool; different policies never share a worker.
 *
 * A pool grows when a session finds no waiting worker, and shrinks when no
 * sessions come.
 */
#ifndef REMIT_POOL_H
#define REMIT_POOL_H

#include "base/loop.h"
#include "base/own.h"
#include "jail/mount/root_template.h"
#include "keeper/packages/package_layer.h"
#include "policy/plan/plan.h"

struct worker;
struct keeper;
struct zygote_server;
struct session;

#define POOL_MAX	32 /* maximum per keeper */
#define POOL_TARGET_MAX 64
/* How much memory all waiting workers of a keeper may use that have imported
   modules of packages, by the limits of their policies. No key of a server is
   charged for this memory. */
#define POOL_FOREIGN_BYTES (UINT64_C(1) << 30)
/* How much memory all zygotes of a keeper may keep after their imports. Their
   children share it and are not charged for it. */
#define POOL_ZYGOTE_BYTES (UINT64_C(1) << 30)
/* The target of the pool that the keeper was started with never falls below
   this. */
#define POOL_TARGET_MIN 2
/* A waiting worker that uses directories or resolvers of the host is replaced
   after this time. */
#define POOL_STALE_US (60 * 1000000ull)
/* After this time the root template is made again, with files that were
   replaced since. */
#define POOL_ROOT_TEMPLATE_US (15 * 60 * 1000000ull)

/* What the jails of a pool are for. */
enum pool_use {
	POOL_RUNS,
	POOL_SESSIONS, /* sessions with many cells */
	POOL_FORKABLE, /* sessions that may also have branches */
};

struct pool {
	struct pool *next; /* in the keeper's list */
	struct keeper *keeper;
	struct refcount users; /* references of sessions and workers */
	enum pool_use use;
	char *key;   /* the whole policy in canonical form */
	char *alias; /* the policy as text, as the last client of this pool sent
			it, or NULL */
	size_t alias_len;
	char *tenant;	/* whose programs it has served; NULL: none */
	bool is_common; /* has served several tenants */

	struct policy policy;
	struct interpreter interpreter;
	/* the installed packages of the policy, if it has any */
	struct package_layer package_layer;
	struct plan plan;
	char *enforcement; /* JSON for results */
	uint64_t identity; /* identity of the interpreter's file */

	bool can_be_warm;
	/* NULL until the first run has started */
	struct zygote_server *zygote_server;
	struct root_template root_template;
	uint64_t root_template_us; /* when it was made */
	struct worker *waiting, *last_waiting;
	size_t waiting_count, building_count;
	struct session *wanting, *last_wanting; /* in order of arrival */
	size_t wanting_count;
	size_t target, target_min;
	unsigned failures;     /* consecutive failures */
	unsigned late_imports; /* consecutive late imports, if
				  pool_imports_inside() */
	char error[200];       /* the last error, for `remit status` */
	uint64_t not_before_us;
	uint64_t used_us;
	uint64_t hits, misses;
	uint64_t build_us; /* how long the last waiting worker took to build */
};

/* Returns true if the pool's workers import the modules of `preload` in their
   jails, because packages may provide these modules. */
bool pool_imports_inside(const struct pool *p);
/* Makes the refusal for a worker of such a pool that did not finish its
   imports. */
void pool_fail_import(const struct pool *p, const char *why,
		      struct remit_error *err);

/* Returns the pool whose alias is this text of a client's policy, or NULL.
   Finding a pool by its alias saves parsing the policy. */
struct pool *pool_find(struct keeper *k, const char *text, size_t len);
/* Returns the pool of the policy, and makes it if necessary. Takes ownership of
   what *p owns, and of the package layer (NULL: find it). Sessions have other
   pools than runs, which have no alias, nor have policies whose text is NULL.
   Returns NULL and sets *err on
   failure. */
struct pool *pool_for(struct keeper *k, struct policy *p,
		      struct package_layer *package_layer, const char *text,
		      size_t len, enum pool_use use, struct remit_error *err);
struct pool *pool_ref(struct pool *p);
/* Returns true if both pools count for the same tenant, when the keeper chooses
   which pool to evict. */
bool pool_has_tenant_of(const struct pool *p, const struct pool *other);
void pool_unref(struct pool *p);

/* Gives the session a worker, warm or cold, now or later, by calling
   session_attach_worker(). */
int pool_serve(struct pool *p, struct session *s,
	       struct remit_error *err) must_check;
/* Returns true if the next worker that is ready will be used at once. */
bool pool_is_pressed(const struct pool *p);
/* Called when a session ends, which may still be waiting for a worker. */
void pool_unserve(struct pool *p, struct session *s);

/* Sets *out to the template that the plan's jails are cloned from, which is
   made if it is missing or old; to NULL if such jails cannot be cloned. */
int pool_root_template(struct pool *p, const struct root_template **out,
		       struct remit_error *err) must_check;

/* Called by its workers. */
void pool_add_ready(struct pool *p, struct worker *i);
void pool_remove_worker(struct pool *p, struct worker *i);
void pool_worker_failed(struct pool *p, const struct remit_error *err);
/* Called by its zygote server when the zygote is ready or has failed. */
void pool_zygote_server_changed(struct pool *p);

/* Builds a few of the missing workers. Returns true if more are missing. */
bool pool_refill(struct pool *p, uint64_t now_us);
/* Ends workers that were not needed for a while. */
void pool_shrink(struct pool *p, uint64_t now_us);
/* Ends all workers that wait or are being built. */
void pool_empty(struct pool *p);

json_t *pool_to_json(const struct pool *p);
void pool_free(struct pool *p);

#endif
