/*
 * pool: every event in every state of a worker, from the first step of its jail
 * to its death, with its pool and zygote; then each again with an allocation
 * that fails. Also: which worker serves a session.
 */
#include "keeper/pool/pool.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "keeper/pool/zygote_server.h"
#include "keeper_world.h"

/* cmocka defines fail() as a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

/* ---- a pool with one worker ---- */

static const char job[] = "name\0x\0once\0yes";

static struct pool *
make_pool(struct world *w)
{
	struct policy policy;
	struct remit_error err;
	struct pool *p;

	fakes.zygote_fails = false;
	assert_int_equal(policy_init(&policy), 0);
	p = pool_for(w->keeper, &policy, NULL, "", 0, POOL_RUNS, &err);
	if (!p)
		fail_msg("%s", err.message);
	return p;
}

static struct pool *
the_pool(const struct world *w)
{
	return w->keeper->pools;
}

/* Returns the worker that was made first. */
static struct worker *
worker(const struct world *w)
{
	for (struct worker *i = w->keeper->workers; i; i = i->next)
		if (fake_of(&i->jail) == &fake_jails[0])
			return i;
	return NULL;
}

static void
answer(uint32_t kind, pid_t pid)
{
	struct join_answer a = { .kind = kind, .pid = pid };

	assert_int_equal(send(fake_zygote, &a, sizeof(a), 0), sizeof(a));
}

/* One worker is requested, and there is time to warm up. */
static void
to_building(struct world *w)
{
	struct pool *p = make_pool(w);

	p->target = p->target_min = 1;
	assert_false(pool_refill(p, loop_now_us()));
	answer(JOIN_READY, (pid_t)LOCK_MAGIC);
	settle(w);
	p->used_us = 1;
	while (!worker(w))
		pool_refill(p, loop_now_us());
	p->target = p->target_min = 0;
}

static void
send_pid_1_frame(struct world *w, uint32_t step)
{
	struct step_report r = { .step = step };

	(void)w;
	fake_send(fake_jails[0].lifeline, FRAME_REPORT, &r, sizeof(r));
}

static void
to_joining(struct world *w)
{
	to_building(w);
	send_pid_1_frame(w, STEP_READY);
	settle(w);
}

static void
to_locking(struct world *w)
{
	to_joining(w);
	answer(JOIN_FORKED, fake_jails[0].run);
	settle(w);
}

static void
send_code_frame(unsigned type, const void *payload, size_t len)
{
	if (fake_jails[0].channel >= 0)
		fake_send(fake_jails[0].channel, type, payload, len);
}

static void
to_warming(struct world *w)
{
	struct step_report r = { .step = STEP_READY };

	to_locking(w);
	send_code_frame(FRAME_REPORT, &r, sizeof(r));
	settle(w);
}

static void
to_waiting(struct world *w)
{
	to_warming(w);
	send_code_frame(FRAME_WARM, "", 0);
	settle(w);
}

static void
client_runs(struct world *w)
{
	send_as_client(w, FRAME_JOB, job, sizeof(job));
	SEND_AS_CLIENT(w, FRAME_CODE, "pass");
	SEND_AS_CLIENT(w, FRAME_START, "");
}

static void
to_in_use(struct world *w)
{
	to_waiting(w);
	client_runs(w);
	settle(w);
}

static void
nothing(void *owner)
{
	(void)owner;
}

/* Spent workers die when no request is in progress, which does not happen
   here. */
static void
to_spent(struct world *w)
{
	to_in_use(w);
	w->keeper->refill.ring = nothing;
	send_code_frame(FRAME_ENDED, "kind\0ok\0exit\0000", 15);
	settle(w);
}

static void
to_dying(struct world *w)
{
	to_waiting(w);
	worker_kill(worker(w));
}

/* ---- what may happen ---- */

static void
reap(struct world *w, pid_t pid, int wait_status)
{
	struct exit_report end = { .wait_status = wait_status };

	if (worker(w))
		worker_reaped(worker(w), pid, &end);
}

static void
jail_dies(struct world *w)
{
	reap(w, fake_jails[0].init, SIGKILL);
}

static void
code_ends(struct world *w)
{
	reap(w, fake_jails[0].run, 0);
}

static void
code_crashes(struct world *w)
{
	reap(w, fake_jails[0].run, SIGSEGV);
}

static void
pid_1_fails(struct world *w)
{
	if (fake_jails[0].lifeline >= 0)
		send_pid_1_frame(w, STEP_CLONE);
}

static void
code_is_not_locked(struct world *w)
{
	struct step_report r = { .step = STEP_CLONE };

	(void)w;
	send_code_frame(FRAME_REPORT, &r, sizeof(r));
}

static void
stranger_sends(struct world *w)
{
	struct step_report r = { .step = STEP_READY };

	(void)w;
	fakes.meet_fails = true;
	send_code_frame(FRAME_REPORT, &r, sizeof(r));
}

static void
channel_closes(struct world *w)
{
	(void)w;
	own_fd_close(&fake_jails[0].channel);
	fake_jails[0].channel = -1;
}

static void
channel_breaks(struct world *w)
{
	(void)w;
	send_code_frame(FRAME_LOCK_PARAMS, "x", 1);
}

static void
deadline_passes(struct world *w)
{
	struct worker *i = worker(w);

	if (i && i->deadline_timer.at_us)
		loop_set_timer(&w->keeper->loop, &i->deadline_timer, 1);
}

static void
zygote_dies(struct world *w)
{
	struct zygote_server *n = w->keeper->zygote_servers;

	assert_true(zygote_server_reaped(n, n->zygote.pid, SIGKILL));
}

static void
zygote_is_unfit(struct world *w)
{
	(void)w;
	answer(JOIN_UNFIT, 0);
}

static void
zygote_fails_to_fork(struct world *w)
{
	(void)w;
	answer(JOIN_FAILED, 0);
}

static void
zygote_forks_another(struct world *w)
{
	(void)w;
	answer(JOIN_FORKED, fake_jails[0].run + 1000);
}

static void
client_leaves(struct world *w)
{
	read_client(w);
	own_fd_close(&w->client);
	w->client = -1;
}

static void
pool_is_emptied(struct world *w)
{
	pool_empty(the_pool(w));
}

static void
worker_fails(struct world *w)
{
	struct remit_error err;

	fail_with(&err, REMIT_E_KERNEL, "something failed");
	if (worker(w))
		worker_failed(worker(w), &err);
}

static const struct {
	const char *name;
	void (*happens)(struct world *w);
} events[] = {
	{ "the jail dies", jail_dies },
	{ "the code ends", code_ends },
	{ "the code crashes", code_crashes },
	{ "pid 1 reports a failed step", pid_1_fails },
	{ "the code reports a failed step", code_is_not_locked },
	{ "a stranger sends", stranger_sends },
	{ "the channel closes", channel_closes },
	{ "the code breaks the protocol", channel_breaks },
	{ "the patience ends", deadline_passes },
	{ "the zygote dies", zygote_dies },
	{ "the zygote is unfit", zygote_is_unfit },
	{ "the zygote fails to fork", zygote_fails_to_fork },
	{ "the zygote forks another", zygote_forks_another },
	{ "a client runs something", client_runs },
	{ "the client leaves", client_leaves },
	{ "the pool is emptied", pool_is_emptied },
	{ "the worker fails", worker_fails },
};

#define EVENTS ARRAY_LEN(events)

/* A letter for each state; '.' if the worker is gone. */
static const char letters[WORKER_DYING + 2] = "bjlwWtsd";

static const struct {
	const char *name;
	void (*reach)(struct world *w);
	enum worker_state state;
	const char *expected;
} starts[] = {
	{ "building", to_building, WORKER_BUILDING, ".dddddlddbbbbbbdd" },
	{ "joining", to_joining, WORKER_JOINING, ".ddjddldddddljjdd" },
	{ "locking", to_locking, WORKER_LOCKING, ".ddldddddlllllldd" },
	{ "warming", to_warming, WORKER_WARMING, ".ddwdddddwwwwwwdd" },
	{ "waiting", to_waiting, WORKER_WAITING, ".ddWddddWWWWWtWdd" },
	{ "in_use", to_in_use, WORKER_IN_USE, ".ddttttttttttddtd" },
	{ "spent", to_spent, WORKER_SPENT, ".ddsssssssssssssd" },
	{ "dying", to_dying, WORKER_DYING, ".dddddddddddddddd" },
};

static char
letter_of(const struct world *w)
{
	return worker(w) ? letters[worker(w)->state] : '.';
}

/* The pool's counts match the workers. */
static void
check_books(struct world *w, const char *start, const char *event)
{
	const struct pool *p = the_pool(w);
	size_t waiting = 0, building = 0, wanting = 0;

	for (const struct worker *i = w->keeper->workers; i; i = i->next) {
		waiting += i->in_pool && i->state == WORKER_WAITING;
		building += i->in_pool && i->state < WORKER_WAITING;
	}
	for (const struct session *s = p->wanting; s; s = s->want_next)
		wanting++;
	if (waiting != p->waiting_count || building != p->building_count ||
	    wanting != p->wanting_count)
		fail_msg("%s, %s: found and counted by the pool: %zu and %zu "
			 "waiting, %zu and %zu building, %zu and %zu wanting",
			 start, event, waiting, p->waiting_count, building,
			 p->building_count, wanting, p->wanting_count);
	read_client(w);
	if (w->client >= 0 && !is_alive(w) && !w->results && !w->ended)
		fail_msg("%s, %s: the client was never answered", start, event);
	if (w->results > 1)
		fail_msg("%s, %s: %u results", start, event, w->results);
}

static char
try(size_t start, size_t event, long memory)
{
	struct world *w = world_new();
	char at;

	starts[start].reach(w);
	if (!worker(w) || worker(w)->state != starts[start].state)
		fail_msg("%s is not reached, but '%c'", starts[start].name,
			 letter_of(w));
	fake_memory_left = memory;
	events[event].happens(w);
	settle(w);
	fake_memory_left = -1;
	at = letter_of(w);
	check_books(w, starts[start].name, events[event].name);
	world_free(w);
	return at;
}

static void
worker_events_lead_to_the_expected_state(void **state)
{
	size_t before = count_fds();
	bool failed = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		char got[EVENTS + 1] = { 0 };

		for (size_t e = 0; e < EVENTS; e++)
			got[e] = try(i, e, -1);
		if (strcmp(got, starts[i].expected) != 0) {
			print_error("%s: \"%s\", not \"%s\"\n", starts[i].name,
				    got, starts[i].expected);
			failed = true;
		}
	}
	assert_false(failed);
	assert_int_equal(count_fds(), before);
}

static void
worker_events_survive_any_failed_allocation(void **state)
{
	size_t before = count_fds(), failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		for (size_t e = 0; e < EVENTS; e++)
			for (long n = 0;; n++) {
				fake_memory_failed = false;
				try(i, e, n);
				if (!fake_memory_failed)
					break;
				failures++;
			}
	/* Enough failures to prove that the hooks work. */
	assert_true(failures > 20);
	assert_int_equal(count_fds(), before);
}

/* ---- who is served ---- */

static void
waiting_worker_gives_a_warm_run(void **state)
{
	struct world *w = world_new();

	(void)state;
	to_in_use(w);
	assert_ptr_equal(worker(w)->session, w->session);
	assert_int_equal(w->session->state, SESSION_RUNNING);
	assert_true(w->session->cell.was_warm);
	assert_int_equal(the_pool(w)->hits, 1);
	world_free(w);
}

static void
run_without_zygote_starts_cold(void **state)
{
	struct world *w = world_new();

	(void)state;
	client_runs(w);
	settle(w);
	assert_int_equal(worker(w)->state, WORKER_LOCKING);
	assert_false(worker(w)->jail.warm);
	assert_ptr_equal(worker(w)->session, w->session);
	world_free(w);
}

/* The worker that is built for the waiting run is given to it at once. */
static void
run_with_zygote_waits_for_a_warm_worker(void **state)
{
	struct step_report r = { .step = STEP_READY };
	struct world *w = world_new();

	(void)state;
	to_locking(w);
	client_runs(w);
	settle(w);
	assert_int_equal(the_pool(w)->wanting_count, 1);
	assert_int_equal(w->session->state, SESSION_SEEKING);
	send_code_frame(FRAME_REPORT, &r, sizeof(r));
	settle(w);
	send_code_frame(FRAME_WARM, "", 0);
	settle(w);
	assert_int_equal(the_pool(w)->wanting_count, 0);
	assert_ptr_equal(worker(w)->session, w->session);
	assert_int_equal(w->session->state, SESSION_RUNNING);
	world_free(w);
}

static void
client_that_left_gets_no_worker(void **state)
{
	struct world *w = world_new();

	(void)state;
	to_locking(w);
	client_runs(w);
	settle(w);
	client_leaves(w);
	settle(w);
	assert_false(is_alive(w));
	assert_int_equal(the_pool(w)->wanting_count, 0);
	assert_int_equal(w->keeper->running, 0);
	world_free(w);
}

/* The zygote may be at fault, so the run gets a cold worker. */
static void
run_starts_cold_if_its_warm_worker_fails(void **state)
{
	struct world *w = world_new();

	(void)state;
	to_locking(w);
	client_runs(w);
	settle(w);
	worker_fails(w);
	settle(w);
	assert_int_equal(the_pool(w)->wanting_count, 0);
	assert_non_null(w->session->worker);
	assert_false(w->session->worker->jail.warm);
	world_free(w);
}

static void
pool_pauses_building_after_repeated_failures(void **state)
{
	struct world *w = world_new();
	struct remit_error err;

	(void)state;
	to_waiting(w);
	fail_with(&err, REMIT_E_KERNEL, "something failed");
	the_pool(w)->target = 4;
	for (int i = 0; i < 3; i++)
		pool_worker_failed(the_pool(w), &err);
	assert_true(the_pool(w)->not_before_us > loop_now_us());
	assert_false(pool_refill(the_pool(w), loop_now_us()));
	assert_int_equal(the_pool(w)->building_count, 0);
	world_free(w);
}

static void
pool_that_is_unused_ends_its_workers(void **state)
{
	struct world *w = world_new();

	(void)state;
	to_waiting(w);
	pool_shrink(the_pool(w), the_pool(w)->used_us + 1000000);
	assert_int_equal(worker(w)->state, WORKER_DYING);
	assert_int_equal(the_pool(w)->waiting_count, 0);
	world_free(w);
}

/* Fills a keeper with the maximum of warm pools; the first are `given`. */
static void
fill_with_pools(struct keeper *k, struct pool pools[POOL_MAX],
		const struct pool *given, size_t count)
{
	static char tenants[POOL_MAX][16];

	*k = (struct keeper){ .housekeeping.at_us = 1 };
	for (size_t i = 0; i < POOL_MAX; i++) {
		snprintf(tenants[i], sizeof(tenants[i]), "tenant %zu", i);
		pools[i] = i < count ? given[i]
				     : (struct pool){ .tenant = tenants[i],
						      .used_us = 100 };
		pools[i].keeper = k;
		pools[i].target = 1;
		pools[i].next = k->pools;
		k->pools = pool_ref(&pools[i]);
	}
}

/* Returns which warm pool is replaced by a further one. */
static int
replaced_by(struct pool *next, struct pool pools[POOL_MAX])
{
	struct keeper *k = pools[0].keeper;
	bool warm[POOL_MAX];
	int found = -1;

	for (size_t i = 0; i < POOL_MAX; i++)
		warm[i] = pools[i].target;
	*next = (struct pool){ .keeper = k, .used_us = 50, .next = k->pools };
	k->pools = pool_ref(next);
	assert_true(keeper_keep_warm(k, next));
	next->target = 1;
	for (int i = 0; i < POOL_MAX; i++)
		if (warm[i] && !pools[i].target) {
			assert_int_equal(found, -1);
			found = i;
		}
	return found;
}

static void
pool_of_the_tenant_with_the_most_goes_first(void **state)
{
	struct pool given[] = {
		{ .tenant = "bob", .used_us = 1 },
		{ .tenant = "alice", .used_us = 5 },
		{ .tenant = "alice", .used_us = 3 },
		{ .tenant = "carol", .used_us = 2 },
	};
	struct pool pools[POOL_MAX], next;
	struct keeper k;

	(void)state;
	fill_with_pools(&k, pools, given, 4);
	assert_int_equal(replaced_by(&next, pools), 2);
	/* A pool that has served several tenants does not count for alice. */
	given[2].is_common = true;
	fill_with_pools(&k, pools, given, 4);
	assert_int_equal(replaced_by(&next, pools), 0);
	for (int i = 0; i < 4; i++)
		given[i].tenant = NULL;
	fill_with_pools(&k, pools, given, 4);
	assert_int_equal(replaced_by(&next, pools), 0);
	given[0].used_us = 9;
	fill_with_pools(&k, pools, given, 4);
	assert_int_equal(replaced_by(&next, pools), 3);
}

static void
pool_beyond_the_maximum_replaces_another(void **state)
{
	struct pool pools[POOL_MAX], next[3];
	struct pool given[] = { { .used_us = 1 },
				{ .used_us = 2 },
				{ .used_us = 3 } };
	struct keeper k;

	(void)state;
	fill_with_pools(&k, pools, given, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(replaced_by(&next[i], pools), i);
}

static void
pool_that_sessions_wait_for_is_not_replaced(void **state)
{
	struct pool pools[POOL_MAX], next = { 0 };
	struct keeper k;

	(void)state;
	fill_with_pools(&k, pools, NULL, 0);
	for (int i = 0; i < POOL_MAX; i++)
		pools[i].wanting_count = 1;
	assert_false(keeper_keep_warm(&k, &next));
	pools[7].wanting_count = 0;
	assert_int_equal(replaced_by(&next, pools), 7);
}

/* Gives the pool a zygote that keeps this much memory. */
static void
give_zygote(struct pool *p, uint64_t bytes)
{
	struct zygote_server *n = calloc(1, sizeof(*n));

	assert_non_null(n);
	*n = (struct zygote_server){
		.keeper = p->keeper,
		.next = p->keeper->zygote_servers,
		.zygote = ZYGOTE_INIT,
		.state = ZYGOTE_SERVER_READY,
		.on_control = SOURCE_INIT,
		.bytes = bytes,
	};
	p->keeper->zygote_servers = p->zygote_server = n;
}

static void
zygotes_with_too_much_memory_end_by_tenant(void **state)
{
	struct pool given[] = {
		{ .tenant = "alice", .used_us = 300 },
		{ .tenant = "alice", .used_us = 200 },
		{ .tenant = "bob", .used_us = 1 },
		{ .tenant = "bob", .used_us = 400 },
	};
	struct pool pools[POOL_MAX];
	struct keeper k;

	(void)state;
	fill_with_pools(&k, pools, given, 4);
	for (int i = 0; i < 4; i++)
		give_zygote(&pools[i], POOL_ZYGOTE_BYTES / 4);
	keeper_limit_zygotes(&k);
	for (int i = 0; i < 4; i++)
		assert_non_null(pools[i].zygote_server);
	/* Now alice has more than bob: her older zygote goes, and then, as both
	   have the same, the least recently used one. */
	pools[0].zygote_server->bytes = POOL_ZYGOTE_BYTES / 2;
	keeper_limit_zygotes(&k);
	assert_null(pools[1].zygote_server);
	assert_non_null(pools[0].zygote_server);
	assert_non_null(pools[2].zygote_server);
	/* The most recently used one stays, whatever it keeps. */
	pools[3].zygote_server->bytes = 2 * POOL_ZYGOTE_BYTES;
	keeper_limit_zygotes(&k);
	assert_null(pools[0].zygote_server);
	assert_null(pools[2].zygote_server);
	assert_non_null(pools[3].zygote_server);
	zygote_server_free(k.zygote_servers);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_events_lead_to_the_expected_state),
		cmocka_unit_test(worker_events_survive_any_failed_allocation),
		cmocka_unit_test(waiting_worker_gives_a_warm_run),
		cmocka_unit_test(run_without_zygote_starts_cold),
		cmocka_unit_test(run_with_zygote_waits_for_a_warm_worker),
		cmocka_unit_test(client_that_left_gets_no_worker),
		cmocka_unit_test(run_starts_cold_if_its_warm_worker_fails),
		cmocka_unit_test(pool_pauses_building_after_repeated_failures),
		cmocka_unit_test(pool_that_is_unused_ends_its_workers),
		cmocka_unit_test(pool_of_the_tenant_with_the_most_goes_first),
		cmocka_unit_test(pool_beyond_the_maximum_replaces_another),
		cmocka_unit_test(pool_that_sessions_wait_for_is_not_replaced),
		cmocka_unit_test(zygotes_with_too_much_memory_end_by_tenant),
	};

	world_hook_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
