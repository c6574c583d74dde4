/*
 * cgroup: reading the cgroups of a run and joining them, tested on directories
 * that only look like cgroups.
 */
#include "jail/cgroup/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

struct world {
	char directory[64];
	struct cgroup_home home;
	struct cgroup group;
};

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->home = (struct cgroup_home)CGROUP_HOME_INIT;
	w->group = (struct cgroup)CGROUP_INIT;
	w->group.home = &w->home;
	strcpy(w->directory, "/tmp/remit-test-cgroup.XXXXXX");
	*state = w;
	return mkdtemp(w->directory) ? 0 : -1;
}

static int
close_world(void **state)
{
	struct world *w = *state;
	char command[128];

	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		own_fd_close(&w->group.at[i]);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->directory);
	free(w);
	return system(command);
}

/* Make a directory for this controller. Version 2 has the same for all. */
static void
world_add(struct world *w, enum cgroup_controller which, bool v2)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", w->directory,
		 v2 ? -1 : (int)which);
	if (mkdir(path, 0700) < 0)
		assert_int_equal(errno, EEXIST);
	w->home.at[which].v2 = v2;
	strcpy(w->home.at[which].path, path);
	w->group.at[which] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->group.at[which] >= 0);
}

static void
world_write(struct world *w, enum cgroup_controller which, const char *file,
	    const char *text)
{
	own_fd int fd = openat(w->group.at[which], file,
			       O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
world_add_all(struct world *w, bool v2)
{
	world_add(w, CGROUP_MEMORY, v2);
	world_add(w, CGROUP_PIDS, v2);
	world_add(w, CGROUP_CPU, v2);
	if (v2) {
		world_write(w, CGROUP_MEMORY, "memory.peak", "1000\n");
		world_write(
			w, CGROUP_MEMORY, "memory.events",
			"low 0\nmax 5\noom 4\noom_kill 3\noom_group_kill 1\n");
		world_write(w, CGROUP_CPU, "cpu.stat",
			    "usage_usec 2000\nuser_usec 1\n");
	} else {
		world_write(w, CGROUP_MEMORY, "memory.max_usage_in_bytes",
			    "1000\n");
		world_write(w, CGROUP_MEMORY, "memory.oom_control",
			    "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
		world_write(w, CGROUP_CPU, "cpuacct.usage", "2000999\n");
	}
	world_write(w, CGROUP_PIDS, "pids.peak", "7\n");
}

static void
cgroup_read_returns_only_requested_values(void **state)
{
	struct world *w = *state;

	/* Test both versions, without and with files opened in advance. */
	for (int round = 0; round < 4; round++) {
		world_add_all(w, round % 2);
		if (round >= 2)
			cgroup_open_peaks(&w->group);
		assert_int_equal(w->group.memory_peak >= 0, round >= 2);
		assert_int_equal(w->group.pids_peak >= 0, round >= 2);
		for (unsigned details = 0; details <= CGROUP_READ_ALL;
		     details++) {
			bool peaks = details & CGROUP_READ_PEAKS;
			bool cpu = details & CGROUP_READ_CPU;
			bool oom = details & CGROUP_READ_OOM;
			struct cgroup_usage u;

			memset(&u, 0xa5, sizeof(u));
			cgroup_read(&w->group, details, &u);
			assert_int_equal(u.has_memory, peaks);
			assert_int_equal(u.has_pids, peaks);
			assert_int_equal(u.has_cpu, cpu);
			assert_int_equal(u.memory_peak_bytes, peaks ? 1000 : 0);
			assert_int_equal(u.pids_peak, peaks ? 7 : 0);
			assert_int_equal(u.cpu_us, cpu ? 2000 : 0);
			assert_int_equal(u.oom_kills, oom ? 3 : 0);
		}
		for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
			own_fd_close(&w->group.at[i]);
			w->group.at[i] = -1;
		}
		cgroup_close_peaks(&w->group);
	}
}

static void
charged_memory_is_read_with_its_cache(void **state)
{
	struct world *w = *state;
	struct cgroup_usage u;

	cgroup_read(&w->group, CGROUP_READ_CHARGE, &u);
	assert_false(u.has_charge);
	for (int v2 = 0; v2 < 2; v2++) {
		world_add_all(w, v2);
		world_write(w, CGROUP_MEMORY,
			    v2 ? "memory.current" : "memory.usage_in_bytes",
			    "5000\n");
		world_write(w, CGROUP_MEMORY, "memory.stat",
			    v2 ? "anon 1\nfile 3000\ninactive_file 2\n"
			       : "cache 3000\nrss 1\n");
		cgroup_read(&w->group, CGROUP_READ_CHARGE, &u);
		assert_true(u.has_charge && !u.has_memory && !u.has_cpu);
		assert_int_equal(u.memory_bytes, 5000);
		assert_int_equal(u.cache_bytes, 3000);
		for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
			own_fd_close(&w->group.at[i]);
			w->group.at[i] = -1;
		}
	}
}

static void
cgroup_read_without_groups_returns_nothing(void **state)
{
	struct world *w = *state;
	struct cgroup_usage u;

	memset(&u, 0xa5, sizeof(u));
	cgroup_read(&w->group, CGROUP_READ_ALL, &u);
	assert_false(u.has_memory || u.has_cpu || u.has_pids);
	assert_int_equal(u.memory_peak_bytes | u.cpu_us | u.pids_peak, 0);
	assert_int_equal(u.oom_kills, 0);
}

/* Check the name of the open file, and close it. */
static void
assert_opens(int *fd, const char *want)
{
	char link[32], path[256] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", *fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	if (strlen(path) < strlen(want) ||
	    strcmp(path + strlen(path) - strlen(want), want))
		fail_msg("%s, not %s", path, want);
	assert_int_equal(fcntl(*fd, F_GETFL) & O_ACCMODE, O_WRONLY);
	own_fd_close(fd);
	*fd = -1;
}

static void
world_open_joins(struct world *w, bool all, int out[CGROUP_CONTROLLERS])
{
	struct remit_error err;

	if (cgroup_open_joins(&w->group, all, out, &err) < 0)
		fail_msg("%s", err.message);
}

static void
zygote_child_joins_every_group(void **state)
{
	struct world *w = *state;
	int out[CGROUP_CONTROLLERS];

	world_add(w, CGROUP_MEMORY, false);
	world_add(w, CGROUP_PIDS, true);
	world_add(w, CGROUP_CPU, true);
	world_write(w, CGROUP_MEMORY, "tasks", "");
	world_write(w, CGROUP_PIDS, "cgroup.procs", "");
	world_open_joins(w, true, out);
	assert_opens(&out[CGROUP_MEMORY], "/0/tasks");
	assert_opens(&out[CGROUP_PIDS], "/-1/cgroup.procs");
	/* Both controllers have the same directory, which is joined once. */
	assert_int_equal(out[CGROUP_CPU], -1);
	assert_int_equal(out[CGROUP_KILL], -1);
}

/* The child is already in the cgroup of version 2, into which it was cloned. */
static void
cold_child_joins_only_version_1_groups(void **state)
{
	struct world *w = *state;
	int out[CGROUP_CONTROLLERS];

	world_add(w, CGROUP_MEMORY, true);
	world_add(w, CGROUP_PIDS, false);
	world_add(w, CGROUP_CPU, false);
	world_write(w, CGROUP_PIDS, "tasks", "");
	world_write(w, CGROUP_CPU, "tasks", "");
	world_open_joins(w, false, out);
	assert_int_equal(out[CGROUP_MEMORY], -1);
	assert_opens(&out[CGROUP_PIDS], "/1/tasks");
	assert_opens(&out[CGROUP_CPU], "/2/tasks");
	assert_int_equal(out[CGROUP_KILL], -1);
}

static void
unjoinable_group_is_named_in_the_error(void **state)
{
	struct world *w = *state;
	int out[CGROUP_CONTROLLERS];
	struct remit_error err;

	world_add(w, CGROUP_MEMORY, true);
	strcpy(w->home.at[CGROUP_MEMORY].path, "/sys/fs/cgroup/mine");
	strcpy(w->group.name, "remit-1");
	assert_int_equal(cgroup_open_joins(&w->group, true, out, &err), -1);
	assert_int_equal(err.code, REMIT_E_KERNEL);
	assert_non_null(strstr(err.message,
			       "/sys/fs/cgroup/mine/remit-1/cgroup.procs"));
	world_open_joins(w, false, out);
}

/* Add cgroups of version 1 whose run is over and used little. */
static void
world_add_finished(struct world *w)
{
	world_add(w, CGROUP_MEMORY, false);
	world_add(w, CGROUP_PIDS, false);
	world_add(w, CGROUP_CPU, false);
	for (int i = CGROUP_MEMORY; i <= CGROUP_CPU; i++) {
		world_write(w, (enum cgroup_controller)i, "tasks", "");
		w->group.limits.wanted[i] = true;
	}
	world_write(w, CGROUP_MEMORY, "memory.usage_in_bytes", "1000000\n");
	world_write(w, CGROUP_MEMORY, "memory.max_usage_in_bytes", "7\n");
	world_write(w, CGROUP_MEMORY, "memory.oom_control", "oom_kill 0\n");
	world_write(w, CGROUP_PIDS, "pids.peak", "2\n");
	world_write(w, CGROUP_CPU, "cpuacct.usage", "7\n");
}

static void
group_of_a_clean_run_is_renewed(void **state)
{
	struct world *w = *state;
	struct cgroup_usage u;

	world_add_finished(w);
	assert_int_equal(cgroup_renew(&w->group), 0);
	cgroup_read(&w->group, CGROUP_READ_ALL, &u);
	assert_int_equal(u.memory_peak_bytes | u.cpu_us | u.oom_kills, 0);
}

static void
group_with_traces_of_its_run_is_not_renewed(void **state)
{
	static const struct {
		enum cgroup_controller which;
		const char *file, *bad, *good;
	} rows[] = {
		{ CGROUP_MEMORY, "memory.usage_in_bytes", "2000000",
		  "1000000" },
		{ CGROUP_MEMORY, "memory.oom_control", "oom_kill 1",
		  "oom_kill 0" },
		{ CGROUP_PIDS, "pids.peak", "3", "2" },
	};
	struct world *w = *state;

	world_add_finished(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		world_write(w, rows[i].which, rows[i].file, rows[i].bad);
		assert_int_equal(cgroup_renew(&w->group), -1);
		world_write(w, rows[i].which, rows[i].file, rows[i].good);
		assert_int_equal(cgroup_renew(&w->group), 0);
	}
	w->home.at[CGROUP_CPU].v2 = true;
	assert_int_equal(cgroup_renew(&w->group), -1);
	w->home.at[CGROUP_CPU].v2 = false;
	w->group.limits.tcp_bytes = 1;
	assert_int_equal(cgroup_renew(&w->group), -1);
	w->group.limits.tcp_bytes = 0;
	w->group.limits.wanted[CGROUP_KILL] = true;
	assert_int_equal(cgroup_renew(&w->group), -1);
	w->group.limits.wanted[CGROUP_KILL] = false;
	assert_int_equal(cgroup_renew(&w->group), 0);
	/* The process is only in the last of the cgroups. */
	world_write(w, CGROUP_CPU, "tasks", "1");
	assert_int_equal(cgroup_renew(&w->group), -1);
}

static void
spare_group_is_reused_only_for_the_same_limits(void **state)
{
	struct cgroup_stock stock = { .count = 0 };
	struct plan_limits l = { .memory_cgroup_bytes = 1000,
				 .pids_cgroup = 5,
				 .cpu_cgroup_ms = 1 };
	struct world *w = *state;
	struct cgroup other;
	struct remit_error err;

	world_add_finished(w);
	strcpy(w->group.name, "remit-first");
	cgroup_limits_of(&w->group.limits, &w->home, &l);
	cgroup_stock_release(&stock, &w->group);
	assert_int_equal(stock.count, 1);
	assert_int_equal(w->group.at[CGROUP_MEMORY], -1);

	/* A new cgroup cannot be made here: these are ordinary directories. */
	l.memory_cgroup_bytes = 1001;
	assert_int_equal(cgroup_stock_acquire(&stock, &other, &w->home, &l,
					      "second", &err),
			 -1);
	cgroup_stock_release(&stock, &other);
	assert_int_equal(stock.count, 1);
	l.memory_cgroup_bytes = 1000;
	assert_int_equal(cgroup_stock_acquire(&stock, &w->group, &w->home, &l,
					      "third", &err),
			 0);
	assert_string_equal(w->group.name, "remit-first");
	assert_int_equal(stock.count, 0);
}

#define with_world(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

/* Clean up stale cgroups for ever. */
static void __attribute__((noreturn))
clean_for_ever(int directory)
{
	DIR *d = fdopendir(directory);

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		struct dirent *e = readdir(d);
		own_fd int fd = -1;

		if (!e) {
			rewinddir(d);
			continue;
		}
		fd = openat(directory, e->d_name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(directory, e->d_name, AT_REMOVEDIR);
	}
}

static void
group_can_be_made_during_a_cleanup(void **state)
{
	struct world *w = *state;
	own_fd int directory =
		open(w->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = fork();

	if (pid == 0)
		clean_for_ever(directory);
	for (int i = 0; i < 5000; i++) {
		own_fd int fd = -1;
		char name[32];

		snprintf(name, sizeof(name), CGROUP_PREFIX "%d", i);
		fd = cgroup_home_make(directory, name);
		assert_true(fd >= 0);
		/* The cgroup is locked, so the cleanup has not removed it. */
		assert_int_equal(unlinkat(directory, name, AT_REMOVEDIR), 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
group_locked_by_another_keeper_is_busy(void **state)
{
	struct world *w = *state;
	const struct cgroup_limits limits = {
		.wanted = { [CGROUP_PIDS] = true },
	};
	own_fd int directory =
		open(w->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own_fd int locked = cgroup_home_make(directory, CGROUP_PREFIX "held");
	struct remit_error err;
	struct cgroup c;

	assert_true(locked >= 0);
	w->home.at[CGROUP_PIDS].fd = directory;
	assert_int_equal(cgroup_make(&c, &w->home, &limits, "held", &err), -1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	assert_non_null(strstr(err.message, "(deadline \"group\")"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(cgroup_read_returns_only_requested_values),
		with_world(charged_memory_is_read_with_its_cache),
		with_world(cgroup_read_without_groups_returns_nothing),
		with_world(zygote_child_joins_every_group),
		with_world(cold_child_joins_only_version_1_groups),
		with_world(unjoinable_group_is_named_in_the_error),
		with_world(group_of_a_clean_run_is_renewed),
		with_world(group_with_traces_of_its_run_is_not_renewed),
		with_world(spare_group_is_reused_only_for_the_same_limits),
		with_world(group_can_be_made_during_a_cleanup),
		with_world(group_locked_by_another_keeper_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
