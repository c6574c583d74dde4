/* serve_limits: the limits that are chosen for a machine, and their sums. */
#include "serve/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* The memory of a program with the default policy, results included. */
#define PROGRAM (660 * MIB)

static struct serve_limits
settled(uint64_t machine_bytes, uint64_t program_bytes, bool is_shared)
{
	struct serve_setting s = { .machine_bytes = machine_bytes,
				   .program_bytes = program_bytes,
				   .is_shared = is_shared };
	struct serve_limits l = { 0 };

	serve_limits_init(&l);
	serve_limits_settle(&l, &s);
	return l;
}

static void
programs_of_several_keys_get_the_remaining_memory(void **state)
{
	struct serve_limits l = settled(24 * GIB, PROGRAM, true);
	struct serve_sum s = serve_limits_sum(&l);

	(void)state;
	assert_true(s.memory_bytes < 24 * GIB);
	assert_true(s.memory_bytes > 22 * GIB);
	assert_int_equal(s.memory_bytes, s.program_bytes + s.result_bytes +
						 s.body_bytes + s.own_bytes +
						 s.keeper_bytes);
	assert_int_equal(s.disk_bytes,
			 s.artifact_bytes + s.package_bytes + s.snapshot_bytes);
}

/* Every key can run the programs that its policy allows. */
static void
share_of_a_key_fits_its_program_even_on_a_small_machine(void **state)
{
	static const uint64_t machines[] = { GIB, 2 * GIB, 4 * GIB, 24 * GIB };

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		uint64_t machine = machines[i];
		struct serve_limits l = settled(machine, PROGRAM, true);

		assert_true(serve_limits_share(l.memory_bytes, 50) >= PROGRAM);
		/* A program without a limit counts with the machine's
		   memory. */
		l = settled(machine, UINT64_MAX, true);
		assert_true(serve_limits_share(l.memory_bytes, 50) >= machine);
		assert_true(serve_limits_sum(&l).memory_bytes > machine);
	}
}

/* All sessions that a keeper can have fit. */
static void
single_key_may_run_all_its_programs(void **state)
{
	static const uint64_t machines[] = { 2 * GIB, 24 * GIB };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct serve_limits l = settled(machines[i], PROGRAM, false);

		assert_true(l.memory_bytes >= LIMIT_SESSIONS * PROGRAM);
		assert_true(l.memory_bytes >= 4 * machines[i]);
		l = settled(machines[i], UINT64_MAX, false);
		assert_int_equal(l.memory_bytes, 64 * machines[i]);
	}
}

static void
value_set_by_an_option_is_kept(void **state)
{
	struct serve_setting setting = { GIB, PROGRAM, true };
	const struct options serve = {
		.name = "serve",
		.tables = { { .make = serve_limits_options } },
	};
	char *argv[] = { "serve", "--max-memory", "300M", NULL };
	struct serve_limits l = { 0 };
	struct remit_error err;

	(void)state;
	serve_limits_init(&l);
	assert_int_equal(options_parse(&serve, &l, 3, argv, NULL, NULL, &err),
			 0);
	serve_limits_settle(&l, &setting);
	assert_int_equal(l.memory_bytes, 300 * MIB);
}

static void
sums_of_the_largest_values_do_not_overflow(void **state)
{
	struct serve_limits l = settled(UINT64_MAX, UINT64_MAX, false);
	struct serve_sum s;

	(void)state;
	assert_int_equal(l.memory_bytes, UINT64_MAX);
	memset(&l, 0xff, sizeof(l));
	s = serve_limits_sum(&l);
	assert_int_equal(s.memory_bytes, UINT64_MAX);
	assert_int_equal(s.disk_bytes, UINT64_MAX);
	assert_int_equal(serve_limits_share(UINT64_MAX, 100), UINT64_MAX);
	assert_true(serve_limits_share(UINT64_MAX, 50) <= UINT64_MAX / 2 + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			programs_of_several_keys_get_the_remaining_memory),
		cmocka_unit_test(
			share_of_a_key_fits_its_program_even_on_a_small_machine),
		cmocka_unit_test(single_key_may_run_all_its_programs),
		cmocka_unit_test(value_set_by_an_option_is_kept),
		cmocka_unit_test(sums_of_the_largest_values_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
