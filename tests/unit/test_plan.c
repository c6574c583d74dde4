/*
 * plan: each field is kept by named mechanisms, or the run is refused with
 * the field, the reason and a remedy.
 */
#include "memory_bound.h"
#include "plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static const enum tier built_tiers[] = { TIER_STATIC, TIER_UNSAFE, TIER_LOCAL };
static const enum tier jailed_tiers[] = { TIER_STATIC, TIER_LOCAL };

static char *python_mounts[] = { "/usr/lib/python3.11", "/opt/venv", NULL };
static char *program_mounts[] = { "/usr/bin", NULL };

static const struct interpreter python = {
	.executable = "/usr/bin/python3",
	.mounts = { python_mounts, 2 },
	.program_mounts = { program_mounts, 1 },
};

/* What a plan is made of, and the plan. */
struct trial {
	struct policy policy;
	struct host host;
	struct plan_job job;
	struct plan plan;
	struct remit_error err;
};

static void
trial_free(struct trial *t)
{
	plan_free(&t->plan);
	policy_free(&t->policy);
}

static void
set(struct trial *t, const char *name, const char *text)
{
	struct remit_error err;
	const struct field *f = field_find(name);

	assert_non_null(f);
	if (field_set_text(&t->policy, f, text, &err) < 0)
		fail_msg("%s", err.message);
}

/* The default policy on a host with everything, started by a user. */
static struct trial
ordinary(void)
{
	struct trial t = {
		.host = {
			.uid = 1000,
			.landlock_abi = 6,
			.cpus = 8,
			.page_bytes = 4096,
			.socket_buffer_bytes = 212992,
			.kernel = "6.12",
		},
	};

	assert_int_equal(policy_init(&t.policy), 0);
	for (int i = 0; i < CAN_COUNT; i++) {
		t.host.can[i].yes = true;
		snprintf(t.host.can[i].why, sizeof(t.host.can[i].why),
			 "tried it");
	}
	return t;
}

static void
take_away(struct trial *t, enum capability c)
{
	t->host.can[c].yes = false;
	snprintf(t->host.can[c].why, sizeof(t->host.can[c].why),
		 "attempt %d failed", (int)c);
}

static int
build(struct trial *t)
{
	plan_free(&t->plan);
	memset(&t->err, 0, sizeof(t->err));
	return plan_build(&t->plan, &t->policy, &t->job, &t->host, &python,
			  &t->err);
}

static void
accepted(struct trial *t)
{
	if (build(t) < 0)
		fail_msg("%s: %s", t->err.where, t->err.message);
}

/* Refused at this field, with these words in the reason and a remedy. */
static void
refused(struct trial *t, const char *where, const char *words)
{
	if (build(t) == 0)
		fail_msg("%s was not refused: %s", where, words);
	if (t->err.code != REMIT_E_REFUSED || strcmp(t->err.where, where) ||
	    !strstr(t->err.message, words) || !t->err.remedy[0])
		fail_msg("wanted %s: %s\ngot %s: %s\nremedy: %s", where, words,
			 t->err.where, t->err.message, t->err.remedy);
	assert_null(t->plan.mounts);
}

static const struct plan_row *
row(const struct trial *t, enum field_id f)
{
	return &t->plan.rows[f];
}

static void
kept_by(const struct trial *t, enum field_id f, uint64_t wanted)
{
	const struct plan_row *r = row(t, f);

	if (!r->present || r->strength != STRENGTH_ENFORCED ||
	    r->mechanisms != wanted)
		fail_msg("%s: present %d, %s, mechanisms %llx, wanted %llx",
			 fields[f].name, r->present,
			 strength_names[r->strength],
			 (unsigned long long)r->mechanisms,
			 (unsigned long long)wanted);
}

static void
granted(const struct trial *t, enum field_id f)
{
	const struct plan_row *r = row(t, f);

	if (!r->present || r->strength != STRENGTH_GRANTED || r->mechanisms)
		fail_msg("%s: present %d, %s, mechanisms %llx", fields[f].name,
			 r->present, strength_names[r->strength],
			 (unsigned long long)r->mechanisms);
	assert_true(r->note[0]);
}

/* RLIMIT_CPU has whole seconds: not less than asked, nor much more. */
static bool
is_rounded_up(uint64_t seconds, uint64_t ms)
{
	return seconds * 1000 >= ms && seconds * 1000 < ms + 2000;
}

/* ---- the default policy ---- */

static void
the_default_policy_is_enforced_by_all_that_a_full_host_has(void **state)
{
	static const struct {
		enum field_id field;
		uint64_t mechanisms;
	} rows[] = {
		{ F_FILESYSTEM_READ_ROOTS,
		  MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) },
		{ F_MOUNTS, MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) },
		{ F_NETWORK_ACCESS,
		  MECH(SECCOMP) | MECH(NETWORK_NAMESPACE) | MECH(LANDLOCK) },
		{ F_PACKAGE_INSTALLATION, MECH(MOUNT_NAMESPACE) |
						  MECH(NETWORK_NAMESPACE) |
						  MECH(SECCOMP) },
		{ F_SUBPROCESS_EXECUTION, MECH(SECCOMP) | MECH(LANDLOCK) },
		{ F_ENV_VAR_ACCESS, MECH(EMPTY_ENVIRONMENT) },
		{ F_ENV, MECH(EMPTY_ENVIRONMENT) },
		{ F_TIMEOUT, MECH(TIMER) },
		{ F_CPU_SECONDS, MECH(RLIMIT_CPU) | MECH(CGROUP_CPU) },
		{ F_CPUS, MECH(AFFINITY) },
		{ F_MEMORY_BYTES, MECH(CGROUP_MEMORY) },
		{ F_PROCESSES, MECH(RLIMIT_NPROC) | MECH(CGROUP_PIDS) },
		{ F_DISK_BYTES, MECH(TMPFS_SIZE) },
		{ F_FILES, MECH(TMPFS_INODES) },
		{ F_FILE_BYTES, MECH(RLIMIT_FSIZE) },
		{ F_OPEN_FILES, MECH(RLIMIT_NOFILE) },
		{ F_STDOUT_MAX_BYTES, MECH(CAPTURE) },
		{ F_STDERR_MAX_BYTES, MECH(CAPTURE) },
		{ F_OUTPUT_CEILING, MECH(CAPTURE) },
		{ F_CODE_BYTES, MECH(FRAME_CAP) },
		{ F_STDIN_BYTES, MECH(FRAME_CAP) },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(jailed_tiers); k++) {
		own(trial) struct trial t = ordinary();
		size_t present = 0;

		t.policy.tier = jailed_tiers[k];
		accepted(&t);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			kept_by(&t, rows[i].field, rows[i].mechanisms);
		for (int i = 0; i < FIELD_TOTAL; i++)
			present += row(&t, (enum field_id)i)->present;
		assert_int_equal(present, ARRAY_LEN(rows));
	}
}

static void
the_limits_of_the_default_policy_are_those_of_its_fields(void **state)
{
	own(trial) struct trial t = ordinary();
	const struct plan_limits *l = &t.plan.limits;

	(void)state;
	accepted(&t);
	assert_int_equal(l->memory_cgroup_bytes, 512 * MIB);
	assert_int_equal(l->address_space_bytes, 0);
	/* The jail's pid 1 counts as well. */
	assert_int_equal(l->pids_cgroup, 65);
	assert_int_equal(l->nproc, 65);
	assert_int_equal(l->cpu_cgroup_ms, 30000);
	assert_true(is_rounded_up(l->cpu_rlimit_s, 30000));
	assert_int_equal(l->cpus, 2);
	assert_int_equal(l->open_files, 256);
	assert_int_equal(l->file_bytes, 256 * MIB);
	assert_int_equal(l->tmpfs_bytes, 256 * MIB);
	assert_int_equal(l->tmpfs_inodes, 10000);
	assert_int_equal(t.plan.filter, 0);
	assert_true(t.plan.own_network);
	assert_int_equal(t.plan.tier, TIER_LOCAL);
	assert_int_equal(t.plan.landlock_abi, 6);
	assert_false(t.plan.by_root);
	assert_int_equal(t.plan.left_out, 0);
}

static void
every_field_has_an_outcome_in_each_built_tier(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(built_tiers); k++) {
		own(trial) struct trial t = ordinary();

		t.policy.tier = built_tiers[k];
		set(&t, "allow-import", "math");
		set(&t, "block-import", "os");
		accepted(&t);
		for (int i = 0; i < FIELD_TOTAL; i++) {
			const struct field *f = &fields[i];
			const struct plan_row *r = row(&t, (enum field_id)i);
			uint64_t kept = f->kept[built_tiers[k]];

			if (r->present != (f->built && !f->setting))
				fail_msg("%s: present %d", f->name, r->present);
			if (r->mechanisms & ~kept)
				fail_msg("%s is kept by what its row of the "
					 "table does not name",
					 f->name);
			if (r->present && r->strength == STRENGTH_ENFORCED &&
			    !r->mechanisms)
				fail_msg("%s is enforced by nothing", f->name);
			if (tiers[built_tiers[k]].jailed && r->present)
				assert_int_equal(r->strength,
						 STRENGTH_ENFORCED);
		}
	}
}

/* ---- the host ---- */

static const enum capability needed[] = {
	CAN_USER_NAMESPACE,
	CAN_ID_MAPS,
	CAN_MOUNT,
	CAN_PIVOT_ROOT,
	CAN_PID_NAMESPACE,
	CAN_NETWORK_NAMESPACE,
	CAN_NO_USER_NAMESPACES_INSIDE,
	CAN_LANDLOCK,
	CAN_SECCOMP,
	CAN_RLIMITS,
	CAN_SELF_TEST,
};

static bool
is_needed(enum capability c)
{
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (needed[i] == c)
			return true;
	return false;
}

static void
a_jail_without_a_capability_it_needs_is_refused_with_reason_and_remedy(
	void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		for (size_t k = 0; k < ARRAY_LEN(jailed_tiers); k++) {
			own(trial) struct trial t = ordinary();

			t.policy.tier = jailed_tiers[k];
			take_away(&t, needed[i]);
			refused(&t, "tier", capabilities[needed[i]].name);
			assert_non_null(strstr(t.err.message,
					       t.host.can[needed[i]].why));
			assert_non_null(strstr(t.err.message,
					       tiers[t.policy.tier].name));
			assert_string_equal(t.err.remedy,
					    capabilities[needed[i]].remedy);
		}
}

static void
a_capability_that_is_not_needed_may_be_missing(void **state)
{
	(void)state;
	for (int i = 0; i < CAN_COUNT; i++) {
		own(trial) struct trial t = ordinary();

		assert_int_equal(capabilities[i].needed,
				 is_needed((enum capability)i));
		if (capabilities[i].needed)
			continue;
		take_away(&t, (enum capability)i);
		accepted(&t);
	}
}

static void
the_unsafe_tier_needs_nothing_of_the_host(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	for (int i = 0; i < CAN_COUNT; i++)
		take_away(&t, (enum capability)i);
	t.policy.tier = TIER_UNSAFE;
	accepted(&t);
}

static void
a_tier_that_is_not_built_is_refused_by_name(void **state)
{
	static const enum tier missing[] = { TIER_LANDLOCK, TIER_CONTAINER,
					     TIER_WASM, TIER_VM };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		own(trial) struct trial t = ordinary();

		t.policy.tier = missing[i];
		refused(&t, "tier", tiers[missing[i]].name);
		assert_non_null(strstr(t.err.message, "not built"));
	}
}

/* ---- memory ---- */

/* Everything that may hold memory, added up again from the plan's limits. */
static uint64_t
memory_in_all(const struct trial *t)
{
	const struct plan_limits *l = &t->plan.limits;

	return l->address_space_bytes + l->address_space_bytes / 511 +
	       l->tmpfs_bytes + l->tmpfs_inodes * 1024 +
	       l->open_files * t->host.socket_buffer_bytes +
	       (l->nproc - 1) * 16384;
}

static void
without_a_memory_cgroup_address_space_and_filter_keep_the_limit(void **state)
{
	static const char *const presets[] = { "default", "strict",
					       "scientific" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		own(trial) struct trial t = ordinary();
		struct remit_error err;

		assert_int_equal(policy_preset(&t.policy, presets[i], &err), 0);
		take_away(&t, CAN_CGROUP_MEMORY);
		accepted(&t);
		kept_by(&t, F_MEMORY_BYTES, MECH(RLIMIT_AS) | MECH(SECCOMP));
		assert_int_equal(t.plan.limits.memory_cgroup_bytes, 0);
		assert_true(t.plan.limits.address_space_bytes >= 48 * MIB);
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
}

static void
a_memory_limit_that_leaves_no_room_without_cgroup_is_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "memory", "300M" },	  { "disk", "500M" },
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
		assert_non_null(strstr(t.err.remedy, "memory_bytes"));
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
		assert_non_null(strstr(t.err.remedy, "memory_fallback"));
	}
}

static void
a_memory_fallback_the_policy_accepts_is_called_one(void **state)
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
	}
}

/* A fallback is for where it is needed: what can be kept whole is. */
static void
an_accepted_fallback_does_not_weaken_what_can_be_kept(void **state)
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
	take_away(&t, CAN_CGROUP_MEMORY);
	take_away(&t, CAN_CGROUP_CPU);
	accepted(&t);
	kept_by(&t, F_MEMORY_BYTES, MECH(RLIMIT_AS) | MECH(SECCOMP));
	kept_by(&t, F_CPU_SECONDS, MECH(RLIMIT_CPU));
}

/* ---- processor time and processes ---- */

static void
one_process_without_a_cpu_cgroup_is_kept_by_its_rlimit(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	take_away(&t, CAN_CGROUP_CPU);
	accepted(&t);
	kept_by(&t, F_CPU_SECONDS, MECH(RLIMIT_CPU));
	assert_int_equal(t.plan.limits.cpu_cgroup_ms, 0);
	assert_true(is_rounded_up(t.plan.limits.cpu_rlimit_s, 30000));
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
	assert_non_null(strstr(t.err.remedy, "cpu_fallback"));
	set(&t, "cpu_fallback", "per_process");
	accepted(&t);
	assert_int_equal(row(&t, F_CPU_SECONDS)->strength, STRENGTH_FALLBACK);
	assert_int_equal(row(&t, F_CPU_SECONDS)->mechanisms, MECH(RLIMIT_CPU));
	assert_true(row(&t, F_CPU_SECONDS)->note[0]);
}

static void
a_limit_of_less_than_whole_seconds_is_not_rounded_down(void **state)
{
	static const uint64_t times_ms[] = { 1, 999, 1000, 1001, 1500, 1999 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times_ms); i++) {
		own(trial) struct trial t = ordinary();

		t.policy.cpu_ms = times_ms[i];
		accepted(&t);
		assert_int_equal(t.plan.limits.cpu_cgroup_ms, times_ms[i]);
		assert_true(
			is_rounded_up(t.plan.limits.cpu_rlimit_s, times_ms[i]));
	}
}

static void
the_code_gets_no_more_processors_than_there_are(void **state)
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

/* ---- grants ---- */

static void
unlimited_is_granted_and_sets_no_limit(void **state)
{
	static const enum field_id ids[] = { F_TIMEOUT, F_CPU_SECONDS,
					     F_MEMORY_BYTES, F_FILE_BYTES };
	size_t may_be = 0;

	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++)
		may_be += fields[i].may_be_unlimited;
	assert_int_equal(may_be, ARRAY_LEN(ids));
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		for (size_t k = 0; k < 2 * ARRAY_LEN(jailed_tiers); k++) {
			own(trial) struct trial t = ordinary();

			t.policy.tier = jailed_tiers[k / 2];
			t.policy.subprocess_execution = k % 2;
			t.policy.memory_fallback = t.policy.cpu_fallback = 1;
			if (k % 2) {
				take_away(&t, CAN_CGROUP_MEMORY);
				take_away(&t, CAN_CGROUP_CPU);
			}
			set(&t, fields[ids[i]].name, "unlimited");
			accepted(&t);
			granted(&t, ids[i]);
		}
}

static void
what_is_unlimited_leaves_its_limits_unset(void **state)
{
	own(trial) struct trial t = ordinary();
	const struct plan_limits *l = &t.plan.limits;

	(void)state;
	set(&t, "cpu", "unlimited");
	set(&t, "memory", "unlimited");
	set(&t, "file-size", "unlimited");
	accepted(&t);
	assert_int_equal(l->cpu_cgroup_ms | l->cpu_rlimit_s, 0);
	assert_int_equal(l->memory_cgroup_bytes | l->address_space_bytes, 0);
	assert_int_equal(l->file_bytes, 0);
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	assert_int_equal(l->address_space_bytes, 0);
	assert_int_equal(t.plan.filter, 0);
}

/* No timer runs for it, so no timer may be named. */
static void
unlimited_is_granted_in_the_unsafe_tier_too(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.tier = TIER_UNSAFE;
	set(&t, "timeout", "unlimited");
	accepted(&t);
	assert_int_equal(row(&t, F_TIMEOUT)->strength, STRENGTH_GRANTED);
	assert_int_equal(row(&t, F_TIMEOUT)->mechanisms, 0);
}

static void
what_the_policy_gives_is_granted(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.network_access = true;
	t.policy.subprocess_execution = true;
	t.policy.env_var_access = true;
	accepted(&t);
	granted(&t, F_NETWORK_ACCESS);
	granted(&t, F_SUBPROCESS_EXECUTION);
	granted(&t, F_ENV_VAR_ACCESS);
	assert_false(t.plan.own_network);
	/* The network no longer keeps packages out. */
	kept_by(&t, F_PACKAGE_INSTALLATION,
		MECH(MOUNT_NAMESPACE) | MECH(SECCOMP));
}

static void
the_filter_has_a_bit_for_each_grant_and_for_strict_memory(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 32; n++) {
		bool network = n & 1, subprocess = n & 2, group = n & 4;
		bool noexec = n & 8, unlimited = n & 16;
		own(trial) struct trial t = ordinary();
		bool alone = !network && !subprocess && !group && !unlimited;
		bool executable = subprocess && !noexec;
		unsigned strict =
			alone || executable ? PLAN_FILTER_STRICT_MEMORY : 0;

		t.policy.network_access = network;
		t.policy.subprocess_execution = subprocess;
		t.policy.memory_fallback = 1;
		if (unlimited)
			t.policy.memory_bytes = POLICY_UNLIMITED;
		if (!group)
			take_away(&t, CAN_CGROUP_MEMORY);
		if (!noexec)
			take_away(&t, CAN_MEMFD_NOEXEC);
		accepted(&t);
		assert_int_equal(t.plan.filter & PLAN_FILTER_NETWORK,
				 network ? PLAN_FILTER_NETWORK : 0);
		assert_int_equal(t.plan.filter & PLAN_FILTER_SUBPROCESS,
				 subprocess ? PLAN_FILTER_SUBPROCESS : 0);
		assert_int_equal(t.plan.filter & PLAN_FILTER_FORKABLE, 0);
		/* A fallback may be stricter than it must. */
		if (strict || group || unlimited)
			assert_int_equal(t.plan.filter &
						 PLAN_FILTER_STRICT_MEMORY,
					 strict);
		assert_int_equal(t.plan.memfd_noexec, noexec);
	}
}

static void
an_older_landlock_is_not_named_for_the_network(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.host.landlock_abi = 3;
	accepted(&t);
	kept_by(&t, F_NETWORK_ACCESS, MECH(SECCOMP) | MECH(NETWORK_NAMESPACE));
	kept_by(&t, F_MOUNTS, MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK));
	t.host.landlock_abi = 4;
	accepted(&t);
	kept_by(&t, F_NETWORK_ACCESS,
		MECH(SECCOMP) | MECH(NETWORK_NAMESPACE) | MECH(LANDLOCK));
}

/* ---- what is not built ---- */

static const char *
other_value(const struct field *f, char number[32])
{
	switch (f->type) {
	case FIELD_BOOL:
		return strcmp(f->fallback, "true") ? "true" : "false";
	case FIELD_BYTES:
	case FIELD_COUNT:
		snprintf(number, 32, "%llu", (unsigned long long)f->max);
		return number;
	case FIELD_TIME:
		snprintf(number, 32, "%llums", (unsigned long long)f->max);
		return number;
	case FIELD_PATHS:
		return "/srv";
	case FIELD_LIST:
		return "name";
	default:
		fail_msg("%s: write down a value for it", f->name);
		return NULL;
	}
}

static void
every_field_that_is_not_built_is_refused_by_name(void **state)
{
	size_t tried = 0;

	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++)
		for (size_t k = 0; k < ARRAY_LEN(built_tiers); k++) {
			own(trial) struct trial t = ordinary();
			char number[32];

			if (fields[i].built)
				continue;
			t.policy.tier = built_tiers[k];
			accepted(&t);
			set(&t, fields[i].name,
			    other_value(&fields[i], number));
			assert_false(field_is_default(&t.policy, &fields[i]));
			refused(&t, fields[i].name, fields[i].name);
			tried++;
		}
	assert_true(tried > 0);
}

static void
installing_packages_is_refused(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.package_installation = true;
	refused(&t, "package_installation", "not built");
}

static void
a_mount_of_any_mode_but_ro_is_refused(void **state)
{
	static const enum mount_mode modes[] = { MOUNT_RW, MOUNT_OVERLAY,
						 MOUNT_DIRECT };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		own(trial) struct trial t = ordinary();

		assert_int_equal(mount_list_add(&t.policy.mounts, "/data",
						"/data", MOUNT_RO, 0),
				 0);
		accepted(&t);
		assert_int_equal(mount_list_add(&t.policy.mounts, "/srv/x",
						"/x", modes[i], 0),
				 0);
		refused(&t, "mounts", mount_mode_names[modes[i]]);
		assert_non_null(strstr(t.err.message, "/srv/x"));
		assert_non_null(strstr(t.err.remedy, "ro"));
	}
}

/* ---- started by root ---- */

static void
host_folders_of_root_need_idmapped_mounts(void **state)
{
	for (int mounts = 0; mounts < 2; mounts++) {
		own(trial) struct trial t = ordinary();
		const char *field = mounts ? "mounts" : "filesystem_read_roots";

		(void)state;
		if (mounts)
			set(&t, "mount", "/data:/data");
		else
			set(&t, "read", "/data");
		t.host.by_root = true;
		accepted(&t);
		assert_true(t.plan.by_root);
		take_away(&t, CAN_IDMAPPED_MOUNTS);
		refused(&t, field, t.host.can[CAN_IDMAPPED_MOUNTS].why);
		assert_string_equal(t.err.remedy,
				    capabilities[CAN_IDMAPPED_MOUNTS].remedy);
		t.host.by_root = false;
		accepted(&t);
	}
}

static void
root_without_idmapped_mounts_may_run_what_names_no_host_folder(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.host.by_root = true;
	take_away(&t, CAN_IDMAPPED_MOUNTS);
	accepted(&t);
}

/* ---- the unsafe tier ---- */

static void
the_unsafe_tier_says_what_it_does_not_enforce(void **state)
{
	static const struct {
		enum field_id field;
		uint64_t mechanisms;
	} kept[] = {
		{ F_TIMEOUT, MECH(TIMER) },
		{ F_STDOUT_MAX_BYTES, MECH(CAPTURE) },
		{ F_STDERR_MAX_BYTES, MECH(CAPTURE) },
		{ F_OUTPUT_CEILING, MECH(CAPTURE) },
		{ F_CODE_BYTES, MECH(FRAME_CAP) },
		{ F_STDIN_BYTES, MECH(FRAME_CAP) },
		{ F_ALLOWED_IMPORTS, MECH(VALIDATOR) },
		{ F_BLOCKED_IMPORTS, MECH(VALIDATOR) },
	};
	own(trial) struct trial t = ordinary();
	size_t enforced = 0, not_enforced = 0;

	(void)state;
	t.policy.tier = TIER_UNSAFE;
	set(&t, "allow-import", "math");
	set(&t, "block-import", "os");
	accepted(&t);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		kept_by(&t, kept[i].field, kept[i].mechanisms);
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct plan_row *r = row(&t, (enum field_id)i);

		enforced += r->present && r->strength == STRENGTH_ENFORCED;
		if (r->present && r->strength == STRENGTH_NONE) {
			assert_int_equal(r->mechanisms, 0);
			not_enforced++;
		}
	}
	assert_int_equal(enforced, ARRAY_LEN(kept));
	/* Every other promise of a jail. */
	assert_int_equal(not_enforced, 15);
}

/* ---- imports ---- */

static void
imports_are_checked_only_where_a_list_is_given(void **state)
{
	static const enum field_id ids[] = { F_ALLOWED_IMPORTS,
					     F_BLOCKED_IMPORTS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		for (size_t k = 0; k < ARRAY_LEN(built_tiers); k++) {
			own(trial) struct trial t = ordinary();

			t.policy.tier = built_tiers[k];
			set(&t, fields[ids[i]].name, "math");
			accepted(&t);
			kept_by(&t, ids[i], MECH(VALIDATOR));
			if (row(&t, ids[1 - i])->present)
				fail_msg("tier %s: an empty %s is a promise",
					 tiers[t.policy.tier].name,
					 fields[ids[1 - i]].name);
		}
}

/* ---- the job ---- */

static void
code_and_input_must_fit_the_policy(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.job.code_bytes = MIB;
	t.job.stdin_bytes = 16 * MIB;
	accepted(&t);
	t.job.code_bytes++;
	assert_int_equal(build(&t), -1);
	assert_int_equal(t.err.code, REMIT_E_INPUT);
	assert_non_null(strstr(t.err.message, "code_bytes"));
	t.job.code_bytes--;
	t.job.stdin_bytes++;
	assert_int_equal(build(&t), -1);
	assert_int_equal(t.err.code, REMIT_E_INPUT);
	assert_non_null(strstr(t.err.message, "stdin_bytes"));
}

/* ---- mounts ---- */

static void
has_mount(const struct trial *t, size_t i, const char *host, const char *jail,
	  bool runtime, enum field_id field)
{
	const struct plan_mount *m = &t->plan.mounts[i];

	assert_true(i < t->plan.mount_count);
	assert_string_equal(m->host, host);
	assert_string_equal(m->jail, jail);
	assert_int_equal(m->runtime, runtime);
	assert_int_equal(m->field, field);
}

static void
the_jail_shows_the_runtime_and_what_was_named_and_nothing_else(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 2);
	has_mount(&t, 0, python_mounts[0], python_mounts[0], true, F_PYTHON);
	has_mount(&t, 1, python_mounts[1], python_mounts[1], true, F_PYTHON);
	set(&t, "read", "/data");
	set(&t, "mount", "/srv/a:/b");
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 4);
	has_mount(&t, 2, "/data", "/data", false, F_FILESYSTEM_READ_ROOTS);
	has_mount(&t, 3, "/srv/a", "/b", false, F_MOUNTS);
}

static void
programs_are_there_only_for_subprocesses(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.subprocess_execution = true;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 3);
	has_mount(&t, 2, "/usr/bin", "/usr/bin", true, F_SUBPROCESS_EXECUTION);
}

/* ---- what a result says ---- */

static json_t *
find_row(json_t *all, const char *field)
{
	json_t *r;
	size_t i;

	json_array_foreach(
		all, i,
		r) if (!strcmp(json_string_value(json_object_get(r, "field")),
			       field)) return r;
	return NULL;
}

static void
is_row(json_t *all, const char *field, const char *want)
{
	own_mem char *text = NULL;
	json_t *r = find_row(all, field);

	if (!r)
		fail_msg("%s has no row", field);
	text = json_dumps(r, JSON_COMPACT);
	assert_string_equal(text, want);
}

static void
a_result_says_for_each_promise_what_keeps_it(void **state)
{
	own(trial) struct trial t = ordinary();
	json_auto_t *all = NULL;
	size_t rows = 0;

	(void)state;
	set(&t, "timeout", "unlimited");
	accepted(&t);
	all = plan_enforcement(&t.plan);
	for (int i = 0; i < FIELD_TOTAL; i++)
		rows += row(&t, (enum field_id)i)->present;
	assert_int_equal(json_array_size(all), rows);
	is_row(all, "network_access",
	       "{\"field\":\"network_access\",\"value\":false,"
	       "\"mechanisms\":[\"network_namespace\",\"landlock\","
	       "\"seccomp\"],\"strength\":\"enforced\"}");
	is_row(all, "timeout",
	       "{\"field\":\"timeout\",\"value\":\"unlimited\","
	       "\"mechanisms\":[],\"strength\":\"granted\","
	       "\"note\":\"no deadline\"}");
	assert_null(find_row(all, "tier"));
	assert_null(find_row(all, "memory_fallback"));
	assert_null(find_row(all, "tools"));
}

static void
a_refused_plan_leaves_the_output_alone(void **state)
{
	own(trial) struct trial t = ordinary();
	struct plan before;

	(void)state;
	memset(&t.plan, 0x5a, sizeof(t.plan));
	before = t.plan;
	take_away(&t, CAN_SECCOMP);
	assert_int_equal(plan_build(&t.plan, &t.policy, &t.job, &t.host,
				    &python, &t.err),
			 -1);
	assert_memory_equal(&t.plan, &before, sizeof(before));
	memset(&t.plan, 0, sizeof(t.plan));
}

#ifdef REMIT_HOLES
static void
a_mechanism_left_out_is_not_named_and_sets_no_limit(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.host.left_out =
		MECH(SECCOMP) | MECH(CGROUP_MEMORY) | MECH(TMPFS_SIZE);
	accepted(&t);
	assert_int_equal(t.plan.limits.memory_cgroup_bytes, 0);
	assert_int_equal(t.plan.limits.tmpfs_bytes, 0);
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_int_equal(row(&t, (enum field_id)i)->mechanisms &
					 t.host.left_out,
				 0);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_default_policy_is_enforced_by_all_that_a_full_host_has),
		cmocka_unit_test(
			the_limits_of_the_default_policy_are_those_of_its_fields),
		cmocka_unit_test(every_field_has_an_outcome_in_each_built_tier),
		cmocka_unit_test(
			a_jail_without_a_capability_it_needs_is_refused_with_reason_and_remedy),
		cmocka_unit_test(
			a_capability_that_is_not_needed_may_be_missing),
		cmocka_unit_test(the_unsafe_tier_needs_nothing_of_the_host),
		cmocka_unit_test(a_tier_that_is_not_built_is_refused_by_name),
		cmocka_unit_test(
			without_a_memory_cgroup_address_space_and_filter_keep_the_limit),
		cmocka_unit_test(the_bound_is_that_of_memory_bound),
		cmocka_unit_test(
			a_memory_limit_that_leaves_no_room_without_cgroup_is_refused),
		cmocka_unit_test(
			a_memory_limit_over_all_processes_or_sockets_needs_a_cgroup),
		cmocka_unit_test(
			a_memory_fallback_the_policy_accepts_is_called_one),
		cmocka_unit_test(
			an_accepted_fallback_does_not_weaken_what_can_be_kept),
		cmocka_unit_test(
			one_process_without_a_cpu_cgroup_is_kept_by_its_rlimit),
		cmocka_unit_test(
			processor_time_of_all_processes_needs_a_cgroup_or_a_fallback),
		cmocka_unit_test(
			a_limit_of_less_than_whole_seconds_is_not_rounded_down),
		cmocka_unit_test(
			the_code_gets_no_more_processors_than_there_are),
		cmocka_unit_test(processes_are_counted_without_a_cgroup_too),
		cmocka_unit_test(unlimited_is_granted_and_sets_no_limit),
		cmocka_unit_test(what_is_unlimited_leaves_its_limits_unset),
		cmocka_unit_test(unlimited_is_granted_in_the_unsafe_tier_too),
		cmocka_unit_test(what_the_policy_gives_is_granted),
		cmocka_unit_test(
			the_filter_has_a_bit_for_each_grant_and_for_strict_memory),
		cmocka_unit_test(
			an_older_landlock_is_not_named_for_the_network),
		cmocka_unit_test(
			every_field_that_is_not_built_is_refused_by_name),
		cmocka_unit_test(installing_packages_is_refused),
		cmocka_unit_test(a_mount_of_any_mode_but_ro_is_refused),
		cmocka_unit_test(host_folders_of_root_need_idmapped_mounts),
		cmocka_unit_test(
			root_without_idmapped_mounts_may_run_what_names_no_host_folder),
		cmocka_unit_test(the_unsafe_tier_says_what_it_does_not_enforce),
		cmocka_unit_test(
			imports_are_checked_only_where_a_list_is_given),
		cmocka_unit_test(code_and_input_must_fit_the_policy),
		cmocka_unit_test(
			the_jail_shows_the_runtime_and_what_was_named_and_nothing_else),
		cmocka_unit_test(programs_are_there_only_for_subprocesses),
		cmocka_unit_test(a_result_says_for_each_promise_what_keeps_it),
		cmocka_unit_test(a_refused_plan_leaves_the_output_alone),
#ifdef REMIT_HOLES
		cmocka_unit_test(
			a_mechanism_left_out_is_not_named_and_sets_no_limit),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
