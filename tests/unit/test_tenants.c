/* tenants: who runs next, and who may hold how much. */
#include "tenants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tenants
with(size_t max, unsigned share_percent)
{
	return (struct tenants){ .limits = { .max = { max, max, max },
					     .share_percent = share_percent } };
}

/* How many places of one kind an owner gets. */
static size_t
take_all(struct tenants *ts, const char *name, enum tenant_place p)
{
	struct tenant *t = tenants_find(ts, name);
	struct remit_error err;
	size_t n = 0;

	while (tenants_enter(ts, t, p, &err) == 0)
		n++;
	assert_int_equal(err.code, REMIT_E_BUSY);
	return n;
}

static void
owner_holds_its_share_and_no_more(void **state)
{
	struct tenants ts = with(64, 50);

	(void)state;
	assert_int_equal(take_all(&ts, "alice", TENANT_SESSION), 32);
	assert_int_equal(take_all(&ts, "alice", TENANT_ROOM), 32);
	assert_int_equal(take_all(&ts, "bob", TENANT_SESSION), 32);
	assert_int_equal(take_all(&ts, "carol", TENANT_SESSION), 0);
	tenants_leave(&ts, tenants_find(&ts, "alice"), TENANT_SESSION);
	assert_int_equal(take_all(&ts, "carol", TENANT_SESSION), 1);
	tenants_free(&ts);
}

static void
whole_share_is_everything_and_smallest_share_is_one(void **state)
{
	struct tenants all = with(5, 100), none = with(5, 0), one = with(5, 1);

	(void)state;
	assert_int_equal(take_all(&all, "alice", TENANT_ROOM), 5);
	assert_int_equal(take_all(&none, "alice", TENANT_ROOM), 5);
	assert_int_equal(take_all(&one, "alice", TENANT_ROOM), 1);
	tenants_free(&all);
	tenants_free(&none);
	tenants_free(&one);
}

/* The owner whose turn has begun. */
static const char *
next(struct tenants *ts)
{
	const struct turn *turn = tenants_next(ts);

	return turn ? turn->tenant->name : "nobody";
}

static void
program_of_a_second_owner_does_not_wait_for_the_first_ones_queue(void **state)
{
	struct tenants ts = with(4, 50);
	struct turn alice[4], bob[2];

	(void)state;
	for (int i = 0; i < 4; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	assert_string_equal(next(&ts), "alice");
	assert_string_equal(next(&ts), "alice");
	assert_string_equal(next(&ts), "nobody"); /* two places stay free */
	for (int i = 0; i < 2; i++)
		tenants_wait(&ts, &bob[i], tenants_find(&ts, "bob"), 0, NULL);
	assert_string_equal(next(&ts), "bob");
	assert_string_equal(next(&ts), "bob");
	tenants_end(&ts, &alice[0]);
	assert_ptr_equal(tenants_next(&ts), &alice[2]);
	tenants_free(&ts);
}

static void
owners_take_turns_at_a_single_place(void **state)
{
	struct tenants ts = with(1, 50);
	struct turn alice[3], bob[2];
	const struct turn *order[] = { &alice[0], &bob[0], &alice[1], &bob[1],
				       &alice[2] };

	(void)state;
	for (int i = 0; i < 3; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	for (int i = 0; i < 2; i++)
		tenants_wait(&ts, &bob[i], tenants_find(&ts, "bob"), 0, NULL);
	for (size_t i = 0; i < 5; i++) {
		struct turn *turn = tenants_next(&ts);

		assert_ptr_equal(turn, order[i]);
		assert_null(tenants_next(&ts));
		tenants_end(&ts, turn);
	}
	assert_null(ts.waiting);
	assert_int_equal(ts.held[TENANT_PROGRAM], 0);
	tenants_free(&ts);
}

static void
next_place_goes_to_the_owner_that_runs_least(void **state)
{
	struct tenants ts = with(3, 100);
	struct turn alice[4], bob;

	(void)state;
	for (int i = 0; i < 4; i++)
		tenants_wait(&ts, &alice[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	for (int i = 0; i < 3; i++)
		assert_string_equal(next(&ts), "alice");
	tenants_wait(&ts, &bob, tenants_find(&ts, "bob"), 0, NULL);
	assert_string_equal(next(&ts), "nobody");
	tenants_end(&ts, &alice[1]);
	assert_string_equal(next(&ts), "bob");
	tenants_free(&ts);
}

static void
waiting_program_that_gives_up_leaves_the_queue(void **state)
{
	struct tenants ts = with(1, 100);
	struct turn turns[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		tenants_wait(&ts, &turns[i], tenants_find(&ts, "alice"), 0,
			     NULL);
	assert_ptr_equal(tenants_next(&ts), &turns[0]);
	tenants_end(&ts, &turns[1]);
	tenants_end(&ts, &turns[0]);
	tenants_end(&ts, &turns[0]); /* twice is once */
	assert_ptr_equal(tenants_next(&ts), &turns[2]);
	assert_int_equal(ts.held[TENANT_PROGRAM], 1);
	tenants_free(&ts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_holds_its_share_and_no_more),
		cmocka_unit_test(
			whole_share_is_everything_and_smallest_share_is_one),
		cmocka_unit_test(
			program_of_a_second_owner_does_not_wait_for_the_first_ones_queue),
		cmocka_unit_test(owners_take_turns_at_a_single_place),
		cmocka_unit_test(next_place_goes_to_the_owner_that_runs_least),
		cmocka_unit_test(
			waiting_program_that_gives_up_leaves_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
