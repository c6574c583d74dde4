/* plan: which host directories are mounted in the jail, and where. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
jail_shows_only_the_runtime_and_the_listed_paths(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 2);
	has_mount(&t, 0, python.mounts.items[0], python.mounts.items[0], true,
		  F_PYTHON);
	has_mount(&t, 1, python.mounts.items[1], python.mounts.items[1], true,
		  F_PYTHON);
	set(&t, "read", "/data");
	set(&t, "mount", "/srv/a:/b");
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 4);
	has_mount(&t, 2, "/data", "/data", false, F_FILESYSTEM_READ_ROOTS);
	has_mount(&t, 3, "/srv/a", "/b", false, F_MOUNTS);
}

static void
read_root_below_a_writable_directory_is_noted(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "read", "/data");
	set(&t, "mount", "/srv/a:/workspace/a:rw");
	accepted(&t);
	assert_string_equal(row(&t, F_FILESYSTEM_READ_ROOTS)->note, "");
	assert_string_equal(row(&t, F_MOUNTS)->note, "");
	set(&t, "read", "/tmp/data");
	set(&t, "mount", "/srv/b:/workspace/b");
	accepted(&t);
	assert_non_null(
		strstr(row(&t, F_FILESYSTEM_READ_ROOTS)->note,
		       "below /tmp/data is prevented by the mount alone"));
	assert_non_null(
		strstr(row(&t, F_MOUNTS)->note,
		       "below /workspace/b is prevented by the mount alone"));
}

static void
programs_are_mounted_only_with_subprocesses(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.subprocess_execution = true;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 3);
	has_mount(&t, 2, "/usr/bin", "/usr/bin", true, F_SUBPROCESS_EXECUTION);
}

static void
resolver_files_are_mounted_only_with_the_host_network(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.policy.network_access = NETWORK_HOST;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 4);
	has_mount(&t, 2, "/etc/resolv.conf", "/etc/resolv.conf", true,
		  F_NETWORK_ACCESS);
	has_mount(&t, 3, "/etc/ssl", "/etc/ssl", true, F_NETWORK_ACCESS);
	t.policy.subprocess_execution = true;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 5);
	/* In other cases the jail has its own resolver. */
	t.policy.network_access = NETWORK_PUBLIC;
	accepted(&t);
	assert_int_equal(t.plan.mount_count, 3);
}

/* ---- paths in the jail ---- */

/* A policy with two directories; the flags of both, or NULL. */
struct places {
	const char *flag[2];
	const char *text[2];
	const char *field; /* the field that is refused */
	const char *words;
};

static struct trial
with_places(const struct places *p)
{
	struct trial t = ordinary();

	for (int i = 0; i < 2 && p->flag[i]; i++)
		set(&t, p->flag[i], p->text[i]);
	return t;
}

static void
a_directory_inside_another_or_at_its_place_is_refused_by_field(void **state)
{
	static const struct places rows[] = {
		{ { "read", "read" },
		  { "/data", "/data/x" },
		  "filesystem_read_roots",
		  "/data/x is inside /data in" },
		{ { "read", "read" },
		  { "/data/x/y", "/data" },
		  "filesystem_read_roots",
		  "/data/x/y is inside /data in" },
		{ { "mount", "mount" },
		  { "/srv/a:/b", "/srv/c:/b/c" },
		  "mounts",
		  "/b/c is inside /b in" },
		{ { "mount", "mount" },
		  { "/srv/c:/b/c", "/srv/a:/b" },
		  "mounts",
		  "/b/c is inside /b in" },
		{ { "mount", "mount" },
		  { "/srv/a:/b", "/srv/c:/b" },
		  "mounts",
		  "/b is inside /b in" },
		/* the inner one is reported, in either order */
		{ { "read", "mount" },
		  { "/data", "/srv/a:/data/a" },
		  "mounts",
		  "/data/a is inside /data in" },
		{ { "read", "mount" },
		  { "/data/x", "/srv/a:/data" },
		  "filesystem_read_roots",
		  "/data/x is inside /data in" },
		{ { "read", "mount" },
		  { "/data", "/srv/a:/data" },
		  "mounts",
		  "/data is inside /data in" },
		/* runtime paths neither hide other paths nor are hidden */
		{ { "read", NULL },
		  { "/opt/venv", NULL },
		  "filesystem_read_roots",
		  "/opt/venv is inside /opt/venv in" },
		{ { "mount", NULL },
		  { "/srv/a:/usr/lib/python3.11/a", NULL },
		  "mounts",
		  "/usr/lib/python3.11/a is inside /usr/lib/python3.11 in" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = with_places(&rows[i]);

		refused(&t, rows[i].field, rows[i].words);
	}
}

static void
directories_next_to_or_around_the_runtime_are_accepted(void **state)
{
	static const struct places rows[] = {
		{ { "read", "read" }, { "/data", "/data2" }, NULL, NULL },
		{ { "read", "read" }, { "/data-x", "/data" }, NULL, NULL },
		{ { "mount", "mount" }, { "/a:/x/a", "/a:/x/b" }, NULL, NULL },
		/* only the paths in the jail are compared */
		{ { "mount", "mount" }, { "/a:/x", "/a/b:/y" }, NULL, NULL },
		{ { "read", "mount" }, { "/data", "/data/x:/y" }, NULL, NULL },
		{ { "read", NULL }, { "/opt", NULL }, NULL, NULL },
		{ { "read", NULL }, { "/lib64", NULL }, NULL, NULL },
		{ { "mount", NULL }, { "/srv/a:/usr/lib", NULL }, NULL, NULL },
		{ { "read", NULL }, { "/opt/venv2", NULL }, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = with_places(&rows[i]);

		accepted(&t);
		assert_int_equal(t.plan.mount_count, rows[i].flag[1] ? 4 : 3);
	}
}

static void
directory_at_a_link_of_the_interpreter_is_refused_with_its_target(void **state)
{
	static const struct places rows[] = {
		{ { "read", NULL },
		  { "/lib", NULL },
		  "filesystem_read_roots",
		  "/lib: in the jail /lib is a symbolic link to usr/lib" },
		{ { "mount", NULL },
		  { "/srv/a:/lib/a", NULL },
		  "mounts",
		  "/lib/a: in the jail /lib is a symbolic link to usr/lib" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = with_places(&rows[i]);

		refused(&t, rows[i].field, rows[i].words);
	}
}

/* ---- the workspace ---- */

static void
workspace_that_collides_is_refused_by_field(void **state)
{
	static const struct places rows[] = {
		/* below or at something mounted */
		{ { "workspace", "read" },
		  { "/data", "/data" },
		  "workspace",
		  "/data is mounted in the jail" },
		{ { "workspace", "read" },
		  { "/data/x", "/data" },
		  "workspace",
		  "/data is mounted in the jail" },
		{ { "workspace", "mount" },
		  { "/home/user", "/srv:/home:overlay" },
		  "workspace",
		  "/home is mounted in the jail" },
		{ { "workspace-alias", "write" },
		  { "/data", "/data" },
		  "workspace_aliases",
		  "/data is mounted in the jail" },
		{ { "workspace-alias", "read" },
		  { "/data/x", "/data" },
		  "workspace_aliases",
		  "/data is mounted in the jail" },
		/* at, below or above the interpreter */
		{ { "workspace", NULL },
		  { "/opt", NULL },
		  "workspace",
		  "/opt/venv, which the programs in it need" },
		{ { "workspace", NULL },
		  { "/opt/venv", NULL },
		  "workspace",
		  "/opt/venv, which" },
		{ { "workspace", NULL },
		  { "/opt/venv/x", NULL },
		  "workspace",
		  "/opt/venv, which" },
		{ { "workspace-alias", NULL },
		  { "/opt", NULL },
		  "workspace_aliases",
		  "/opt/venv, which" },
		/* two names of one directory */
		{ { "workspace-alias", NULL },
		  { "/workspace", NULL },
		  "workspace_aliases",
		  "/workspace and /workspace both" },
		{ { "workspace-alias", NULL },
		  { "/workspace/x", NULL },
		  "workspace_aliases",
		  "both lead to" },
		{ { "workspace", "workspace-alias" },
		  { "/home/user", "/home" },
		  "workspace_aliases",
		  "/home and /home/user both" },
		{ { "workspace-alias", "workspace-alias" },
		  { "/a", "/a" },
		  "workspace_aliases",
		  "/a and /a both" },
		{ { "workspace-alias", "workspace-alias" },
		  { "/a", "/a/b" },
		  "workspace_aliases",
		  "both lead to" },
		{ { "workspace-alias", "workspace-alias" },
		  { "/a/b", "/a" },
		  "workspace_aliases",
		  "both lead to" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = with_places(&rows[i]);

		refused(&t, rows[i].field, rows[i].words);
	}
}

static void
what_is_mounted_below_an_alias_is_mounted_in_the_workspace(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	set(&t, "workspace", "/home/user");
	set(&t, "workspace-alias", "/workspace");
	set(&t, "mount", "/srv/a:/workspace/a");
	set(&t, "mount", "/srv/b:/home/user/b");
	set(&t, "mount", "/srv/c:/workspaces/c");
	accepted(&t);
	has_mount(&t, 2, "/srv/a", "/home/user/a", false, F_MOUNTS);
	has_mount(&t, 3, "/srv/b", "/home/user/b", false, F_MOUNTS);
	has_mount(&t, 4, "/srv/c", "/workspaces/c", false, F_MOUNTS);
	kept_by(&t, F_WORKSPACE, MECH(MOUNT_NAMESPACE));
	kept_by(&t, F_WORKSPACE_ALIASES, MECH(MOUNT_NAMESPACE));
	assert_non_null(
		strstr(row(&t, F_MOUNTS)->note,
		       "below /home/user/b is prevented by the mount alone"));
	/* Both paths are one place. */
	set(&t, "mount", "/srv/d:/home/user/a");
	refused(&t, "mounts", "/home/user/a is inside /home/user/a");
}

static void
workspace_at_its_usual_place_is_no_promise(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	accepted(&t);
	assert_false(row(&t, F_WORKSPACE)->present);
	assert_false(row(&t, F_WORKSPACE_ALIASES)->present);
}

static void
workspace_has_at_most_16_aliases(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	for (int i = 0; i < PLAN_ALIASES_MAX; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/a%d", i);
		set(&t, "workspace-alias", path);
	}
	accepted(&t);
	set(&t, "workspace-alias", "/b");
	refused(&t, "workspace_aliases", "at most 16");
}

static void
workspace_elsewhere_needs_namespaces(void **state)
{
	static const struct {
		enum tier tier;
		const char *words;
	} rows[] = {
		{ TIER_UNSAFE, "has no workspace" },
		{ TIER_LANDLOCK, "does not support it" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial one = ordinary();
		own(trial) struct trial other = ordinary();

		set(&one, "workspace", "/mnt/data");
		set(&other, "workspace-alias", "/mnt/data");
		one.policy.tier = other.policy.tier = rows[i].tier;
		one.policy.processes = other.policy.processes =
			POLICY_UNLIMITED;
		one.policy.disk_bytes = other.policy.disk_bytes =
			POLICY_UNLIMITED;
		one.policy.files = other.policy.files = POLICY_UNLIMITED;
		refused(&one, "workspace", rows[i].words);
		refused(&other, "workspace_aliases", rows[i].words);
	}
}

/* Paths of the runtime that are not mounted do not conflict. */
static void
granted_subprocesses_reserve_their_paths(void **state)
{
	own(trial) struct trial programs = ordinary();
	own(trial) struct trial names = ordinary();

	(void)state;
	set(&programs, "read", "/usr/bin");
	accepted(&programs);
	programs.policy.subprocess_execution = true;
	refused(&programs, "filesystem_read_roots", "/usr/bin");
	set(&names, "mount", "/srv/a:/etc/ssl/certs");
	accepted(&names);
	names.policy.network_access = NETWORK_HOST;
	refused(&names, "mounts", "/etc/ssl/certs is inside /etc/ssl in");
}

/* ---- modes, and directories of root ---- */

static void
add(struct trial *t, const char *host, enum mount_mode mode, uint64_t max_bytes)
{
	assert_int_equal(
		mount_list_add(&t->policy.mounts, host, host, mode, max_bytes),
		0);
}

static void
writable_directory_has_an_overlay(void **state)
{
	static const struct {
		enum mount_mode mode;
		uint64_t kept; /* besides those of mode ro */
		int write_roots;
	} rows[] = {
		{ MOUNT_RO, 0, 0 },
		{ MOUNT_RW, MECH(OVERLAY) | MECH(COMMIT), 1 },
		{ MOUNT_OVERLAY, MECH(OVERLAY), 0 },
		{ MOUNT_DIRECT, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(trial) struct trial t = ordinary();
		bool direct = rows[i].mode == MOUNT_DIRECT;
		const struct plan_mount *m;

		add(&t, "/data", rows[i].mode, 0);
		accepted(&t);
		m = &t.plan.mounts[t.plan.mount_count - 1];
		kept_by(&t, F_MOUNTS,
			MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) | rows[i].kept);
		assert_int_equal(t.plan.write_roots, rows[i].write_roots);
		assert_int_equal(m->write_root, rows[i].write_roots - 1);
		assert_int_equal(m->mode, rows[i].mode);
		assert_int_equal(row(&t, F_COMMIT_NAMES)->present,
				 rows[i].write_roots);
		assert_int_equal(row(&t, F_DISK_BYTES)->strength,
				 direct ? STRENGTH_FALLBACK
					: STRENGTH_ENFORCED);
		assert_int_equal(row(&t, F_FILES)->strength,
				 direct ? STRENGTH_FALLBACK
					: STRENGTH_ENFORCED);
	}
}

static void
write_roots_are_mounts_of_mode_rw(void **state)
{
	own(trial) struct trial t = ordinary();
	const struct plan_mount *last;

	(void)state;
	set(&t, "write", "/data");
	add(&t, "/x", MOUNT_OVERLAY, 0);
	add(&t, "/y", MOUNT_RW, 65536);
	accepted(&t);
	assert_int_equal(t.plan.write_roots, 2);
	last = &t.plan.mounts[t.plan.mount_count - 1];
	assert_int_equal(last[-2].write_root, 0);
	assert_int_equal(last[-2].field, F_FILESYSTEM_WRITE_ROOTS);
	assert_int_equal(last[-1].write_root, -1);
	assert_int_equal(last->write_root, 1);
	assert_int_equal(last->max_bytes, 65536);
	kept_by(&t, F_FILESYSTEM_WRITE_ROOTS,
		MECH(MOUNT_NAMESPACE) | MECH(LANDLOCK) | MECH(OVERLAY) |
			MECH(COMMIT));
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/w%d", i);
		set(&t, "write", path);
	}
	refused(&t, "filesystem_write_roots", "folders of mode rw");
}

static void
overlay_is_refused_without_overlay_mounts(void **state)
{
	own(trial) struct trial rw = ordinary();
	own(trial) struct trial throw_away = ordinary();
	own(trial) struct trial direct = ordinary();

	(void)state;
	set(&rw, "write", "/data");
	add(&throw_away, "/data", MOUNT_OVERLAY, 0);
	add(&direct, "/data", MOUNT_DIRECT, 0);
	take_away(&rw, CAN_OVERLAY);
	take_away(&throw_away, CAN_OVERLAY);
	take_away(&direct, CAN_OVERLAY);
	refused(&rw, "filesystem_write_roots", rw.host.can[CAN_OVERLAY].why);
	refused(&throw_away, "mounts", "overlay");
	accepted(&direct);
}

static void
a_cap_needs_an_overlay(void **state)
{
	own(trial) struct trial ro = ordinary();
	own(trial) struct trial direct = ordinary();

	(void)state;
	add(&ro, "/data", MOUNT_RO, 65536);
	add(&direct, "/data", MOUNT_DIRECT, 65536);
	refused(&ro, "mounts", "max_bytes");
	refused(&direct, "mounts", "max_bytes");
}

static void
names_to_commit_are_paths_below_the_directory(void **state)
{
	static const char *const wrong[] = { "/x", "..", "a/../b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		own(trial) struct trial t = ordinary();

		set(&t, "commit-name", wrong[i]);
		assert_int_equal(build(&t), -1);
		assert_int_equal(t.err.code, REMIT_E_INPUT);
	}
}

static void
host_directories_of_root_need_idmapped_mounts(void **state)
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
root_without_idmapped_mounts_may_run_without_host_directories(void **state)
{
	own(trial) struct trial t = ordinary();

	(void)state;
	t.host.by_root = true;
	take_away(&t, CAN_IDMAPPED_MOUNTS);
	accepted(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			jail_shows_only_the_runtime_and_the_listed_paths),
		cmocka_unit_test(read_root_below_a_writable_directory_is_noted),
		cmocka_unit_test(programs_are_mounted_only_with_subprocesses),
		cmocka_unit_test(
			resolver_files_are_mounted_only_with_the_host_network),
		cmocka_unit_test(
			a_directory_inside_another_or_at_its_place_is_refused_by_field),
		cmocka_unit_test(
			directories_next_to_or_around_the_runtime_are_accepted),
		cmocka_unit_test(
			directory_at_a_link_of_the_interpreter_is_refused_with_its_target),
		cmocka_unit_test(workspace_that_collides_is_refused_by_field),
		cmocka_unit_test(
			what_is_mounted_below_an_alias_is_mounted_in_the_workspace),
		cmocka_unit_test(workspace_at_its_usual_place_is_no_promise),
		cmocka_unit_test(workspace_has_at_most_16_aliases),
		cmocka_unit_test(workspace_elsewhere_needs_namespaces),
		cmocka_unit_test(granted_subprocesses_reserve_their_paths),
		cmocka_unit_test(writable_directory_has_an_overlay),
		cmocka_unit_test(write_roots_are_mounts_of_mode_rw),
		cmocka_unit_test(overlay_is_refused_without_overlay_mounts),
		cmocka_unit_test(a_cap_needs_an_overlay),
		cmocka_unit_test(names_to_commit_are_paths_below_the_directory),
		cmocka_unit_test(host_directories_of_root_need_idmapped_mounts),
		cmocka_unit_test(
			root_without_idmapped_mounts_may_run_without_host_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
