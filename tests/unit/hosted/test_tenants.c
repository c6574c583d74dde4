/* tenants: which owner runs next, and how much each may use. */
#include "hosted/tenants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tenants
make_tenants(size_t max, unsigned share_percent)
{
	return (struct tenants){ .limits = { .max = { max, max, max },
					     .share_percent = share_percent } };
}

/* Returns how many places of one kind the owner gets. */
static size_t
acquire_all(struct tenants *ts, const char *name, enum tenant_place p)
{
	struct tenant *t = tenants_find(ts, name);
	struct remit_error err;
	size_t n = 0;

	while (tenants_acquire(ts, t, p, &err) == 0)
		n++;
	assert_int_equal(err.code, REMIT_E_BUSY);
	return n;
}

static void
owner_is_limited_to_its_share(void **state)
{
	struct tenants ts = make_tenants(64, 50);

	(void)state;
	assert_int_equal(acquire_all(&ts, "alice", TENANT_SESSION), 32);
	assert_int_equal(acquire_all(&ts, "alice", TENANT_HOSTED), 32);
	assert_int_equal(acquire_all(&ts, "bob", TENANT_SESSION), 32);
	assert_int_equal(acquire_all(&ts, "carol", TENANT_SESSION), 0);
	tenants_release(&ts, tenants_find(&ts, "alice"), TENANT_SESSION);
	assert_int_equal(acquire_all(&ts, "carol", TENANT_SESSION), 1);
	tenants_free(&ts);
}

static void
share_of_100_percent_is_everything_and_smallest_share_is_one(void **state)
{
	struct tenants all = make_tenants(5, 100), none = make_tenants(5, 0),
		       one = make_tenants(5, 1);

	(void)state;
	assert_int_equal(acquire_all(&all, "alice", TENANT_HOSTED), 5);
	assert_int_equal(acquire_all(&none, "alice", TENANT_HOSTED), 5);
	assert_int_equal(acquire_all(&one, "alice", TENANT_HOSTED), 1);
	tenants_free(&all);
	tenants_free(&none);
	tenants_free(&one);
}

/* Returns the owner whose turn has begun. */
static const char *
next_turn(struct tenants *ts)
{
	const struct turn *turn = tenants_next(ts);

	return turn ? turn->tenant->name : "none";
}

static void
program_of_second_owner_does_not_wait_for_the_queue_of_the_first(void **state)
{
	struct tenants ts = make_tenants(4, 50);
	struct turn alice[4], bob[2];

	(void)state;
	for (int i = 0; i < 4; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	assert_string_equal(next_turn(&ts), "alice");
	assert_string_equal(next_turn(&ts), "alice");
	assert_string_equal(next_turn(&ts), "none"); /* two places stay free */
	for (int i = 0; i < 2; i++)
		tenants_wait(&ts, &bob[i], tenants_find(&ts, "bob"), 0, NULL);
	assert_string_equal(next_turn(&ts), "bob");
	assert_string_equal(next_turn(&ts), "bob");
	tenants_end(&ts, &alice[0]);
	assert_ptr_equal(tenants_next(&ts), &alice[2]);
	tenants_free(&ts);
}

static void
owners_take_turns_at_a_single_place(void **state)
{
	struct tenants ts = make_tenants(1, 50);
	struct turn alice[3], bob[2];
	const struct turn *expected[] = { &alice[0], &bob[0], &alice[1],
					  &bob[1], &alice[2] };

	(void)state;
	for (int i = 0; i < 3; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	for (int i = 0; i < 2; i++)
		tenants_wait(&ts, &bob[i], tenants_find(&ts, "bob"), 0, NULL);
	for (size_t i = 0; i < 5; i++) {
		struct turn *turn = tenants_next(&ts);

		assert_ptr_equal(turn, expected[i]);
		assert_null(tenants_next(&ts));
		tenants_end(&ts, turn);
	}
	assert_null(ts.waiting);
	assert_int_equal(ts.used[TENANT_PROGRAM], 0);
	tenants_free(&ts);
}

static void
next_place_goes_to_the_owner_with_fewest_programs(void **state)
{
	struct tenants ts = make_tenants(3, 100);
	struct turn alice[4], bob;

	(void)state;
	for (int i = 0; i < 4; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	for (int i = 0; i < 3; i++)
		assert_string_equal(next_turn(&ts), "alice");
	tenants_wait(&ts, &bob, tenants_find(&ts, "bob"), 0, NULL);
	assert_string_equal(next_turn(&ts), "none");
	tenants_end(&ts, &alice[1]);
	assert_string_equal(next_turn(&ts), "bob");
	tenants_free(&ts);
}

static void
waiting_program_that_is_cancelled_leaves_the_queue(void **state)
{
	struct tenants ts = make_tenants(1, 100);
	struct turn turns[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		tenants_wait(&ts, &turns[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	assert_ptr_equal(tenants_next(&ts), &turns[0]);
	tenants_end(&ts, &turns[1]);
	tenants_end(&ts, &turns[0]);
	tenants_end(&ts, &turns[0]); /* a second call has no effect */
	assert_ptr_equal(tenants_next(&ts), &turns[2]);
	assert_int_equal(ts.used[TENANT_PROGRAM], 1);
	tenants_free(&ts);
}

static struct tenants
with_memory(uint64_t bytes, unsigned share_percent)
{
	struct tenants ts = make_tenants(8, share_percent);

	ts.limits.max_bytes[TENANT_MEMORY] = bytes;
	return ts;
}

static void
bytes_fit_up_to_the_owner_share_and_the_total(void **state)
{
	static const struct {
		uint64_t max, alice, bob,
			wanted; /* bytes in use, and what alice wants */
		unsigned share_percent;
		bool expected;
	} rows[] = {
		{ 100, 0, 0, 50, 50, true },
		{ 100, 0, 0, 51, 50, false }, /* even if nothing is in use */
		{ 100, 30, 0, 20, 50, true },
		{ 100, 30, 0, 21, 50, false },
		{ 100, 0, 60, 40, 50, true },
		{ 100, 0, 60, 41, 50, false },
		{ 100, 0, 0, 100, 100, true },
		{ 100, 0, 0, 101, 100, false },
		{ 100, 1, 0, UINT64_MAX, 100, false }, /* would wrap to 0 */
		{ 100, 0, 1, UINT64_MAX, 100, false },
		{ UINT64_MAX, 0, 0, UINT64_MAX, 100, true },
		{ 0, 1, 1, UINT64_MAX, 50, true }, /* 0: no limit */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tenants ts =
			with_memory(rows[i].max, rows[i].share_percent);
		struct tenant *alice = tenants_find(&ts, "alice");
		struct tenant *bob = tenants_find(&ts, "bob");

		tenants_charge(&ts, alice, TENANT_MEMORY, rows[i].alice);
		tenants_charge(&ts, bob, TENANT_MEMORY, rows[i].bob);
		assert_int_equal(
			tenants_fits(&ts, alice, TENANT_MEMORY, rows[i].wanted),
			rows[i].expected);
		/* The other kind of bytes is not affected. */
		assert_true(tenants_fits(&ts, alice, TENANT_RESULTS,
					 rows[i].wanted));
		tenants_refund(&ts, alice, TENANT_MEMORY, rows[i].alice);
		tenants_refund(&ts, bob, TENANT_MEMORY, rows[i].bob);
		assert_int_equal(ts.bytes[TENANT_MEMORY], 0);
		tenants_free(&ts);
	}
}

static void
program_waits_for_memory_and_releases_it(void **state)
{
	struct tenants ts = with_memory(100, 100);
	struct tenant *alice = tenants_find(&ts, "alice");
	struct turn turns[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		tenants_wait(&ts, &turns[i], alice, i == 2 ? 30 : 40, NULL);
	assert_ptr_equal(tenants_next(&ts), &turns[0]);
	assert_ptr_equal(tenants_next(&ts), &turns[1]);
	assert_null(tenants_next(&ts));
	tenants_end(&ts, &turns[0]);
	assert_ptr_equal(tenants_next(&ts), &turns[2]);
	assert_null(tenants_next(&ts)); /* 30 are left */
	tenants_end(&ts, &turns[3]);	/* it never ran */
	assert_int_equal(alice->bytes[TENANT_MEMORY], 70);
	tenants_end(&ts, &turns[1]);
	tenants_end(&ts, &turns[1]); /* a second call has no effect */
	tenants_end(&ts, &turns[2]);
	assert_int_equal(alice->bytes[TENANT_MEMORY], 0);
	assert_int_equal(ts.bytes[TENANT_MEMORY], 0);
	tenants_free(&ts);
}

static void
small_program_overtakes_a_large_one_that_waits_for_memory(void **state)
{
	struct tenants ts = with_memory(100, 50);
	struct tenant *alice = tenants_find(&ts, "alice");
	struct tenant *bob = tenants_find(&ts, "bob");
	struct turn running, large, small;

	(void)state;
	tenants_wait(&ts, &running, alice, 40, NULL);
	assert_ptr_equal(tenants_next(&ts), &running);
	tenants_wait(&ts, &large, alice, 20, NULL);
	tenants_wait(&ts, &small, bob, 50, NULL);
	assert_ptr_equal(tenants_next(&ts), &small);
	assert_null(tenants_next(&ts));
	tenants_end(&ts, &running);
	assert_ptr_equal(tenants_next(&ts), &large);
	tenants_free(&ts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_is_limited_to_its_share),
		cmocka_unit_test(
			share_of_100_percent_is_everything_and_smallest_share_is_one),
		cmocka_unit_test(
			program_of_second_owner_does_not_wait_for_the_queue_of_the_first),
		cmocka_unit_test(owners_take_turns_at_a_single_place),
		cmocka_unit_test(
			next_place_goes_to_the_owner_with_fewest_programs),
		cmocka_unit_test(
			waiting_program_that_is_cancelled_leaves_the_queue),
		cmocka_unit_test(bytes_fit_up_to_the_owner_share_and_the_total),
		cmocka_unit_test(program_waits_for_memory_and_releases_it),
		cmocka_unit_test(
			small_program_overtakes_a_large_one_that_waits_for_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
