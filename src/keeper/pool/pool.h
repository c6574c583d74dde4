/*
 * pool: a plan, and the workers built by it that wait for a job. Identical
 * policies share one; different ones never share a worker.
 *
 * It grows when a session finds nobody waiting, and shrinks when nobody comes.
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

#define POOL_MAX	32 /* of a keeper */
#define POOL_TARGET_MAX 64
/* What all jails of a keeper that wait with modules of packages may use, by
   their policies. No key of a server pays for this memory. */
#define POOL_FOREIGN_BYTES (UINT64_C(1) << 30)
/* Of one that the keeper was started for. */
#define POOL_TARGET_MIN 2
/* A waiting worker with something of the host's, its directories or its
   resolvers, is not trusted for longer. */
#define POOL_STALE_US (60 * 1000000ull)
/* Files that were replaced meanwhile are the new ones then. */
#define POOL_ROOT_TEMPLATE_US (15 * 60 * 1000000ull)

/* What its jails are for. */
enum pool_use {
	POOL_RUNS,
	POOL_SESSIONS, /* with many cells */
	POOL_FORKABLE, /* that may have branches, too */
};

struct pool {
	struct pool *next; /* of the keeper's list */
	struct keeper *keeper;
	struct refcount users; /* sessions and workers */
	enum pool_use use;
	char *key;   /* the whole policy, as text */
	char *alias; /* the text of a client that last led here, or NULL */
	size_t alias_len;
	char *tenant;	/* whose programs it has served; NULL: of none */
	bool is_common; /* it has served several tenants */

	struct policy policy;
	struct interpreter interpreter;
	struct package_layer package_layer; /* its packages, if it has any */
	struct plan plan;
	char *enforcement; /* as text, for results */
	uint64_t identity; /* of the interpreter's file */

	bool can_be_warm;
	struct zygote_server
		*zygote_server; /* NULL until the first run is over */
	struct root_template root_template;
	uint64_t root_template_us; /* when it was made */
	struct worker *waiting, *last_waiting;
	size_t waiting_count, building_count;
	struct session *wanting, *last_wanting; /* in the order they came */
	size_t wanting_count;
	size_t target, target_min;
	unsigned failures;     /* in a row */
	unsigned late_imports; /* in a row, of pool_imports_inside() */
	char error[200];       /* the last one, for status */
	uint64_t not_before_us;
	uint64_t used_us;
	uint64_t hits, misses;
	uint64_t build_us; /* of the last who was built to wait */
};

/* Whether its children import the modules of `preload` themselves, in their
   jails, since packages may provide them. */
bool pool_imports_inside(const struct pool *p);
/* Why a child of such a pool did not finish its imports, as a refusal. */
void pool_fail_import(const struct pool *p, const char *why,
		      struct remit_error *err);

/* By the text that a client sent; NULL if none was made from it yet. */
struct pool *pool_find(struct keeper *k, const char *text, size_t len);
/* By the policy, made if there is none; takes over what *p owns, and the
   packages (NULL: they are looked for). Those of sessions are others, and are
   not found by a text. */
struct pool *pool_for(struct keeper *k, struct policy *p,
		      struct package_layer *package_layer, const char *text,
		      size_t len, enum pool_use use, struct remit_error *err);
struct pool *pool_ref(struct pool *p);
/* Whether both count for one tenant when a pool has to go. */
bool pool_has_tenant_of(const struct pool *p, const struct pool *other);
void pool_unref(struct pool *p);

/* Give the session a worker, now or later (session_take), warm or cold. */
int pool_serve(struct pool *p, struct session *s,
	       struct remit_error *err) must_check;
/* Whoever is ready next will be taken at once. */
bool pool_is_pressed(const struct pool *p);
void pool_unserve(struct pool *p, struct session *s);

/* What the jails of its plan are cloned from, made if it is not there or old;
   NULL with success if they cannot be cloned. */
int pool_root_template(struct pool *p, const struct root_template **out,
		       struct remit_error *err) must_check;

/* From its workers. */
void pool_add_ready(struct pool *p, struct worker *i);
void pool_remove_worker(struct pool *p, struct worker *i);
void pool_worker_failed(struct pool *p, const struct remit_error *err);
/* From its zygote server: the zygote is ready, or cannot be. */
void pool_zygote_server_changed(struct pool *p);

/* Build what is missing, a little at a time. True if more is to be done. */
bool pool_refill(struct pool *p, uint64_t now_us);
/* Let go what was not needed for long. */
void pool_shrink(struct pool *p, uint64_t now_us);
/* Nobody who waits, or soon would, is to be used any more. */
void pool_empty(struct pool *p);

json_t *pool_to_json(const struct pool *p);
void pool_free(struct pool *p);

#endif
