/* The plan of the tier wasm: what its interpreter lacks is refused by name, and
   its memory is limited without a cgroup. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct trial
guest(void)
{
	struct trial t = ordinary();

	t.policy.tier = TIER_WASM;
	return t;
}

static void
what_webassembly_lacks_is_refused_by_name(void **state)
{
	static const struct {
		const char *field, *value, *words;
	} rows[] = {
		{ "subprocess_execution", "true", "has one process" },
		{ "network_access", "true", "has no sockets" },
		{ "network_access", "loopback", "has no sockets" },
		{ "network_access", "host", "has no sockets" },
		{ "network_allow", "example.org:443", "does not support it" },
		{ "packages", "numpy", "does not support it" },
		{ "package_installation", "true", "has no packages" },
		{ "mounts", "/srv:/srv:direct", "(mode direct)" },
		{ "preload", "json", "can be preloaded only in" },
		{ "python", "/usr/bin/python3", "runs only the interpreter" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = guest();

		set(&t, rows[i].field, rows[i].value);
		refused(&t, rows[i].field, rows[i].words);
	}
}

static void
session_has_no_branches(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	t.job.session = true;
	accepted(&t);
	t.job.forkable = true;
	refused(&t, "tier", "cannot fork");
}

static void
host_must_offer_what_the_tier_local_needs(void **state)
{
	(void)state;
	for (int i = 0; i < CAN_COUNT; i++) {
		own(trial) struct trial t = guest();

		take_away(&t, (enum capability)i);
		if (capabilities[i].needed)
			refused(&t, "tier", capabilities[i].name);
		else
			accepted(&t);
	}
}

static void
filter_is_that_of_a_guest(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	accepted(&t);
	assert_int_equal(t.plan.filter, PLAN_FILTER_WASM);
	assert_false(plan_can_be_warm(&t.plan));
	kept_by(&t, F_SUBPROCESS_EXECUTION, MECH(SECCOMP) | MECH(LANDLOCK));
	kept_by(&t, F_NETWORK_ACCESS,
		MECH(SECCOMP) | MECH(NETWORK_NAMESPACE) | MECH(LANDLOCK));
}

static void
memory_is_limited_in_the_guest_and_by_the_cgroup(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(CGROUP_MEMORY) | MECH(LINEAR_MEMORY));
	assert_int_equal(t.plan.limits.memory_cgroup_bytes, 512 * MIB);
	assert_true(t.plan.limits.linear_bytes < 512 * MIB);
	assert_true(t.plan.limits.linear_bytes >= 448 * MIB);
	assert_int_equal(t.plan.limits.address_space_bytes, 0);
}

/* Files, kernel buffers, the guest and its program fit into the field. */
static void
memory_needs_no_cgroup(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(LINEAR_MEMORY));
	assert_int_equal(t.plan.limits.memory_cgroup_bytes, 0);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 64 * MIB);
	assert_true(t.plan.limits.linear_bytes + 64 * MIB + 48 * MIB +
			    t.policy.open_files * t.host.socket_buffer_bytes <
		    512 * MIB);
	assert_true(t.plan.limits.linear_bytes > 256 * MIB);
}

static void
memory_below_the_interpreter_s_is_refused(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	set(&t, "memory_bytes", "71M");
	refused(&t, "memory_bytes", "it needs 72 MiB");
	set(&t, "memory_bytes", "72M");
	accepted(&t);
	assert_int_equal(t.plan.limits.linear_bytes, 24 * MIB);
}

/* wasm2c keeps the size of a memory in 32 bits. */
static void
memory_is_always_less_than_4_gib(void **state)
{
	own(trial) struct trial t = guest();

	(void)state;
	set(&t, "memory_bytes", "64G");
	accepted(&t);
	assert_int_equal(t.plan.limits.linear_bytes, UINT64_C(65535) << 16);
	set(&t, "memory_bytes", "unlimited");
	accepted(&t);
	assert_int_equal(t.plan.limits.linear_bytes, UINT64_C(65535) << 16);
	assert_int_equal(row(&t, F_MEMORY_BYTES)->strength, STRENGTH_GRANTED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_webassembly_lacks_is_refused_by_name),
		cmocka_unit_test(session_has_no_branches),
		cmocka_unit_test(host_must_offer_what_the_tier_local_needs),
		cmocka_unit_test(filter_is_that_of_a_guest),
		cmocka_unit_test(
			memory_is_limited_in_the_guest_and_by_the_cgroup),
		cmocka_unit_test(memory_needs_no_cgroup),
		cmocka_unit_test(memory_below_the_interpreter_s_is_refused),
		cmocka_unit_test(memory_is_always_less_than_4_gib),
	};

	return cmocka_run_group_tests_name("plan_wasm", tests, NULL, NULL);
}
