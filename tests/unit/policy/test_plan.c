/*
 * plan: each field is enforced by listed mechanisms, or the run is refused with
 * the field, the reason and a remedy.
 */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const enum tier built_tiers[] = { TIER_STATIC, TIER_UNSAFE, TIER_LOCAL };
static const enum tier jailed_tiers[] = { TIER_STATIC, TIER_LOCAL };

/* ---- the default policy ---- */

static void
default_policy_is_enforced_by_every_mechanism_of_a_full_host(void **state)
{
	static const struct {
		enum field_id field;
		uint64_t mechanisms;
	} rows[] = {
		{ F_FILESYSTEM_READ_ROOTS,
		  MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) },
		{ F_FILESYSTEM_WRITE_ROOTS,
		  MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) },
		{ F_MOUNTS, MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) },
		{ F_NETWORK_ACCESS,
		  MECH(SECCOMP) | MECH(NETWORK_NAMESPACE) | MECH(LANDLOCK) },
		{ F_PACKAGE_INSTALLATION, MECH(MOUNT_NAMESPACE) |
						  MECH(NETWORK_NAMESPACE) |
						  MECH(SECCOMP) },
		{ F_SUBPROCESS_EXECUTION, MECH(SECCOMP) | MECH(LANDLOCK) },
		{ F_WORKSPACE_EXECUTION, MECH(NOEXEC_MOUNT) | MECH(LANDLOCK) },
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
		{ F_INPUT_BYTES, MECH(FRAME_CAP) },
		{ F_VALUE_BYTES, MECH(FRAME_CAP) },
		{ F_DISPLAY_BYTES, MECH(FRAME_CAP) },
		{ F_TOOL_CALLS, MECH(BRIDGE) },
		{ F_TOOL_BYTES, MECH(BRIDGE) },
		{ F_TOOL_CONCURRENCY, MECH(BRIDGE) },
		{ F_TOOL_WAIT, MECH(BRIDGE) },
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
	assert_true(is_one_second_above(l->cpu_rlimit_s, 30000));
	assert_int_equal(l->cpus, 2);
	assert_int_equal(l->open_files, 256);
	assert_int_equal(l->file_bytes, 256 * MIB);
	assert_int_equal(l->tmpfs_bytes, 256 * MIB);
	assert_int_equal(l->tmpfs_inodes, 10000);
	assert_int_equal(l->tcp_cgroup_bytes, 0);
	assert_int_equal(t.plan.disk_share_bytes, 0);
	assert_int_equal(t.plan.filter, 0);
	assert_true(t.plan.own_network);
	assert_int_equal(t.plan.tier, TIER_LOCAL);
	assert_int_equal(t.plan.landlock_abi, 6);
	assert_false(t.plan.by_root);
	assert_int_equal(t.plan.left_out, 0);
}

/* Fields whose resources branches would share are refused. */
static void
forkable_session_has_one_process_and_shares_nothing(void **state)
{
	static const struct {
		const char *flag, *value, *field, *why;
	} cases[] = {
		{ "subprocess", "true", "subprocess_execution",
		  "processes of" },
		{ "net", "true", "network_access", "connections of" },
		{ "allow-host", "example.com:443", "network_access",
		  "connections of" },
		{ "write", "/data", "filesystem_write_roots", "would write" },
		{ "tier", "landlock", "tier", "no namespaces" },
	};
	own(trial) struct trial t = ordinary();

	(void)state;
	t.job.session = t.job.forkable = true;
	accepted(&t);
	assert_int_equal(t.plan.filter & PLAN_FILTER_FORKABLE,
			 PLAN_FILTER_FORKABLE);
	assert_true(row(&t, F_BRANCHES)->present);
	assert_int_equal(row(&t, F_BRANCHES)->mechanisms, MECH(SECCOMP));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(trial) struct trial other = ordinary();

		other.job.session = other.job.forkable = true;
		set(&other, cases[i].flag, cases[i].value);
		refused(&other, cases[i].field, cases[i].why);
	}
}

static void
every_field_has_an_outcome_in_each_built_tier(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(built_tiers); k++) {
		own(trial) struct trial t = ordinary();

		t.policy.tier = built_tiers[k];
		t.job.session = built_tiers[k] != TIER_STATIC;
		set(&t, "allow-import", "math");
		set(&t, "block-import", "os");
		set(&t, "validator", "relaxed");
		set(&t, "allow-builtin", "len");
		set(&t, "block-builtin", "open");
		set(&t, "allow-os-attr", "path");
		set(&t, "allow-node", "Module");
		if (tiers[built_tiers[k]].jailed)
			set(&t, "export", "*.csv");
		if (tiers[built_tiers[k]].jailed)
			set(&t, "write", "/data");
		if (!tiers[built_tiers[k]].bare)
			set(&t, "allow-host", "10.0.0.1:80:plain");
		if (tiers[built_tiers[k]].jailed && !tiers[built_tiers[k]].bare)
			set(&t, "credential", "10.0.0.1:X-Key=env:KEY");
		if (tiers[built_tiers[k]].jailed && !tiers[built_tiers[k]].bare)
			set(&t, "workspace", "/home/user");
		if (tiers[built_tiers[k]].jailed && !tiers[built_tiers[k]].bare)
			set(&t, "workspace-alias", "/workspace");
		if (tiers[built_tiers[k]].jailed)
			set(&t, "package", "pandas");
		accepted(&t);
		for (int i = 0; i < FIELD_TOTAL; i++) {
			const struct field *f = &fields[i];
			const struct plan_row *r = row(&t, (enum field_id)i);
			uint64_t kept = f->kept[built_tiers[k]];

			/* A tier that cannot enforce the field has no row for
			   it, not even an empty one. */
			if ((i == F_NETWORK_ALLOW &&
			     tiers[built_tiers[k]].bare) ||
			    (i == F_PACKAGES && !tiers[built_tiers[k]].jailed))
				assert_false(r->present);
			else if ((i == F_CREDENTIALS || i == F_WORKSPACE ||
				  i == F_WORKSPACE_ALIASES) &&
				 !kept)
				assert_false(r->present);
			else if (i == F_BRANCHES)
				assert_false(r->present);
			else if (i == F_SESSION_IDLE)
				assert_int_equal(r->present, t.job.session);
			else if (r->present != !f->setting)
				fail_msg("%s: present %d", f->name, r->present);
			if (r->mechanisms & ~kept)
				fail_msg("%s is enforced by a mechanism that "
					 "its row of the table does not name",
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
unsafe_tier_needs_no_capability_of_the_host(void **state)
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
	static const enum tier missing[] = { TIER_CONTAINER, TIER_VM };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		own(trial) struct trial t = ordinary();

		t.policy.tier = missing[i];
		refused(&t, "tier", tiers[missing[i]].name);
		assert_non_null(strstr(t.err.message, "not built"));
	}
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
	/* The other limits may be unlimited only where they cannot be
	   enforced. */
	assert_int_equal(may_be, ARRAY_LEN(ids) + 3);
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
unlimited_field_leaves_its_limits_unset(void **state)
{
	own(trial) struct trial t = ordinary();
	const struct plan_limits *l = &t.plan.limits;

	(void)state;
	set(&t, "cpu", "unlimited");
	set(&t, "memory", "unlimited");
	set(&t, "file-size", "unlimited");
	accepted(&t);
	assert_int_equal(l->cpu_cgroup_ms | l->cpu_rlimit_s, 0);
	assert_int_equal(l->memory_cgroup_bytes | l->address_space_bytes |
				 l->tcp_cgroup_bytes,
			 0);
	assert_int_equal(l->file_bytes, 0);
	take_away(&t, CAN_CGROUP_MEMORY);
	accepted(&t);
	assert_int_equal(l->address_space_bytes, 0);
	assert_int_equal(t.plan.disk_share_bytes, 0);
	assert_int_equal(l->tmpfs_bytes, 256 * MIB);
	assert_int_equal(t.plan.filter, 0);
}

/* Without a deadline there is no timer, so none may be listed. */
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
field_that_the_policy_allows_is_granted(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.network_access = NETWORK_HOST;
	t.policy.subprocess_execution = true;
	t.policy.env_var_access = true;
	accepted(&t);
	granted(&t, F_NETWORK_ACCESS);
	granted(&t, F_SUBPROCESS_EXECUTION);
	granted(&t, F_ENV_VAR_ACCESS);
	assert_false(t.plan.own_network);
	/* With the host's network, the network namespace does not prevent
	   installations. */
	kept_by(&t, F_PACKAGE_INSTALLATION,
		MECH(MOUNT_NAMESPACE) | MECH(SECCOMP));
}

static void
workspace_execution_needs_subprocesses_and_a_private_file_system(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		own(trial) struct trial t = ordinary();

		t.policy.subprocess_execution = n & 1;
		t.policy.workspace_execution = n & 2;
		if (n == 2) {
			refused(&t, "workspace_execution",
				"subprocess_execution is off");
			assert_non_null(strstr(
				t.err.remedy, "--subprocess --workspace-exec"));
			continue;
		}
		accepted(&t);
		assert_int_equal(t.plan.runs_workspace, n == 3);
		if (n == 3)
			granted(&t, F_WORKSPACE_EXECUTION);
		else
			kept_by(&t, F_WORKSPACE_EXECUTION,
				MECH(NOEXEC_MOUNT) | MECH(LANDLOCK));
	}
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
		unsigned strict = alone ? PLAN_FILTER_STRICT_MEMORY : 0;

		t.policy.network_access = network ? NETWORK_HOST : NETWORK_NONE;
		t.policy.subprocess_execution = subprocess;
		/* Set only where the exact limit cannot be enforced, since it
		   would be used elsewhere as well. */
		t.policy.memory_fallback = network || subprocess;
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
		/* A fallback may be stricter than necessary. */
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

/* ---- packages ---- */

static void
packages_are_names_of_an_index(void **state)
{
	own(trial) struct trial t = ordinary();
	own(trial) struct trial option = ordinary();
	own(trial) struct trial index = ordinary();
	own(trial) struct trial host = ordinary();

	(void)state;
	set(&t, "package", "pandas==2.2.*");
	accepted(&t);
	assert_int_equal(row(&t, F_PACKAGES)->mechanisms,
			 MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK));
	set(&option, "package", "-r");
	refused(&option, "packages", "option");
	set(&index, "package", "pandas");
	set(&index, "index-url", "ftp://example.com/");
	refused(&index, "package_index", "neither https nor http");
	set(&host, "package", "pandas");
	set(&host, "package-host", "example.com");
	refused(&host, "package_hosts", "no port");
}

static void
packages_are_refused_in_a_tier_without_a_jail(void **state)
{
	own(trial) struct trial plain = ordinary();
	own(trial) struct trial bare = ordinary();

	(void)state;
	set(&plain, "package", "pandas");
	plain.policy.tier = TIER_UNSAFE;
	refused(&plain, "packages", "no jail");
	assert_int_equal(policy_preset(&bare.policy, "landlock", &bare.err), 0);
	set(&bare, "package", "pandas");
	bare.host.by_root = true;
	refused(&bare, "packages", "root's packages");
}

static bool
takes(struct trial *t, const struct interpreter *in, const char *name)
{
	plan_free(&t->plan);
	if (plan_build(&t->plan, &t->policy, &t->job, &t->host, in, &t->err) <
	    0)
		fail_msg("%s", t->err.message);
	return plan_accepts_package(&t->plan, &t->host, name);
}

static void
plan_accepts_a_package_that_can_be_installed_and_shown(void **state)
{
	struct interpreter in = python;
	own(trial) struct trial t = ordinary();
	own(trial) struct trial plain = ordinary();
	own(trial) struct trial bare = ordinary();

	(void)state;
	assert_false(takes(&t, &in, "pandas")); /* no pip */
	in.pip = "";
	assert_false(takes(&t, &in, "pandas")); /* no index */
	in.package_index = "https://pypi.org/simple";
	assert_true(takes(&t, &in, "pandas"));
	set(&t, "package", "Pandas[excel]>=2");
	assert_false(takes(&t, &in, "pandas")); /* named already */
	assert_true(takes(&t, &in, "polars"));
	set(&t, "offline", "true");
	assert_false(takes(&t, &in, "polars"));
	set(&t, "find-links", "/srv/wheels");
	assert_true(takes(&t, &in, "polars"));
	plain.policy.tier = TIER_UNSAFE;
	assert_false(takes(&plain, &in, "polars"));
	assert_int_equal(policy_preset(&bare.policy, "landlock", &bare.err), 0);
	assert_true(takes(&bare, &in, "polars"));
	bare.host.by_root = true;
	assert_false(takes(&bare, &in, "polars"));
	bare.host.by_root = false;
	take_away(&bare,
		  CAN_USER_NAMESPACE); /* needed by the jail that installs */
	assert_false(takes(&bare, &in, "polars"));
}

static void
package_layer_is_mounted_after_the_interpreter(void **state)
{
	own(trial) struct trial t = ordinary();
	struct interpreter in = python;
	size_t at = 0;

	(void)state;
	set(&t, "package", "pandas");
	in.package_layer = "/cache/site";
	in.package_layer_inside = "/.remit/packages";
	assert_int_equal(
		plan_build(&t.plan, &t.policy, &t.job, &t.host, &in, &t.err),
		0);
	while (at < t.plan.mount_count && t.plan.mounts[at].field != F_PACKAGES)
		assert_int_equal(t.plan.mounts[at++].field, F_PYTHON);
	assert_true(at < t.plan.mount_count);
	assert_string_equal(t.plan.mounts[at].jail, "/.remit/packages");
	assert_int_equal(t.plan.mounts[at].mode, MOUNT_RO);
	assert_true(t.plan.mounts[at].runtime);
}

static void
code_may_install_where_a_layer_can_be_mounted_into_its_jail(void **state)
{
	struct interpreter in = python;
	own(trial) struct trial t = ordinary();
	own(trial) struct trial still = ordinary();
	own(trial) struct trial plain = ordinary();
	own(trial) struct trial bare = ordinary();

	(void)state;
	t.policy.package_installation = true;
	refused(&t, "package_installation", "pip is missing");
	in.pip = "";
	in.package_index = "https://pypi.org/simple";
	assert_true(takes(&t, &in, "polars"));
	assert_true(t.plan.installs);
	kept_by(&t, F_PACKAGE_INSTALLATION,
		MECH(MOUNT_NAMESPACE) | MECH(NETWORK_NAMESPACE) |
			MECH(SECCOMP));
	assert_non_null(
		strstr(row(&t, F_PACKAGE_INSTALLATION)->note, "at most 16"));
	set(&t, "package-host", "example.com");
	refused(&t, "package_hosts", "no port");
	still.policy.package_installation = true;
	still.policy.tier = TIER_STATIC;
	refused(&still, "package_installation", "nothing runs");
	plain.policy.package_installation = true;
	plain.policy.tier = TIER_UNSAFE;
	refused(&plain, "package_installation", "no jail");
	assert_int_equal(policy_preset(&bare.policy, "landlock", &bare.err), 0);
	bare.policy.package_installation = true;
	refused(&bare, "package_installation", "no mount namespace");
}

/* ---- the unsafe tier ---- */

static void
unsafe_tier_lists_what_it_does_not_enforce(void **state)
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
		{ F_INPUT_BYTES, MECH(FRAME_CAP) },
		{ F_VALUE_BYTES, MECH(FRAME_CAP) },
		{ F_DISPLAY_BYTES, MECH(FRAME_CAP) },
		{ F_TOOL_CALLS, MECH(BRIDGE) },
		{ F_TOOL_BYTES, MECH(BRIDGE) },
		{ F_TOOL_CONCURRENCY, MECH(BRIDGE) },
		{ F_TOOL_WAIT, MECH(BRIDGE) },
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
	/* All other promises of a jail are not enforced. */
	assert_int_equal(not_enforced, 24);
}

/* ---- exports ---- */

static const enum field_id export_fields[] = {
	F_ARTIFACT_EXPORT_PATHS, F_ARTIFACT_FILE_BYTES, F_ARTIFACT_BYTES,
	F_ARTIFACT_FILES,	 F_ARTIFACT_DEPTH,	F_ARTIFACT_TIME,
};

static void
export_fields_are_present_only_if_a_pattern_is_set(void **state)
{
	(void)state;
	for (int exports = 0; exports < 2; exports++) {
		own(trial) struct trial t = ordinary();

		if (exports)
			set(&t, "export", "/workspace/out/*.csv");
		accepted(&t);
		assert_int_equal(t.plan.exports, exports);
		for (size_t i = 0; i < ARRAY_LEN(export_fields); i++)
			assert_int_equal(row(&t, export_fields[i])->present,
					 exports);
	}
}

static void
export_pattern_must_be_in_the_workspace(void **state)
{
	static const char *const bad[] = { "/etc/*", "..", "a/../b",
					   "/workspace", "/tmp/x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		own(trial) struct trial t = ordinary();

		set(&t, "export", bad[i]);
		assert_int_equal(build(&t), -1);
		assert_int_equal(t.err.code, REMIT_E_INPUT);
		assert_non_null(strstr(t.err.message, "artifact_export_paths"));
	}
}

static void
exports_are_refused_in_a_tier_without_a_workspace(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "export", "*");
	t.policy.tier = TIER_UNSAFE;
	refused(&t, "artifact_export_paths", "no workspace");
}

/* ---- imports ---- */

static void
import_check_is_present_only_if_a_list_is_set(void **state)
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

/* ---- warm starts ---- */

/* A zygote's child cannot be in another tier than local, cannot be on the
   host's network, and cannot start programs where memfd_noexec is used. */
static void
plan_can_be_warm_if_a_zygote_child_can_be_given_all_of_it(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8 * ARRAY_LEN(built_tiers); n++) {
		bool network = n & 1, subprocess = n & 2, noexec = n & 4;
		own(trial) struct trial t = ordinary();
		bool warm;

		t.policy.tier = built_tiers[n / 8];
		t.policy.network_access = network ? NETWORK_HOST : NETWORK_NONE;
		t.policy.subprocess_execution = subprocess;
		if (!noexec)
			take_away(&t, CAN_MEMFD_NOEXEC);
		accepted(&t);
		warm = t.policy.tier == TIER_LOCAL && !network &&
		       !(subprocess && noexec);
		if (plan_can_be_warm(&t.plan) != warm)
			fail_msg("tier %s, network %d, subprocess %d, noexec "
				 "%d: warm %d",
				 tiers[t.policy.tier].name, network, subprocess,
				 noexec, !warm);
		/* Preloaded modules have the same requirements. */
		set(&t, "preload", "numpy");
		if (!warm) {
			refused(&t, "preload", "tier \"local\"");
			continue;
		}
		accepted(&t);
		assert_true(plan_can_be_warm(&t.plan));
		assert_false(row(&t, F_PRELOAD)->present);
	}
}

static void
cgroup_kill_is_used_if_the_jail_can_have_many_processes(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_false(t.plan.limits.many_processes);
	t.policy.subprocess_execution = true;
	accepted(&t);
	assert_true(t.plan.limits.many_processes);
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

/* ---- the enforcement of a result ---- */

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
result_lists_the_mechanisms_of_each_field(void **state)
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
refused_plan_leaves_the_output_unchanged(void **state)
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
			default_policy_is_enforced_by_every_mechanism_of_a_full_host),
		cmocka_unit_test(
			the_limits_of_the_default_policy_are_those_of_its_fields),
		cmocka_unit_test(
			forkable_session_has_one_process_and_shares_nothing),
		cmocka_unit_test(every_field_has_an_outcome_in_each_built_tier),
		cmocka_unit_test(
			a_jail_without_a_capability_it_needs_is_refused_with_reason_and_remedy),
		cmocka_unit_test(
			a_capability_that_is_not_needed_may_be_missing),
		cmocka_unit_test(unsafe_tier_needs_no_capability_of_the_host),
		cmocka_unit_test(a_tier_that_is_not_built_is_refused_by_name),
		cmocka_unit_test(unlimited_is_granted_and_sets_no_limit),
		cmocka_unit_test(unlimited_field_leaves_its_limits_unset),
		cmocka_unit_test(unlimited_is_granted_in_the_unsafe_tier_too),
		cmocka_unit_test(field_that_the_policy_allows_is_granted),
		cmocka_unit_test(
			workspace_execution_needs_subprocesses_and_a_private_file_system),
		cmocka_unit_test(
			the_filter_has_a_bit_for_each_grant_and_for_strict_memory),
		cmocka_unit_test(
			an_older_landlock_is_not_named_for_the_network),
		cmocka_unit_test(
			code_may_install_where_a_layer_can_be_mounted_into_its_jail),
		cmocka_unit_test(packages_are_names_of_an_index),
		cmocka_unit_test(packages_are_refused_in_a_tier_without_a_jail),
		cmocka_unit_test(
			plan_accepts_a_package_that_can_be_installed_and_shown),
		cmocka_unit_test(
			package_layer_is_mounted_after_the_interpreter),
		cmocka_unit_test(unsafe_tier_lists_what_it_does_not_enforce),
		cmocka_unit_test(
			export_fields_are_present_only_if_a_pattern_is_set),
		cmocka_unit_test(export_pattern_must_be_in_the_workspace),
		cmocka_unit_test(
			exports_are_refused_in_a_tier_without_a_workspace),
		cmocka_unit_test(import_check_is_present_only_if_a_list_is_set),
		cmocka_unit_test(
			plan_can_be_warm_if_a_zygote_child_can_be_given_all_of_it),
		cmocka_unit_test(
			cgroup_kill_is_used_if_the_jail_can_have_many_processes),
		cmocka_unit_test(code_and_input_must_fit_the_policy),
		cmocka_unit_test(result_lists_the_mechanisms_of_each_field),
		cmocka_unit_test(refused_plan_leaves_the_output_unchanged),
#ifdef REMIT_HOLES
		cmocka_unit_test(
			a_mechanism_left_out_is_not_named_and_sets_no_limit),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
