/*
 * plan, tier landlock: without namespaces fewer fields can be enforced, and the
 * others are refused unless they are unlimited.
 */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The preset on a host without namespaces and cgroups. */
static struct trial
contained(void)
{
	static const enum capability missing[] = {
		CAN_USER_NAMESPACE, CAN_ID_MAPS,     CAN_MOUNT,
		CAN_PIVOT_ROOT,	    CAN_LANDLOCK,    CAN_SELF_TEST,
		CAN_CGROUP_MEMORY,  CAN_CGROUP_PIDS, CAN_CGROUP_CPU,
		CAN_CGROUP_KILL,
	};
	struct trial t = ordinary();

	for (size_t i = 0; i < ARRAY_LEN(missing); i++)
		take_away(&t, missing[i]);
	assert_int_equal(policy_preset(&t.policy, "landlock", &t.err), 0);
	return t;
}

static void
landlock_preset_needs_no_namespace_and_no_cgroup(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	accepted(&t);
	assert_int_equal(t.plan.tier, TIER_LANDLOCK);
	assert_false(t.plan.own_network);
	kept_by(&t, F_FILESYSTEM_READ_ROOTS, MECH(LANDLOCK));
	kept_by(&t, F_NETWORK_ACCESS, MECH(SECCOMP) | MECH(LANDLOCK));
	kept_by(&t, F_PACKAGE_INSTALLATION, MECH(SECCOMP) | MECH(LANDLOCK));
	kept_by(&t, F_SUBPROCESS_EXECUTION, MECH(SECCOMP) | MECH(LANDLOCK));
	kept_by(&t, F_CPU_SECONDS, MECH(RLIMIT_CPU));
	granted(&t, F_PROCESSES);
	granted(&t, F_DISK_BYTES);
	granted(&t, F_FILES);
	assert_int_equal(row(&t, F_MEMORY_BYTES)->strength, STRENGTH_FALLBACK);
	assert_int_equal(t.plan.limits.address_space_bytes,
			 t.policy.memory_bytes);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 0);
}

static void
landlock_tier_notes_every_weaker_field(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	accepted(&t);
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_int_not_equal(row(&t, (enum field_id)i)->strength,
				     STRENGTH_NONE);
	assert_non_null(
		strstr(row(&t, F_FILESYSTEM_READ_ROOTS)->note, "are visible"));
}

static void
limit_that_the_landlock_tier_cannot_enforce_is_refused_by_name(void **state)
{
	static const struct {
		const char *flag, *text, *field;
	} limits[] = {
		{ "disk", "256M", "disk_bytes" },
		{ "files", "10000", "files" },
		{ "processes", "64", "processes" },
		{ "memory-fallback", "none", "memory_bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		own(trial) struct trial t = contained();

		set(&t, limits[i].flag, limits[i].text);
		refused(&t, limits[i].field, "");
		assert_non_null(strstr(t.err.remedy, "landlock"));
	}
}

static void
thread_limit_of_the_landlock_tier_needs_root(void **state)
{
	own(trial) struct trial root = contained(), user = contained();

	(void)state;
	root.host.by_root = true;
	set(&root, "processes", "7");
	accepted(&root);
	kept_by(&root, F_PROCESSES, MECH(RLIMIT_NPROC));
	assert_int_equal(root.plan.limits.nproc, 7);
	user.host.can[CAN_CGROUP_PIDS].yes = true;
	set(&user, "processes", "7");
	accepted(&user);
	kept_by(&user, F_PROCESSES, MECH(CGROUP_PIDS));
	assert_int_equal(user.plan.limits.nproc, 0);
	assert_int_equal(user.plan.limits.pids_cgroup, 7);
}

static void
memory_cgroup_makes_the_limit_exact(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	t.host.can[CAN_CGROUP_MEMORY].yes = true;
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(CGROUP_MEMORY));
	assert_int_equal(t.plan.limits.address_space_bytes, 0);
}

static void
landlock_tier_has_one_process_and_no_remapped_paths(void **state)
{
	own(trial) struct trial t = contained(), m = contained();

	(void)state;
	set(&t, "subprocess", "true");
	refused(&t, "subprocess_execution", "one process");
	set(&m, "mount", "/usr:/usr");
	accepted(&m);
	set(&m, "mount", "/usr:/elsewhere");
	refused(&m, "mounts", "/elsewhere");
}

static void
landlock_tier_always_has_the_strict_filter(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	t.host.can[CAN_CGROUP_MEMORY].yes = true;
	set(&t, "memory", "unlimited");
	set(&t, "net", "host");
	accepted(&t);
	assert_int_equal(t.plan.filter,
			 PLAN_FILTER_STRICT_MEMORY | PLAN_FILTER_NETWORK);
}

static void
an_old_landlock_is_refused(void **state)
{
	(void)state;
	for (int abi = 0; abi <= 7; abi++) {
		own(trial) struct trial t = contained();

		t.host.landlock_abi = abi;
		if (abi < 3)
			refused(&t, "tier", "ABI 3");
		else
			accepted(&t);
	}
}

static void
host_without_the_landlock_tier_is_refused(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	take_away(&t, CAN_LANDLOCK_TIER);
	refused(&t, "tier", "landlock_tier");
}

static void
limits_cannot_be_lifted_in_a_tier_that_can_enforce_them(void **state)
{
	static const char *const names[] = { "disk", "files", "processes" };
	static const enum tier spaced[] = { TIER_STATIC, TIER_LOCAL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(spaced); k++) {
			own(trial) struct trial t = ordinary();

			t.policy.tier = spaced[k];
			set(&t, names[i], "unlimited");
			refused(&t, field_find(names[i])->name, "");
		}
}

static void
landlock_tier_is_never_warm(void **state)
{
	own(trial) struct trial t = contained();

	(void)state;
	accepted(&t);
	assert_false(plan_can_be_warm(&t.plan));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			landlock_preset_needs_no_namespace_and_no_cgroup),
		cmocka_unit_test(landlock_tier_notes_every_weaker_field),
		cmocka_unit_test(
			limit_that_the_landlock_tier_cannot_enforce_is_refused_by_name),
		cmocka_unit_test(thread_limit_of_the_landlock_tier_needs_root),
		cmocka_unit_test(memory_cgroup_makes_the_limit_exact),
		cmocka_unit_test(
			landlock_tier_has_one_process_and_no_remapped_paths),
		cmocka_unit_test(landlock_tier_always_has_the_strict_filter),
		cmocka_unit_test(an_old_landlock_is_refused),
		cmocka_unit_test(host_without_the_landlock_tier_is_refused),
		cmocka_unit_test(
			limits_cannot_be_lifted_in_a_tier_that_can_enforce_them),
		cmocka_unit_test(landlock_tier_is_never_warm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
