/*
 * plan: memory, files, processor time and processes, with and without cgroups.
 */
#include "policy/plan/memory.h"
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- memory ---- */

/*
 * The sum of everything that can use memory, computed from the plan's limits:
 * each of 65530 mappings can have a page with two separate page tables.
 */
static uint64_t
memory_in_all(const struct trial *t)
{
	const struct plan_limits *l = &t->plan.limits;
	uint64_t pages = l->address_space_bytes / t->host.page_bytes;

	if (pages > 65530)
		pages = 65530;
	return l->address_space_bytes + pages * 8704 + l->tmpfs_bytes +
	       l->tmpfs_inodes * 1024 +
	       l->open_files * t->host.socket_buffer_bytes +
	       (l->nproc - 1) * 16384;
}

static void
memory_without_a_cgroup_is_enforced_by_address_space_and_filter(void **state)
{
	static const char *const presets[] = { "default", "strict" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		own(trial) struct trial t = ordinary();
		struct remit_error err;

		assert_int_equal(policy_preset(&t.policy, presets[i], &err), 0);
		take_away(&t, CAN_CGROUP_MEMORY);
		accepted(&t);
		kept_by(&t, F_MEMORY_BYTES, MECH(RLIMIT_AS) | MECH(SECCOMP));
		assert_int_equal(t.plan.limits.memory_cgroup_bytes, 0);
		assert_true(t.plan.limits.address_space_bytes >= 40 * MIB);
		assert_true(memory_in_all(&t) <= t.policy.memory_bytes);
		assert_int_equal(t.plan.filter, PLAN_FILTER_STRICT_MEMORY);
		assert_non_null(
			strstr(row(&t, F_MEMORY_BYTES)->note, "no cgroup"));
	}
}

static void
the_bound_is_that_of_memory_bound(void **state)
{
	own(trial) struct trial t = ordinary();
	struct memory_bound b;

	(void)state;
	take_away(&t, CAN_CGROUP_MEMORY);
	set(&t, "memory", "700M");
	accepted(&t);
	memory_bound_compute(&b, &t.policy, &t.host);
	assert_int_equal(t.plan.limits.address_space_bytes, b.address_space);
	assert_int_equal(t.plan.disk_share_bytes, memory_bound_disk(&t.policy));
	assert_int_equal(t.plan.limits.tmpfs_bytes, t.plan.disk_share_bytes);
}

/* The libraries need more address space than the exact limit leaves. */
static void
the_scientific_preset_accepts_a_fallback_for_its_memory(void **state)
{
	own(trial) struct trial t = ordinary();
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_preset(&t.policy, "scientific", &err), 0);
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(CGROUP_MEMORY));
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	assert_int_equal(row(&t, F_MEMORY_BYTES)->strength, STRENGTH_FALLBACK);
	assert_int_equal(t.plan.limits.address_space_bytes,
			 t.policy.memory_bytes);
	assert_int_equal(t.plan.filter, 0);
}

static void
without_a_cgroup_the_default_disk_is_an_eighth_of_the_memory(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_string_equal(row(&t, F_DISK_BYTES)->note, "");
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	assert_int_equal(t.plan.disk_share_bytes, 64 * MIB);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 64 * MIB);
	kept_by(&t, F_DISK_BYTES, MECH(TMPFS_SIZE));
	assert_non_null(strstr(row(&t, F_DISK_BYTES)->note, "64 MiB"));
	assert_non_null(strstr(row(&t, F_DISK_BYTES)->note, "no cgroup"));
	set(&t, "memory", "4G");
	accepted(&t);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 256 * MIB);
	assert_string_equal(row(&t, F_DISK_BYTES)->note, "");
}

static void
disk_set_by_the_policy_stays_without_a_cgroup(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "disk", "100M");
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	assert_int_equal(t.plan.disk_share_bytes, 100 * MIB);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 100 * MIB);
	assert_string_equal(row(&t, F_DISK_BYTES)->note, "");
	assert_true(memory_in_all(&t) <= t.policy.memory_bytes);
}

/* For kernels on which TCP buffers do not count as memory of the cgroup. */
static void
tcp_has_a_quarter_of_the_memory_where_there_is_a_network_and_a_cgroup(
	void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		bool network = n & 1, group = n & 2, unlimited = n & 4;
		bool wanted = network && group && !unlimited;
		own(trial) struct trial t = ordinary();

		t.policy.network_access = network;
		t.policy.memory_fallback = 1;
		set(&t, "memory", unlimited ? "unlimited" : "1000M");
		if (!group)
			take_away(&t, CAN_CGROUP_MEMORY);
		accepted(&t);
		assert_int_equal(t.plan.limits.tcp_cgroup_bytes,
				 wanted ? 250 * MIB : 0);
	}
}

static void
memory_limit_too_small_for_a_process_is_refused_without_a_cgroup(void **state)
{
	static const char *const rows[][2] = {
		{ "memory", "200M" },	  { "disk", "500M" },
		{ "files", "1000000" },	  { "open-files", "65536" },
		{ "processes", "32768" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();

		set(&t, rows[i][0], rows[i][1]);
		accepted(&t);
		take_away(&t, CAN_CGROUP_MEMORY);
		refused(&t, "memory_bytes", t.host.can[CAN_CGROUP_MEMORY].why);
		assert_non_null(strstr(t.err.remedy, "--memory"));
	}
}

static void
a_memory_limit_over_all_processes_or_sockets_needs_a_cgroup(void **state)
{
	static const struct {
		bool subprocess, network;
		const char *words;
	} rows[] = {
		{ true, false, "subprocess_execution" },
		{ false, true, "network_access" },
		{ true, true, "subprocess_execution" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();

		t.policy.subprocess_execution = rows[i].subprocess;
		t.policy.network_access = rows[i].network;
		accepted(&t);
		kept_by(&t, F_MEMORY_BYTES, MECH(CGROUP_MEMORY));
		assert_int_equal(t.plan.limits.memory_cgroup_bytes, 512 * MIB);
		take_away(&t, CAN_CGROUP_MEMORY);
		refused(&t, "memory_bytes", rows[i].words);
		assert_non_null(strstr(t.err.message,
				       t.host.can[CAN_CGROUP_MEMORY].why));
		assert_non_null(strstr(t.err.remedy, "--memory-fallback"));
	}
}

static void
accepted_memory_fallback_is_reported_as_fallback(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 4; i++) {
		own(trial) struct trial t = ordinary();
		const struct plan_row *r;

		t.policy.subprocess_execution = i & 1;
		t.policy.network_access = i & 2;
		set(&t, "memory_fallback", "per_process");
		take_away(&t, CAN_CGROUP_MEMORY);
		accepted(&t);
		r = row(&t, F_MEMORY_BYTES);
		assert_int_equal(r->strength, STRENGTH_FALLBACK);
		assert_true(r->mechanisms & MECH(RLIMIT_AS));
		assert_false(r->mechanisms & MECH(CGROUP_MEMORY));
		assert_true(r->note[0]);
		assert_int_equal(t.plan.limits.address_space_bytes, 512 * MIB);
		assert_int_equal(t.plan.limits.memory_cgroup_bytes, 0);
		assert_int_equal(t.plan.disk_share_bytes, 0);
		assert_int_equal(t.plan.limits.tmpfs_bytes, 256 * MIB);
	}
}

/* A fallback is used only if it is needed. */
static void
accepted_fallback_is_not_used_if_a_cgroup_exists(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.subprocess_execution = true;
	set(&t, "memory_fallback", "per_process");
	set(&t, "cpu_fallback", "per_process");
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(CGROUP_MEMORY));
	kept_by(&t, F_CPU_SECONDS, MECH(CGROUP_CPU) | MECH(RLIMIT_CPU));
	t.policy.subprocess_execution = false;
	take_away(&t, CAN_CGROUP_CPU);
	accepted(&t);
	kept_by(&t, F_CPU_SECONDS, MECH(RLIMIT_CPU));
}

/* ---- processor time and processes ---- */

static void
cpu_limit_of_one_process_is_enforced_by_its_rlimit(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	take_away(&t, CAN_CGROUP_CPU);
	accepted(&t);
	kept_by(&t, F_CPU_SECONDS, MECH(RLIMIT_CPU));
	assert_int_equal(t.plan.limits.cpu_cgroup_ms, 0);
	assert_true(is_one_second_above(t.plan.limits.cpu_rlimit_s, 30000));
}

static void
processor_time_of_all_processes_needs_a_cgroup_or_a_fallback(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.subprocess_execution = true;
	take_away(&t, CAN_CGROUP_CPU);
	refused(&t, "cpu_seconds", "subprocess_execution");
	assert_non_null(strstr(t.err.message, t.host.can[CAN_CGROUP_CPU].why));
	assert_non_null(strstr(t.err.remedy, "--cpu-fallback"));
	set(&t, "cpu_fallback", "per_process");
	accepted(&t);
	assert_int_equal(row(&t, F_CPU_SECONDS)->strength, STRENGTH_FALLBACK);
	assert_int_equal(row(&t, F_CPU_SECONDS)->mechanisms, MECH(RLIMIT_CPU));
	assert_true(row(&t, F_CPU_SECONDS)->note[0]);
}

static void
the_rlimit_in_whole_seconds_is_one_above_the_limit(void **state)
{
	static const uint64_t times_ms[] = { 1, 999, 1000, 1001, 1500, 1999 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times_ms); i++) {
		own(trial) struct trial t = ordinary();

		t.policy.cpu_ms = times_ms[i];
		accepted(&t);
		assert_int_equal(t.plan.limits.cpu_cgroup_ms, times_ms[i]);
		assert_true(is_one_second_above(t.plan.limits.cpu_rlimit_s,
						times_ms[i]));
	}
}

static void
cpus_are_at_most_those_of_the_host(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "cpus", "16");
	accepted(&t);
	assert_int_equal(t.plan.limits.cpus, 8);
	set(&t, "cpus", "8");
	accepted(&t);
	assert_int_equal(t.plan.limits.cpus, 8);
	set(&t, "cpus", "3");
	accepted(&t);
	assert_int_equal(t.plan.limits.cpus, 3);
}

static void
processes_are_counted_without_a_cgroup_too(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	take_away(&t, CAN_CGROUP_PIDS);
	accepted(&t);
	kept_by(&t, F_PROCESSES, MECH(RLIMIT_NPROC));
	assert_int_equal(t.plan.limits.pids_cgroup, 0);
	assert_int_equal(t.plan.limits.nproc, 65);
}

static void
each_cell_of_a_session_has_its_processor_time_by_the_keeper_s_clock(
	void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.job.session = true;
	t.host.can[CAN_CGROUP_CPU].yes = false;
	accepted(&t);
	/* RLIMIT_CPU counts from the start of the process and cannot be
	   raised. */
	assert_int_equal(t.plan.limits.cpu_rlimit_s, 0);
	assert_int_equal(t.plan.limits.cpu_clock_ms, t.policy.cpu_ms);
	assert_int_equal(row(&t, F_CPU_SECONDS)->mechanisms, MECH(CPU_CLOCK));
	assert_int_equal(row(&t, F_CPU_SECONDS)->strength, STRENGTH_ENFORCED);
	assert_int_equal(row(&t, F_SESSION_IDLE)->mechanisms, MECH(TIMER));
}

/* The clock of one process does not include its children. */
static void
session_with_subprocesses_needs_a_cpu_cgroup(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.job.session = true;
	set(&t, "subprocess", "true");
	set(&t, "cpu-fallback", "per_process");
	set(&t, "memory-fallback", "per_process");
	t.host.can[CAN_CGROUP_CPU].yes = false;
	refused(&t, "cpu_seconds", "no writable cpu cgroup");
}

static void
session_is_refused_in_the_static_tier(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.job.session = true;
	t.policy.tier = TIER_STATIC;
	refused(&t, "tier", "runs no code");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			memory_without_a_cgroup_is_enforced_by_address_space_and_filter),
		cmocka_unit_test(the_bound_is_that_of_memory_bound),
		cmocka_unit_test(
			the_scientific_preset_accepts_a_fallback_for_its_memory),
		cmocka_unit_test(
			without_a_cgroup_the_default_disk_is_an_eighth_of_the_memory),
		cmocka_unit_test(disk_set_by_the_policy_stays_without_a_cgroup),
		cmocka_unit_test(
			tcp_has_a_quarter_of_the_memory_where_there_is_a_network_and_a_cgroup),
		cmocka_unit_test(
			memory_limit_too_small_for_a_process_is_refused_without_a_cgroup),
		cmocka_unit_test(
			a_memory_limit_over_all_processes_or_sockets_needs_a_cgroup),
		cmocka_unit_test(
			accepted_memory_fallback_is_reported_as_fallback),
		cmocka_unit_test(
			accepted_fallback_is_not_used_if_a_cgroup_exists),
		cmocka_unit_test(
			cpu_limit_of_one_process_is_enforced_by_its_rlimit),
		cmocka_unit_test(
			processor_time_of_all_processes_needs_a_cgroup_or_a_fallback),
		cmocka_unit_test(
			the_rlimit_in_whole_seconds_is_one_above_the_limit),
		cmocka_unit_test(cpus_are_at_most_those_of_the_host),
		cmocka_unit_test(processes_are_counted_without_a_cgroup_too),
		cmocka_unit_test(
			each_cell_of_a_session_has_its_processor_time_by_the_keeper_s_clock),
		cmocka_unit_test(session_with_subprocesses_needs_a_cpu_cgroup),
		cmocka_unit_test(session_is_refused_in_the_static_tier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
