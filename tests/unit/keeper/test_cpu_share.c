/*
 * cpu_share: the weights of tenants' programs, in directories that look like
 * cgroups.
 */
#include "keeper/pool/cpu_share.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GROUPS 4

static struct cgroup_home home = CGROUP_HOME_INIT;

struct world {
	char directory[64];
	struct cpu_shares shares;
	struct cgroup group[GROUPS];
	struct cpu_share share[GROUPS];
};

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char path[128];

	if (!w)
		return -1;
	*state = w;
	strcpy(w->directory, "/tmp/remit-test-share.XXXXXX");
	if (!mkdtemp(w->directory))
		return -1;
	for (int i = 0; i < GROUPS; i++) {
		w->group[i] = (struct cgroup)CGROUP_INIT;
		w->group[i].home = &home;
		snprintf(path, sizeof(path), "%s/%d", w->directory, i);
		if (mkdir(path, 0700) < 0)
			return -1;
		w->group[i].at[CGROUP_SHARE] =
			open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;
	char command[128];

	for (int i = 0; i < GROUPS; i++)
		own_fd_close(&w->group[i].at[CGROUP_SHARE]);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->directory);
	free(w);
	return system(command);
}

static const char *
file_name(void)
{
	return home.at[CGROUP_SHARE].v2 ? "cpu.weight" : "cpu.shares";
}

/* Returns the weight written last; 0: none since the last call. */
static int
written_weight(struct world *w, int group)
{
	char text[16] = "";
	own_fd int fd = openat(w->group[group].at[CGROUP_SHARE], file_name(),
			       O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	return atoi(text);
}

static void
join(struct world *w, int i, const char *tenant)
{
	struct remit_error err;

	for (int n = 0; n < GROUPS; n++)
		written_weight(w, n); /* creates the file */
	assert_int_equal(cpu_share_join(&w->shares, &w->share[i], &w->group[i],
					tenant, &err),
			 0);
}

static void
programs_of_a_tenant_divide_the_share_of_one(void **state)
{
	struct world *w = *state;

	join(w, 0, "alice");
	assert_int_equal(written_weight(w, 0), 0); /* as it was created */
	join(w, 1, "alice");
	assert_int_equal(written_weight(w, 0), 512);
	assert_int_equal(written_weight(w, 1), 512);
	join(w, 2, "bob");
	assert_int_equal(written_weight(w, 0) + written_weight(w, 1) +
				 written_weight(w, 2),
			 0);
	cpu_share_leave(&w->shares, &w->share[0]);
	assert_int_equal(written_weight(w, 0), 1024); /* for the next run */
	assert_int_equal(written_weight(w, 1), 1024);
	cpu_share_leave(&w->shares, &w->share[1]);
	cpu_share_leave(&w->shares, &w->share[2]);
	assert_null(w->shares.first);
}

static void
version_2_has_weights(void **state)
{
	struct world *w = *state;

	home.at[CGROUP_SHARE].v2 = true;
	join(w, 0, "alice");
	join(w, 1, "alice");
	assert_int_equal(written_weight(w, 0), 50);
	cpu_share_leave(&w->shares, &w->share[0]);
	cpu_share_leave(&w->shares, &w->share[1]);
	home.at[CGROUP_SHARE].v2 = false;
}

static void
idle_session_leaves_its_share_to_others(void **state)
{
	struct world *w = *state;

	join(w, 0, "alice");
	join(w, 1, "alice");
	written_weight(w, 0);
	written_weight(w, 1);
	cpu_share_set_idle(&w->share[0], true);
	assert_int_equal(written_weight(w, 0), 1);
	assert_int_equal(written_weight(w, 1), 1024);
	cpu_share_set_idle(&w->share[0], true); /* again: no change */
	assert_int_equal(written_weight(w, 0), 0);
	cpu_share_set_idle(&w->share[0], false);
	assert_int_equal(written_weight(w, 0), 512);
	cpu_share_set_idle(&w->share[0], true);
	written_weight(w, 0);
	written_weight(w, 1);
	join(w, 0, "alice");
	assert_int_equal(written_weight(w, 0), 512);
	cpu_share_set_idle(&w->share[0], true);
	written_weight(w, 0);
	cpu_share_leave(&w->shares, &w->share[0]);
	assert_int_equal(written_weight(w, 0), 1024); /* it must die quickly */
	cpu_share_leave(&w->shares, &w->share[1]);
	assert_null(w->shares.first);
}

static void
program_without_tenant_has_the_weight_of_a_new_group(void **state)
{
	struct world *w = *state;

	join(w, 0, NULL);
	join(w, 1, NULL);
	assert_int_equal(written_weight(w, 0) + written_weight(w, 1), 0);
	assert_null(w->shares.first);
	/* The next cell of a session may have another tenant. */
	join(w, 0, "alice");
	join(w, 1, "alice");
	join(w, 0, "bob");
	assert_int_equal(written_weight(w, 0), 1024);
	assert_int_equal(written_weight(w, 1), 1024);
	join(w, 1, NULL);
	cpu_share_leave(&w->shares, &w->share[0]);
	cpu_share_leave(&w->shares, &w->share[1]);
	assert_null(w->shares.first);
}

static void
joining_twice_counts_once(void **state)
{
	struct world *w = *state;

	join(w, 0, "alice");
	join(w, 0, "alice");
	assert_int_equal(written_weight(w, 0), 0);
	cpu_share_leave(&w->shares, &w->share[0]);
	cpu_share_leave(&w->shares, &w->share[0]);
	assert_null(w->shares.first);
}

#define with_world(f) \
	cmocka_unit_test_setup_teardown(f, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(programs_of_a_tenant_divide_the_share_of_one),
		with_world(version_2_has_weights),
		with_world(idle_session_leaves_its_share_to_others),
		with_world(
			program_without_tenant_has_the_weight_of_a_new_group),
		with_world(joining_twice_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
