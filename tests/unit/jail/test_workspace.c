/*
 * workspace: cleaning removes directories without a lock, keeps those with one,
 * and changes nothing outside.
 */
#include "jail/mount/workspace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

static char temp[64];

static int
open_world(void **state)
{
	(void)state;
	snprintf(temp, sizeof(temp), "/tmp/remit-test-workspace.XXXXXX");
	return mkdtemp(temp) && setenv("TMPDIR", temp, 1) == 0 ? 0 : -1;
}

static int
close_world(void **state)
{
	(void)state;
	return rmdir(temp);
}

static void
make_workspace(struct workspace *w)
{
	int places[WORKSPACE_DIRECTORIES] = { -1, -1 };
	struct remit_error err;

	if (workspace_make(w, geteuid(), places, &err) < 0)
		fail_msg("%s", err.message);
	for (int i = 0; i < WORKSPACE_DIRECTORIES; i++) {
		assert_true(places[i] >= 16);
		close(places[i]);
	}
}

/* Like the death of the keeper: only the directory is left. */
static void
abandon_workspace(struct workspace *w)
{
	close(w->fd);
	close(w->base);
	free(w->path);
	*w = (struct workspace)WORKSPACE_INIT;
}

static void
freed_workspace_disappears(void **state)
{
	struct workspace w = WORKSPACE_INIT;
	struct stat st;
	char path[256];

	(void)state;
	make_workspace(&w);
	snprintf(path, sizeof(path), "%s/workspace", w.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	workspace_free(&w);
	assert_true(wait(NULL) > 0);
	assert_int_equal(stat(path, &st), -1);
}

static void
workspace_of_a_live_keeper_is_not_cleaned(void **state)
{
	struct workspace lives = WORKSPACE_INIT, left = WORKSPACE_INIT;
	struct stat st;

	(void)state;
	make_workspace(&lives);
	make_workspace(&left);
	abandon_workspace(&left);
	assert_int_equal(workspace_clean(), 1);
	assert_int_equal(workspace_clean(), 0);
	assert_int_equal(stat(lives.path, &st), 0);
	workspace_free(&lives);
	assert_true(wait(NULL) > 0);
}

static void
workspace_removal_follows_no_links(void **state)
{
	struct workspace w = WORKSPACE_INIT;
	char outside[128], inside[256];
	struct stat st;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", temp);
	assert_int_equal(mkdir(outside, 0755), 0);
	make_workspace(&w);
	snprintf(inside, sizeof(inside), "%s/workspace/link", w.path);
	assert_int_equal(symlink(outside, inside), 0);
	snprintf(inside, sizeof(inside), "%s/tmp/none", w.path);
	assert_int_equal(mkdir(inside, 0), 0);
	abandon_workspace(&w);
	assert_int_equal(workspace_clean(), 1);
	assert_int_equal(stat(outside, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(rmdir(outside), 0);
}

static void
workspace_base_writable_by_others_is_refused(void **state)
{
	struct workspace w = WORKSPACE_INIT;
	int places[WORKSPACE_DIRECTORIES];
	struct remit_error err;
	char base[128];

	(void)state;
	snprintf(base, sizeof(base), "%s/remit-%u", temp, geteuid());
	assert_int_equal(mkdir(base, 0700), 0);
	assert_int_equal(chmod(base, 0777), 0);
	assert_int_equal(workspace_make(&w, geteuid(), places, &err), -1);
	assert_non_null(strstr(err.message, "TMPDIR"));
	assert_int_equal(workspace_clean(), 0);
	workspace_free(&w);
	assert_int_equal(rmdir(base), 0);
}

/* Other keepers remove the base directory whenever it is empty. */
static void
workspace_can_be_made_while_others_are_removed(void **state)
{
	time_t until = time(NULL) + 5; /* the machine may be busy */
	char base[128];
	pid_t others;

	(void)state;
	snprintf(base, sizeof(base), "%s/remit-%u", temp, geteuid());
	others = fork();
	assert_true(others >= 0);
	if (others == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Pause irregularly, so as not to run in step with the process that
	   makes it. */
	while (others == 0)
		usleep(rmdir(base) < 0 ? 1 : (useconds_t)(random() % 400));
	for (int i = 0; i < 2000 && time(NULL) < until; i++) {
		struct workspace w = WORKSPACE_INIT;

		make_workspace(&w);
		abandon_workspace(&w);
		workspace_clean();
	}
	kill(others, SIGKILL);
	assert_int_equal(waitpid(others, NULL, 0), others);
	rmdir(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freed_workspace_disappears),
		cmocka_unit_test(workspace_of_a_live_keeper_is_not_cleaned),
		cmocka_unit_test(workspace_removal_follows_no_links),
		cmocka_unit_test(workspace_base_writable_by_others_is_refused),
		cmocka_unit_test(
			workspace_can_be_made_while_others_are_removed),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
