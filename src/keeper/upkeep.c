/*
 * upkeep: what a keeper does between requests. It reaps and frees dead workers,
 * builds workers ahead, and ends those that are no longer needed. The functions
 * of keeper.h for workers and pools are here as well.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "jail/cgroup/home.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/worker.h"
#include "keeper/pool/zygote_server.h"

void
keeper_add_worker(struct keeper *k, struct worker *i)
{
	i->next = k->workers;
	k->workers = i;
	k->worker_count++;
}

void
keeper_bury_worker(struct keeper *k, struct worker *i)
{
	struct worker **at = &k->workers;

	while (*at && *at != i)
		at = &(*at)->next;
	if (!*at)
		return; /* it was already buried */
	*at = i->next;
	i->next = k->buried;
	k->buried = i;
	if (i->parent)
		worker_remove_branch(i->parent, i);
	i->parent = NULL;
	keeper_refill_soon(k);
}

/*
 * Code that is copied into a branch sees the control files of the branch's
 * groups, and may move the session's pid 1 into such a group. The group can
 * then be removed only when the session is gone.
 */
static void
free_buried(struct keeper *k)
{
	bool had_branches = false;

	while (k->buried) {
		struct worker *i = k->buried;

		k->buried = i->next;
		k->worker_count--;
		had_branches |= i->has_branched;
		worker_free(i);
	}
	if (had_branches)
		cgroup_home_clean(false);
}

bool
keeper_is_full(const struct keeper *k)
{
	/* Workers in advance must leave slots for the runs in progress. */
	return k->worker_count >= KEEPER_WORKERS_MAX - KEEPER_RUNNING_MAX;
}

/* Returns true if the pool has a zygote, or jails that wait for a job, or will
   have them soon. */
static bool
is_kept_warm(const struct pool *p)
{
	return p->target || p->waiting_count || p->wanting_count ||
	       p->zygote_server;
}

static size_t
count_warm(const struct keeper *k, const struct pool *like)
{
	size_t n = 0;

	for (const struct pool *p = k->pools; p; p = p->next)
		n += is_kept_warm(p) && (!like || pool_has_tenant_of(p, like));
	return n;
}

static size_t
count_waiting(const struct keeper *k, const struct pool *like)
{
	size_t n = 0;

	for (const struct pool *p = k->pools; p; p = p->next)
		if (pool_has_tenant_of(p, like))
			n += p->waiting_count;
	return n;
}

/* Chooses a pool of the tenant that has the most, and among these the least
   recently used one. So no tenant can turn the warm starts of another tenant
   into cold ones. */
static struct pool *
choose_eviction(const struct keeper *k, const struct pool *but,
		bool (*may_go)(const struct pool *p),
		size_t (*count)(const struct keeper *k,
				const struct pool *like))
{
	struct pool *victim = NULL;
	size_t most = 0;

	for (struct pool *p = k->pools; p; p = p->next) {
		size_t n;

		if (p == but || !may_go(p))
			continue;
		n = count(k, p);
		if (!victim || n > most ||
		    (n == most && p->used_us < victim->used_us)) {
			victim = p;
			most = n;
		}
	}
	return victim;
}

static bool
has_spare(const struct pool *p)
{
	return p->waiting_count && !p->wanting_count;
}

bool
keeper_evict_worker(struct keeper *k, const struct pool *p)
{
	struct pool *victim = choose_eviction(k, p, has_spare, count_waiting);

	if (!victim)
		return false;
	worker_kill(victim->waiting);
	victim->target = victim->waiting_count;
	return true;
}

static void
dispatch_reaped(struct keeper *k, pid_t pid, const struct exit_report *end)
{
	for (struct worker *i = k->workers; i; i = i->next)
		if (worker_reaped(i, pid, end))
			return;
	for (struct zygote_server *n = k->zygote_servers; n; n = n->next)
		if (zygote_server_reaped(n, pid, end->wait_status))
			return;
	/* A private keeper starts another launcher when needed; a shared one
	   cannot. */
	if (proxy_launcher_reaped(&k->proxy_launcher, pid))
		return;
	/* No owner: the process was the child of a zygote that was killed
	   during a fork. There is nothing to do but reap it. */
}

static void
on_child(void *owner, uint32_t events)
{
	struct keeper *k = owner;
	struct signalfd_siginfo info;
	struct exit_report end;
	pid_t pid;

	(void)events;
	while (read(k->child, &info, sizeof(info)) > 0)
		;
	while ((pid = exit_report_wait(&end)) > 0)
		dispatch_reaped(k, pid, &end);
}

static int
watch_children(struct keeper *k, struct remit_error *err)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* A zygote's children are reparented to the keeper when their helper
	   exits. */
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "watch children");
	k->child = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	if (k->child < 0)
		return fail_sys(err, REMIT_E_KERNEL, "signalfd");
	return loop_add(&k->loop, &k->on_child, k->child, EPOLLIN, on_child, k,
			err);
}

/* The keeper refills its pools after this long without a request, */
#define QUIET_US 1000
/* but a steady stream of requests postpones it no longer than this. */
#define REFILL_DELAY_MAX_US 10000
#define HOUSEKEEPING_US	    1000000

static bool
sessions_are_waiting(const struct keeper *k)
{
	for (const struct pool *p = k->pools; p; p = p->next)
		if (p->wanting_count)
			return true;
	return false;
}

void
keeper_refill_soon(struct keeper *k)
{
	uint64_t now = loop_now_us(), at = now + QUIET_US;

	if (sessions_are_waiting(k))
		at = now;
	if (!k->refill_since_us)
		k->refill_since_us = now;
	if (at > k->refill_since_us + REFILL_DELAY_MAX_US)
		at = k->refill_since_us + REFILL_DELAY_MAX_US;
	loop_set_timer(&k->loop, &k->refill, at);
}

/* Refills the pools that sessions wait for or, if there are none, all pools.
   Returns true if there is more to build. */
static bool
refill_pools(struct keeper *k, uint64_t now)
{
	bool wanted = sessions_are_waiting(k), more = false;

	for (struct pool *p = k->pools, *next; p; p = next) {
		bool some;

		next = p->next;
		if (wanted && !p->wanting_count)
			continue;
		do
			some = pool_refill(p, now);
		while (some && p->wanting_count > p->building_count);
		more |= some;
	}
	return more;
}

static void
remove_pool(struct keeper *k, struct pool *p)
{
	struct pool **at = &k->pools;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	k->pool_count--;
	pool_free(p);
}

static bool
zygote_is_used(const struct keeper *k, const struct zygote_server *n)
{
	for (const struct pool *p = k->pools; p; p = p->next)
		if (p->zygote_server == n)
			return true;
	return false;
}

/* Ends the zygotes that no pool uses. */
static void
remove_zygote_servers(struct keeper *k)
{
	struct zygote_server **at = &k->zygote_servers, *n;

	while ((n = *at)) {
		if (zygote_is_used(k, n)) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		zygote_server_free(n);
	}
}

/* Ends what the pool keeps in advance. Workers of running programs stay, and
   keep the pool alive. */
static void
cool_down(struct keeper *k, struct pool *p)
{
	p->target = p->target_min = 0;
	pool_empty(p);
	p->zygote_server = NULL;
	if (!refcount_is_held(&p->users))
		remove_pool(k, p);
	remove_zygote_servers(k);
}

/* Returns the memory of the zygotes: of all, or of those that serve a tenant
   like this pool's. */
static size_t
count_zygote_bytes(const struct keeper *k, const struct pool *like)
{
	size_t bytes = 0;

	for (const struct zygote_server *n = k->zygote_servers; n;
	     n = n->next) {
		const struct pool *p = k->pools;

		while (p && (p->zygote_server != n ||
			     (like && !pool_has_tenant_of(p, like))))
			p = p->next;
		bytes += p ? n->bytes : 0;
	}
	return bytes;
}

static const struct pool *
latest_pool(const struct keeper *k)
{
	const struct pool *latest = k->pools;

	for (const struct pool *p = k->pools; p; p = p->next)
		if (p->used_us > latest->used_us)
			latest = p;
	return latest;
}

static bool
has_zygote_to_end(const struct pool *p)
{
	const struct zygote_server *n = p->zygote_server;

	return n && n->bytes && !p->wanting_count &&
	       n != latest_pool(p->keeper)->zygote_server;
}

void
keeper_limit_zygotes(struct keeper *k)
{
	while (count_zygote_bytes(k, NULL) > POOL_ZYGOTE_BYTES) {
		struct pool *victim = choose_eviction(
			k, NULL, has_zygote_to_end, count_zygote_bytes);

		if (!victim)
			return;
		cool_down(k, victim);
	}
}

static void
on_refill(void *owner)
{
	struct keeper *k = owner;
	uint64_t now = loop_now_us();

	k->refill_since_us = 0;
	for (struct worker *i = k->workers, *next; i; i = next) {
		next = i->next;
		if (i->state == WORKER_SPENT)
			worker_kill(i);
	}
	free_buried(k);
	keeper_limit_zygotes(k);
	if (refill_pools(k, now))
		keeper_refill_soon(k);
}

static void
on_housekeeping(void *owner)
{
	struct keeper *k = owner;
	uint64_t now = loop_now_us();

	for (struct pool *p = k->pools, *next; p; p = next) {
		next = p->next;
		pool_shrink(p, now);
		if (!refcount_is_held(&p->users) && !p->target)
			remove_pool(k, p);
	}
	remove_zygote_servers(k);
	for (struct zygote_server *n = k->zygote_servers; n; n = n->next)
		zygote_server_rotate(n, now);
	keeper_refill_soon(k);
	if (k->pools) {
		cgroup_stock_shrink(&k->spare_groups);
		loop_set_timer(&k->loop, &k->housekeeping,
			       now + HOUSEKEEPING_US);
	} else {
		cgroup_stock_clear(&k->spare_groups);
	}
}

static bool
can_cool_down(const struct pool *p)
{
	return is_kept_warm(p) && !p->wanting_count;
}

bool
keeper_keep_warm(struct keeper *k, const struct pool *p)
{
	while (!is_kept_warm(p) && count_warm(k, NULL) >= POOL_MAX) {
		struct pool *victim =
			choose_eviction(k, p, can_cool_down, count_warm);

		if (!victim)
			return false;
		cool_down(k, victim);
	}
	return true;
}

void
keeper_add_pool(struct keeper *k, struct pool *p)
{
	p->used_us = loop_now_us();
	p->next = k->pools;
	k->pools = p;
	k->pool_count++;
	if (!k->housekeeping.at_us)
		loop_set_timer(&k->loop, &k->housekeeping,
			       p->used_us + HOUSEKEEPING_US);
}

void
keeper_note_latency(struct keeper *k, uint64_t requested_us)
{
	uint64_t now = loop_now_us();

	if (!requested_us)
		return;
	k->latencies_us[k->latency_count++ % KEEPER_LATENCIES] =
		(uint32_t)(now - requested_us);
	keeper_refill_soon(k);
}

/*
 * Kills every jail and waits until all are gone. A pid 1 ends only when
 * everything in its namespace is reaped, which may include a child whose zygote
 * died before reporting it. So reap every dead child, known or not.
 */
static void
end_jails(struct keeper *k)
{
	bool alive = false;
	pid_t pid;

	for (struct worker *i = k->workers; i; i = i->next) {
		jail_kill(&i->jail);
		alive |= i->jail.init_pid != 0;
	}
	while (alive && ((pid = waitpid(-1, NULL, 0)) > 0 || errno == EINTR)) {
		alive = false;
		for (struct worker *i = k->workers; i; i = i->next) {
			jail_reaped(&i->jail, pid);
			proxy_reaped(&i->proxy, pid);
			alive |= i->jail.init_pid != 0;
		}
	}
}

int
upkeep_open(struct keeper *k, struct remit_error *err)
{
	k->on_child = (struct source)SOURCE_INIT;
	k->child = -1;
	k->refill = (struct timer){ .ring = on_refill, .owner = k };
	k->housekeeping = (struct timer){ .ring = on_housekeeping, .owner = k };
	return watch_children(k, err);
}

void
upkeep_close(struct keeper *k)
{
	while (k->zygote_servers) {
		struct zygote_server *n = k->zygote_servers;

		k->zygote_servers = n->next;
		zygote_server_free(n);
	}
	end_jails(k);
	while (k->workers)
		keeper_bury_worker(k, k->workers);
	free_buried(k);
	while (k->pools)
		remove_pool(k, k->pools);
	own_fd_close(&k->child);
}
