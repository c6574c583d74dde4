/*
 * worker_new: builds a worker: cold, warm, or as a branch of another.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "keeper/keeper.h"
#include "keeper/output/stream.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/worker_part.h"
#include "keeper/pool/zygote_server.h"
#include "keeper/session/session.h"

static void
make_name(char *out, size_t size)
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = loop_now_us();
	snprintf(out, size, "%016llx", (unsigned long long)noise);
}

static struct worker *
worker_alloc(struct keeper *k, struct pool *p, struct remit_error *err)
{
	struct worker *i = calloc(1, sizeof(*i));

	if (!i) {
		fail_memory(err, "jail");
		return NULL;
	}
	*i = (struct worker){
		.keeper = k,
		.pool = pool_ref(p),
		.jail = JAIL_INIT,
		.proxy = PROXY_INIT,
		.in = -1,
		.root = i,
		.helper_fd = -1,
		.on_helper = SOURCE_INIT,
		.made_us = loop_now_us(),
		.on_channel = SOURCE_INIT,
		.on_lifeline = SOURCE_INIT,
		.on_out = SOURCE_INIT,
		.on_err = SOURCE_INIT,
		.on_notice = SOURCE_INIT,
		.deadline_timer = { .ring = worker_on_deadline, .owner = i },
	};
	keeper_add_worker(k, i);
	return i;
}

/* Releases a worker whose jail could not be built completely. */
static struct worker *
abandon_worker(struct worker *i)
{
	if (i->session)
		i->session->worker = NULL;
	i->in_pool = false;
	worker_release(i);
	return NULL;
}

/* Starts the proxy before the jail, since pid 1 sends the proxy its sockets. */
static int
start_proxy(struct worker *i, struct jail_site *site, struct remit_error *err)
{
	*site = i->keeper->site;
	site->egress = -1;
	if (!i->pool->plan.proxied)
		return 0;
	if (keeper_ensure_proxy_launcher(i->keeper, err) < 0 ||
	    proxy_start(&i->proxy, &i->keeper->proxy_launcher, &i->pool->plan,
			i->session ? &i->session->secrets : NULL, err) < 0)
		return -1;
	site->egress = i->proxy.egress;
	return 0;
}

/* Pid 1 has its copy of the descriptor. */
static void
close_ways_out(struct worker *i)
{
	own_fd_close(&i->proxy.egress);
	i->proxy.egress = -1;
}

static int
open_cold(struct worker *i, int in, const char *name, struct remit_error *err)
{
	struct jail_site site;
	int opened;

	if (start_proxy(i, &site, err) < 0)
		return -1;
	opened = jail_open(&i->jail, &i->pool->plan, &site, in, name, err);
	close_ways_out(i);
	return opened;
}

/* Builds the jail for a zygote's child, by cloning the pool's root template if
   there is one. */
static int
open_warm(struct worker *i, int in, const char *name, struct remit_error *err)
{
	struct pool *p = i->pool;
	const struct root_template *root_template;
	struct jail_site site;
	int opened;

	if (pool_root_template(p, &root_template, err) < 0 ||
	    start_proxy(i, &site, err) < 0)
		return -1;
	opened = jail_prepare(&i->jail, &p->plan, &site, root_template,
			      zygote_server_uid(p->zygote_server), in, name,
			      err);
	close_ways_out(i);
	return opened;
}

struct worker *
worker_new_cold(struct session *s, struct remit_error *err)
{
	struct keeper *k = s->keeper;
	struct worker *i = worker_alloc(k, s->pool, err);
	const struct plan *plan = &s->pool->plan;
	own_fd int reader = -1;
	char name[24];
	int opened = -1;

	if (!i)
		return NULL;
	i->session = s;
	s->worker = i;
	i->state = WORKER_LOCKING;
	make_name(name, sizeof(name));
	/* A plain process is not locked down, so it need not be verified. */
	i->has_reported = i->is_verified = !tiers[plan->tier].jailed;
	if (feed_pipe(&reader, &i->in, err) == 0)
		opened = tiers[plan->tier].jailed
				 ? open_cold(i, reader, name, err)
				 : jail_open_unsafe(&i->jail, plan, &k->site,
						    reader, err);
	/* The unsafe tier has no lock-down to wait for. */
	if (opened < 0 || worker_watch(i, err) < 0 ||
	    (i->jail.unjailed && worker_send_task(i, err) < 0))
		return abandon_worker(i);
	return i;
}

struct worker *
worker_new_warm(struct pool *p, struct remit_error *err)
{
	struct keeper *k = p->keeper;
	struct worker *i = worker_alloc(k, p, err);
	own_fd int reader = -1;
	char name[24];

	if (!i)
		return NULL;
	i->in_pool = true;
	i->state = WORKER_BUILDING;
	make_name(name, sizeof(name));
	if (feed_pipe(&reader, &i->in, err) < 0 ||
	    open_warm(i, reader, name, err) < 0 || worker_watch(i, err) < 0)
		return abandon_worker(i);
	return i;
}

/* Returns the next unused workspace for a branch. Each is used only once. */
static int
acquire_slot(struct worker *root)
{
	for (int i = 0; i < PLAN_BRANCHES_MAX; i++)
		if (root->jail.slots[i] >= 0)
			return take_fd(&root->jail.slots[i]);
	return -1;
}

/* The mounts of a branch are copies of its parent's, so it uses the same
   layers. */
static int
copy_installed(struct worker *i, const struct worker *parent,
	       struct remit_error *err)
{
	for (size_t n = 0; n < parent->installed_count; n++) {
		struct package_layer *to = &i->installed[n];

		*to = (struct package_layer)PACKAGE_LAYER_INIT;
		memcpy(to->id, parent->installed[n].id, sizeof(to->id));
		to->lock = fcntl(parent->installed[n].lock, F_DUPFD_CLOEXEC, 0);
		if (to->lock < 0)
			return fail_sys(err, REMIT_E_KERNEL, "dup");
		i->installed_count++;
	}
	i->install_requests = parent->install_requests;
	i->installed_bytes = parent->installed_bytes;
	return 0;
}

struct worker *
worker_new_branch(struct session *s, struct worker *parent,
		  struct remit_error *err)
{
	struct worker *i = worker_alloc(s->keeper, parent->pool, err);
	own_fd int reader = -1, slot = -1;
	char name[24];

	if (!i)
		return NULL;
	i->session = s;
	s->worker = i;
	i->parent = parent;
	i->root = parent->root;
	i->root->has_branched = true;
	parent->branches++;
	i->state = WORKER_BUILDING;
	make_name(name, sizeof(name));
	slot = acquire_slot(i->root);
	if (copy_installed(i, parent, err) < 0 ||
	    feed_pipe(&reader, &i->in, err) < 0 ||
	    jail_branch(&i->jail, &i->pool->plan, &s->keeper->site,
			&parent->jail, &slot, reader, name, err) < 0 ||
	    worker_watch(i, err) < 0)
		return abandon_worker(i);
	return i;
}
