/*
 * hosted_table: the table of all hosted sessions with their owners and
 * lifetimes, and the limits that are checked when one is added.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "base/loop.h"
#include "base/number.h"
#include "hosted/hosted_part.h"

const char *const hosted_state_names[] = { "opening", "idle", "busy", "ended" };

int
hosted_make_id(char out[HOSTED_ID_SIZE], struct remit_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[HOSTED_ID_SIZE - 1];

	/* Short requests are always filled completely: getrandom(2). */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_sys(err, REMIT_E_KERNEL, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		out[i] = letters[bytes[i] % 32];
	out[HOSTED_ID_SIZE - 1] = '\0';
	return 0;
}

static uint64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int
hosted_table_open(struct hosted_table **out,
		  const struct hosted_table_options *opt,
		  struct remit_error *err)
{
	struct hosted_table *table = calloc(1, sizeof(*table));
	pthread_condattr_t monotonic;

	if (!table)
		return fail_memory(err, "sessions");
	pthread_mutex_init(&table->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&table->worker_ended, &monotonic);
	pthread_cond_init(&table->result_ended, NULL);
	pthread_condattr_destroy(&monotonic);
	table->remit = opt->remit;
	table->artifacts = opt->artifacts;
	table->tenants.limits = opt->limits;
	table->machine_bytes = opt->machine_bytes;
	table->is_lone = opt->is_lone;
	table->audit = opt->audit;
	table->share = opt->share;
	table->share_user = opt->share_user;
	table->divides_processors = opt->divides_processors;
	*out = table;
	return 0;
}

static bool
wait_for_workers(struct hosted_table *table, uint64_t timeout_ms)
{
	uint64_t until_ms = loop_now_us() / 1000 + timeout_ms;
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
				  .tv_nsec =
					  (long)(until_ms % 1000) * 1000000 };
	int late = 0;

	while (table->workers && !late)
		late = pthread_cond_timedwait(&table->worker_ended,
					      &table->lock, &until);
	return !table->workers;
}

bool
hosted_table_end(struct hosted_table *table, uint64_t timeout_ms)
{
	struct hosted *r;
	bool ended;

	pthread_mutex_lock(&table->lock);
	table->closing = true;
	pthread_cond_broadcast(&table->result_ended);
	while ((r = table->first)) {
		refcount_inc(&r->refs);
		pthread_mutex_unlock(&table->lock);
		hosted_drop(r);
		hosted_unref(r);
		pthread_mutex_lock(&table->lock);
	}
	ended = wait_for_workers(table, timeout_ms);
	pthread_mutex_unlock(&table->lock);
	return ended;
}

void
hosted_table_free(struct hosted_table *table)
{
	if (!table)
		return;
	tenants_free(&table->tenants);
	pthread_cond_destroy(&table->worker_ended);
	pthread_cond_destroy(&table->result_ended);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

uint64_t
hosted_weight(const struct hosted *r)
{
	uint64_t machine = r->table->machine_bytes;
	uint64_t bytes = number_add(r->opt.memory_bytes, r->opt.result_bytes);

	return machine && bytes > machine ? machine : bytes;
}

void
hosted_table_grant_turns(struct hosted_table *table)
{
	struct turn *turn;

	while ((turn = tenants_next(&table->tenants)))
		pthread_cond_broadcast(
			&((struct hosted *)turn->owner)->changed);
}

/* Called with the lock held. */
static void
release_session(struct hosted *r)
{
	struct tenants *ts = &r->table->tenants;

	if (!r->has_session_place)
		return;
	r->has_session_place = false;
	tenants_release(ts, r->tenant, TENANT_SESSION);
	tenants_refund(ts, r->tenant, TENANT_MEMORY, r->session_bytes);
	hosted_table_grant_turns(r->table);
}

void
hosted_table_release_session(struct hosted *r)
{
	pthread_mutex_lock(&r->table->lock);
	release_session(r);
	pthread_mutex_unlock(&r->table->lock);
}

static void
hosted_free(struct hosted *r)
{
	hosted_table_release_session(r);
	/* A dropped session has a directory, but no artifacts to keep. */
	if (r->directory && !r->has_kept_artifacts)
		artifact_store_discard(r->table->artifacts, r->owner, r->id);
	hosted_unref(r->parent);
	if (r->opt.loan.release)
		r->opt.loan.release(r->opt.loan.owner);
	own_fd_close(&r->wake);
	pthread_cond_destroy(&r->changed);
	free(r->directory);
	free(r->owner);
	free(r);
}

static struct hosted *
hosted_new(struct hosted_table *table, const struct hosted_options *opt,
	   struct remit_error *err)
{
	struct hosted *r = calloc(1, sizeof(*r));
	pthread_condattr_t monotonic;

	if (!r) {
		fail_memory(err, "session");
		return NULL;
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r->table = table;
	r->last = &r->first;
	r->created_ms = wall_ms();
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->owner = strdup(opt->owner);
	if (r->wake < 0)
		fail_sys(err, REMIT_E_KERNEL, "eventfd");
	else if (!r->owner)
		fail_memory(err, "session");
	else if (hosted_make_id(r->id, err) == 0)
		return r;
	hosted_free(r);
	return NULL;
}

/* ---- threads ---- */

void
hosted_table_end_worker(struct hosted_table *table)
{
	pthread_mutex_lock(&table->lock);
	table->workers--;
	/* Signalled with the lock held: the waiting thread frees the lock. */
	pthread_cond_broadcast(&table->worker_ended);
	pthread_mutex_unlock(&table->lock);
}

int
hosted_table_begin_thread(struct hosted_table *table, void *(*run)(void *arg),
			  void *arg, size_t stack_bytes,
			  struct remit_error *err)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int failed;

	pthread_mutex_lock(&table->lock);
	table->workers++;
	pthread_mutex_unlock(&table->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack_bytes);
	/* The thread blocks all signals: the server's main thread handles
	   them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		return 0;
	hosted_table_end_worker(table);
	errno = failed;
	return fail_sys(err, REMIT_E_BUSY,
			"cannot start a thread for the session");
}

/* ---- limits ---- */

/* Called with the lock held. */
static int
check_share(const struct hosted_table *table, const char *owner, uint64_t count,
	    uint64_t memory_bytes, struct remit_error *err)
{
	uint64_t bytes = number_mul(count, memory_bytes);
	struct hosted_share most;

	if (!table->share)
		return 0;
	most = table->share(table->share_user, owner);
	for (const struct hosted *r = table->first; r; r = r->next) {
		if (strcmp(r->owner, owner) != 0)
			continue;
		count = number_add(count, 1);
		bytes = number_add(bytes, r->opt.memory_bytes);
	}
	if (count > most.hosted_count)
		return fail(err, REMIT_E_BUSY,
			    "this key may have at most %llu sessions and runs "
			    "at once",
			    (unsigned long long)most.hosted_count);
	if (bytes > most.memory_bytes)
		return fail(err, REMIT_E_BUSY,
			    "the sessions and runs of this key may have at "
			    "most %llu bytes of memory together",
			    (unsigned long long)most.memory_bytes);
	return 0;
}

int
hosted_table_check_share(struct hosted_table *table, const char *owner,
			 uint64_t count, uint64_t memory_bytes,
			 struct remit_error *err)
{
	int failed;

	pthread_mutex_lock(&table->lock);
	failed = check_share(table, owner, count, memory_bytes, err);
	pthread_mutex_unlock(&table->lock);
	return failed;
}

/* Refuses a program that can never run; one that cannot run yet waits. The
   error does not reveal how much other owners use. Called with the lock
   held. */
static int
check_memory(const struct hosted_table *table, const struct hosted *r,
	     const struct tenant *t, struct remit_error *err)
{
	const struct tenants *ts = &table->tenants;
	uint64_t max = ts->limits.max_bytes[TENANT_MEMORY];
	uint64_t most = tenants_owner_max(ts, TENANT_MEMORY);

	if (hosted_weight(r) > most)
		return fail_refused(
			err, "memory_bytes",
			"Request less memory or less output, or start the "
			"server with a larger --max-memory or --key-share.",
			"it needs %llu MiB of memory, output included; the "
			"limit of this server is %llu MiB for %s",
			(unsigned long long)(hosted_weight(r) >> 20),
			(unsigned long long)(most >> 20),
			most < max ? "the programs of one key"
				   : "all programs");
	if (!r->is_run && !tenants_fits(ts, t, TENANT_MEMORY, hosted_weight(r)))
		return fail(err, REMIT_E_BUSY,
			    "not enough free memory for another session");
	return 0;
}

/* Adds it to the table if the limits allow. Called with the lock held, so that
   two hosted sessions cannot both get the last place. */
static int
table_add(struct hosted_table *table, struct hosted *r, struct remit_error *err)
{
	struct hosted **end = &table->first;
	struct tenant *t = tenants_find(&table->tenants, r->owner);

	if (table->closing)
		return fail(err, REMIT_E_GONE, "the server is shutting down");
	if (!t)
		return fail_memory(err, "session");
	if (check_share(table, r->owner, 1, r->opt.memory_bytes, err) < 0 ||
	    check_memory(table, r, t, err) < 0 ||
	    tenants_acquire(&table->tenants, t, TENANT_HOSTED, err) < 0)
		return -1;
	if (!r->is_run &&
	    tenants_acquire(&table->tenants, t, TENANT_SESSION, err) < 0) {
		tenants_release(&table->tenants, t, TENANT_HOSTED);
		return -1;
	}
	r->tenant = t;
	r->has_session_place = !r->is_run;
	if (!r->is_run) {
		r->session_bytes = hosted_weight(r);
		tenants_charge(&table->tenants, t, TENANT_MEMORY,
			       r->session_bytes);
	}
	r->listed = true;
	while (*end)
		end = &(*end)->next;
	*end = r;
	return 0;
}

int
hosted_table_add(struct hosted_table *table, const struct hosted_options *opt,
		 bool is_run, struct hosted **out, struct remit_error *err)
{
	struct hosted *r = hosted_new(table, opt, err);
	int failed;

	if (!r)
		return -1;
	if (opt->exports && table->artifacts) {
		r->directory = artifact_store_path(table->artifacts, r->id);
		if (!r->directory) {
			hosted_free(r);
			return fail_memory(err, "session");
		}
	}
	r->opt = *opt;
	r->opt.loan = (struct hosted_loan){ 0 }; /* set when opening succeeds */
	r->is_run = is_run;
	r->refs = (struct refcount)REFCOUNT_INIT(2);
	pthread_mutex_lock(&table->lock);
	failed = table_add(table, r, err);
	pthread_mutex_unlock(&table->lock);
	if (failed < 0) {
		hosted_free(r);
		return -1;
	}
	hosted_set_life(r, is_run ? 0 : opt->life_ms);
	*out = r;
	return 0;
}

/* Called with the lock held. */
static bool
table_unlist(struct hosted *r)
{
	struct hosted **at = &r->table->first;

	if (!r->listed)
		return false;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->listed = false;
	tenants_release(&r->table->tenants, r->tenant, TENANT_HOSTED);
	return true;
}

void
hosted_table_remove(struct hosted *r)
{
	bool was_listed;

	pthread_mutex_lock(&r->table->lock);
	was_listed = table_unlist(r);
	pthread_mutex_unlock(&r->table->lock);
	if (was_listed)
		hosted_unref(r);
}

struct hosted *
hosted_ref(struct hosted *r)
{
	refcount_inc(&r->refs);
	return r;
}

void
hosted_unref(struct hosted *r)
{
	if (r && refcount_dec_and_test(&r->refs))
		hosted_free(r);
}

static struct hosted *
table_find(struct hosted_table *table, const char *owner, const char *id,
	   bool is_run)
{
	struct hosted *r;

	pthread_mutex_lock(&table->lock);
	for (r = table->first; r; r = r->next)
		if (r->is_run == is_run && !r->dropped && !strcmp(r->id, id) &&
		    !strcmp(r->owner, owner))
			break;
	if (r)
		refcount_inc(&r->refs);
	pthread_mutex_unlock(&table->lock);
	return r;
}

struct hosted *
hosted_find(struct hosted_table *table, const char *owner, const char *id)
{
	return table_find(table, owner, id, false);
}

struct hosted *
hosted_find_run(struct hosted_table *table, const char *owner, const char *id)
{
	return table_find(table, owner, id, true);
}

static struct hosted *
table_find_expired(struct hosted_table *table, uint64_t now_us)
{
	struct hosted *r;

	pthread_mutex_lock(&table->lock);
	for (r = table->first; r; r = r->next)
		if (r->expires_us && r->expires_us <= now_us)
			break;
	if (r)
		refcount_inc(&r->refs);
	pthread_mutex_unlock(&table->lock);
	return r;
}

void
hosted_table_sweep(struct hosted_table *table)
{
	uint64_t now_us = loop_now_us();
	struct hosted *r;

	while ((r = table_find_expired(table, now_us))) {
		hosted_drop(r);
		hosted_unref(r);
	}
	if (table->artifacts)
		artifact_store_sweep(table->artifacts);
}

/* Called with the lock held. */
static void
set_expiry(struct hosted *r, uint64_t life_ms, uint64_t expires_us)
{
	r->expires_ms = life_ms ? number_add(wall_ms(), life_ms) : 0;
	r->expires_us = expires_us;
}

static uint64_t
expiry_us(uint64_t life_ms)
{
	return life_ms ? number_add(loop_now_us(), number_mul(life_ms, 1000))
		       : 0;
}

void
hosted_set_life(struct hosted *r, uint64_t life_ms)
{
	pthread_mutex_lock(&r->table->lock);
	set_expiry(r, life_ms, expiry_us(life_ms));
	pthread_mutex_unlock(&r->table->lock);
}

void
hosted_extend_life(struct hosted *r, uint64_t life_ms)
{
	uint64_t until_us = expiry_us(life_ms);

	pthread_mutex_lock(&r->table->lock);
	/* 0 is never, which is later than any time. */
	if (r->expires_us && (!until_us || until_us > r->expires_us))
		set_expiry(r, life_ms, until_us);
	pthread_mutex_unlock(&r->table->lock);
}

const char *
hosted_id(const struct hosted *r)
{
	return r->id;
}

const char *
hosted_policy(const struct hosted *r)
{
	return r->opt.policy_json;
}

uint64_t
hosted_memory(const struct hosted *r)
{
	return r->opt.memory_bytes;
}

/* Called with the lock held. */
static struct hosted_view
make_view(const struct hosted *r)
{
	struct hosted_view v = {
		.state = r->state,
		.forkable = r->opt.forkable,
		.created_ms = r->created_ms,
		.expires_ms = r->expires_ms,
		.cells = r->cells,
		.waiting = r->queued,
	};

	memcpy(v.id, r->id, sizeof(v.id));
	return v;
}

void
hosted_get_session_id(struct hosted *r, char out[HOSTED_SESSION_ID_SIZE])
{
	pthread_mutex_lock(&r->table->lock);
	memcpy(out, r->session_id, HOSTED_SESSION_ID_SIZE);
	pthread_mutex_unlock(&r->table->lock);
}

struct hosted_view
hosted_get_view(struct hosted *r)
{
	struct hosted_view v;

	pthread_mutex_lock(&r->table->lock);
	v = make_view(r);
	pthread_mutex_unlock(&r->table->lock);
	return v;
}

bool
hosted_is_dropped(struct hosted *r)
{
	bool is_dropped;

	pthread_mutex_lock(&r->table->lock);
	is_dropped = r->dropped;
	pthread_mutex_unlock(&r->table->lock);
	return is_dropped;
}

size_t
hosted_table_count(struct hosted_table *table, const char *owner)
{
	size_t n = 0;

	pthread_mutex_lock(&table->lock);
	for (const struct hosted *r = table->first; r; r = r->next)
		n += !owner || !strcmp(r->owner, owner);
	pthread_mutex_unlock(&table->lock);
	return n;
}

int
hosted_table_list(struct hosted_table *table, const char *owner,
		  struct hosted_view **out, size_t *count)
{
	struct hosted_view *views;
	size_t n = 0;

	pthread_mutex_lock(&table->lock);
	views = calloc(table->tenants.used[TENANT_HOSTED] + 1, sizeof(*views));
	for (const struct hosted *r = table->first; r && views; r = r->next)
		if (!r->is_run && !r->dropped &&
		    (!owner || !strcmp(r->owner, owner)))
			views[n++] = make_view(r);
	pthread_mutex_unlock(&table->lock);
	if (!views)
		return -1;
	*out = views;
	*count = n;
	return 0;
}
