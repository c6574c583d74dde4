/* room: what a table of hosted sessions does when nobody can open a session,
   and the files that hosted sessions leave. Sessions that live:
   tests/e2e/serve/test_serve.py. */
#include "hosted/hosted.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A keeper that is not there: every room is refused, by its worker. */
struct world {
	struct remit *remit;
	struct hosted_table *hosted_table;
};

/* What one hosted session told. */
struct story {
	int told; /* an eventfd */
	int results;
	struct remit_error err;
	int released;
};

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct story *s = user;
	uint64_t one = 1;

	assert_null(res);
	assert_non_null(err);
	s->err = *err;
	s->results++;
	assert_int_equal(write(s->told, &one, sizeof(one)), sizeof(one));
}

static void
on_release(void *owner)
{
	struct story *s = owner;

	__atomic_add_fetch(&s->released, 1, __ATOMIC_SEQ_CST);
}

static const struct hosted_events events = { .result = on_result };

static void
hear(struct story *s)
{
	struct pollfd p = { .fd = s->told, .events = POLLIN };
	uint64_t n;

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(read(s->told, &n, sizeof(n)), sizeof(n));
}

/* "alice" may have as much as there is, and others only a little. */
static struct hosted_share
share_of(void *user, const char *owner)
{
	(void)user;
	if (!*owner || !strcmp(owner, "alice"))
		return (struct hosted_share){ UINT64_MAX, UINT64_MAX };
	if (!strcmp(owner, "bob"))
		return (struct hosted_share){ 3, 1000 };
	return (struct hosted_share){ 0 };
}

static int
set_up(void **state)
{
	struct remit_options opt = { .keeper_path = "/nowhere/keeper.sock" };
	struct hosted_table_options more = { .limits = { .max = { 4, 4, 4 } },
					     .share = share_of };
	struct world *w = calloc(1, sizeof(*w));
	struct remit_error err;

	assert_int_equal(remit_open(&w->remit, &opt, &err), 0);
	more.remit = w->remit;
	assert_int_equal(hosted_table_open(&w->hosted_table, &more, &err), 0);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	assert_true(hosted_table_end(w->hosted_table, 20000));
	hosted_table_free(w->hosted_table);
	remit_close(w->remit);
	free(w);
	return 0;
}

static struct story
story(void)
{
	return (struct story){ .told = eventfd(0, EFD_CLOEXEC) };
}

static void
a_session_that_cannot_be_opened_says_why_and_leaves_the_table(void **state)
{
	struct world *w = *state;
	struct story s = story();
	struct hosted_options opt = { .owner = "alice",
				      .loan = { on_release, &s } };
	struct remit_error err;
	char id[HOSTED_ID_SIZE];
	struct hosted *r;

	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, &s, &r, &err), 0);
	snprintf(id, sizeof(id), "%s", hosted_id(r));
	assert_int_equal(strlen(id), HOSTED_ID_SIZE - 1);
	hear(&s);
	assert_int_equal(s.err.code, REMIT_E_GONE);
	assert_null(hosted_find(w->hosted_table, "alice", id));
	assert_int_equal(hosted_look(r).state, HOSTED_ENDED);
	/* Nothing can be asked of it any more. */
	assert_int_equal(hosted_reset(r, &events, &s, &err), -1);
	assert_int_equal(err.code, REMIT_E_GONE);
	hosted_unref(r);
	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(s.results, 1);
	assert_int_equal(s.released, 1);
	close(s.told);
}

static void
a_run_is_no_session_and_its_loans_come_back(void **state)
{
	struct world *w = *state;
	struct story s = story();
	struct hosted_options opt = { .owner = "", .loan = { on_release, &s } };
	struct hosted_job job = { .job = REMIT_JOB_INIT,
				  .loan = { on_release, &s } };
	struct remit_error err;
	struct hosted *r;

	assert_int_equal(
		hosted_run(w->hosted_table, &opt, &job, &events, &s, &r, &err),
		0);
	assert_null(hosted_find(w->hosted_table, "", hosted_id(r)));
	hear(&s);
	assert_null(hosted_find_run(w->hosted_table, "", hosted_id(r)));
	assert_int_equal(s.err.code, REMIT_E_GONE);
	hosted_unref(r);
	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(s.released, 2);
	close(s.told);
}

static void
a_table_that_ends_takes_no_more_and_borrows_nothing(void **state)
{
	struct world *w = *state;
	struct story s = story();
	struct hosted_options opt = { .owner = "", .loan = { on_release, &s } };
	struct remit_error err;
	struct hosted *r;

	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, &s, &r, &err), -1);
	assert_int_equal(err.code, REMIT_E_GONE);
	assert_int_equal(s.released, 0);
	assert_int_equal(hosted_table_count(w->hosted_table, NULL), 0);
	close(s.told);
}

static void
an_owner_has_no_more_than_its_share(void **state)
{
	static const struct {
		const char *owner;
		uint64_t count, memory_bytes;
		int expected;
	} rows[] = {
		{ "alice", 1, UINT64_MAX, 0 },
		{ "alice", UINT64_MAX, UINT64_MAX, 0 },
		{ "bob", 3, 333, 0 },
		{ "bob", 3, 334, -1 },
		{ "bob", 4, 1, -1 },
		{ "bob", 2, UINT64_MAX, -1 },
		{ "bob", 2, (UINT64_MAX >> 1) + 2, -1 }, /* would wrap to 2 */
		{ "stranger", 1, 0, -1 },
	};
	struct hosted_options opt = { .owner = "stranger" };
	struct world *w = *state;
	struct remit_error err;
	struct hosted *r;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (hosted_table_check_share(
			    w->hosted_table, rows[i].owner, rows[i].count,
			    rows[i].memory_bytes, &err) != rows[i].expected)
			fail_msg("row %zu", i);
	/* Also where nobody has asked before. */
	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, NULL, &r, &err),
		-1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	opt.owner = "bob";
	opt.memory_bytes = 1001;
	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, NULL, &r, &err),
		-1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	assert_int_equal(hosted_table_count(w->hosted_table, NULL), 0);
}

static void
nobody_answers_what_nobody_asked(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		hosted_table_answer_call(w->hosted_table, "", "x", "1", 1), -1);
	assert_int_equal(hosted_table_fail_call(w->hosted_table, "", "x", "no"),
			 -1);
	assert_int_equal(hosted_table_answer_question(w->hosted_table, "", "x",
						      REMIT_ALLOW_ONCE),
			 -1);
}

static void
no_two_ids_are_the_same(void **state)
{
	char a[HOSTED_ID_SIZE], b[HOSTED_ID_SIZE];
	struct remit_error err;

	(void)state;
	assert_int_equal(hosted_make_id(a, &err), 0);
	assert_int_equal(hosted_make_id(b, &err), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 20);
}

/* ---- artifacts ---- */

static void
leave_file(const struct artifact_store *s, const char *id, const char *name,
	   size_t bytes)
{
	char *directory = artifact_store_path(s, id), path[512];
	int fd;

	mkdir(directory, 0700);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
	free(directory);
}

static struct artifact_store *
open_store(uint64_t keep_ms, uint64_t max_bytes, uint64_t max_owner_bytes)
{
	const struct artifact_store_options opt = {
		.parent = "/tmp",
		.keep_ms = keep_ms,
		.max_bytes = max_bytes,
		.max_owner_bytes = max_owner_bytes,
	};
	struct artifact_store *s;
	struct remit_error err;

	assert_int_equal(artifact_store_open(&s, &opt, &err), 0);
	return s;
}

static bool
has_file(struct artifact_store *s, const char *owner, const char *id)
{
	int fd = artifact_store_read(s, owner, id, "a.txt");

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void
leave(struct artifact_store *s, const char *owner, const char *id, size_t bytes)
{
	leave_file(s, id, "a.txt", bytes);
	artifact_store_keep(s, owner, id);
}

static void
files_of_one_owner_push_out_its_own_before_those_of_others(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	leave(s, "bob", "old", 10000);
	for (int i = 0; i < 8; i++) {
		char id[16];

		snprintf(id, sizeof(id), "alice-%d", i);
		leave(s, "alice", id, 40000);
	}
	assert_true(has_file(s, "bob", "old"));
	assert_false(has_file(s, "alice", "alice-6"));
	assert_true(has_file(s, "alice", "alice-7"));
	/* Beyond the share even alone. */
	leave(s, "alice", "large", 50000);
	assert_false(has_file(s, "alice", "large"));
	artifact_store_free(s);
}

static void
files_of_the_owner_with_the_most_go_when_all_space_is_taken(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	leave(s, "alice", "a1", 20000);
	leave(s, "alice", "a2", 20000);
	leave(s, "bob", "b1", 40000);
	leave(s, "carol", "c1", 15000);
	assert_true(has_file(s, "carol", "c1"));
	assert_false(has_file(s, "alice", "a1"));
	assert_true(has_file(s, "alice", "a2"));
	assert_true(has_file(s, "bob", "b1"));
	artifact_store_free(s);
}

static void
files_that_are_being_written_count(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	leave(s, "alice", "kept", 20000);
	assert_true(artifact_store_reserve(s, "alice", "w1", "a.txt", 20000));
	assert_true(has_file(s, "alice", "kept"));
	assert_true(artifact_store_reserve(s, "alice", "w2", "a.txt", 10000));
	assert_false(has_file(s, "alice", "kept"));
	/* What is being written cannot go. */
	assert_false(artifact_store_reserve(s, "alice", "w3", "a.txt", 20000));
	assert_false(
		artifact_store_reserve(s, "alice", "w3", "a.txt", UINT64_MAX));
	assert_true(artifact_store_reserve(s, "bob", "w4", "a.txt", 40000));
	artifact_store_discard(s, "alice", "w1");
	assert_true(artifact_store_reserve(s, "alice", "w3", "d/a.txt", 20000));
	leave(s, "alice", "w3", 20000);
	assert_true(has_file(s, "alice", "w3"));
	artifact_store_free(s);
}

static void
files_of_a_killed_server_are_removed_and_those_of_a_live_one_stay(void **state)
{
	struct artifact_store *live = open_store(60000, 100000, 100000), *s;
	char dead[] = "/tmp/remit-artifact-store-XXXXXX", path[128];
	struct stat st;
	int fd;

	(void)state;
	leave(live, "alice", "one", 100);
	assert_non_null(mkdtemp(dead));
	snprintf(path, sizeof(path), "%s/room", dead);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/room/file", dead);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	s = open_store(60000, 100000, 100000);
	assert_int_equal(stat(dead, &st), -1);
	assert_true(has_file(live, "alice", "one"));
	artifact_store_free(s);
	artifact_store_free(live);
}

static void
files_are_their_owners_and_the_oldest_go_first(void **state)
{
	struct artifact_store *s;
	struct stat st;
	char *directory;
	int fd;

	(void)state;
	s = open_store(60000, 100000, 100000);
	leave_file(s, "one", "a.txt", 50000);
	assert_int_equal(artifact_store_read(s, "alice", "one", "a.txt"), -1);
	artifact_store_keep(s, "alice", "one");
	fd = artifact_store_read(s, "alice", "one", "a.txt");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(artifact_store_read(s, "bob", "one", "a.txt"), -1);
	assert_int_equal(artifact_store_read(s, "alice", "one", "../one/a.txt"),
			 -1);
	assert_int_equal(artifact_store_read(s, "alice", "one", "/etc/passwd"),
			 -1);
	assert_int_equal(artifact_store_read(s, "alice", "one", "."), -1);
	leave_file(s, "two", "b.txt", 60000);
	artifact_store_keep(s, "alice", "two");
	assert_int_equal(artifact_store_read(s, "alice", "one", "a.txt"), -1);
	fd = artifact_store_read(s, "alice", "two", "b.txt");
	assert_true(fd >= 0);
	close(fd);
	directory = artifact_store_path(s, "two");
	artifact_store_free(s);
	assert_int_equal(stat(directory, &st), -1);
	free(directory);
}

static void
files_that_are_too_old_or_too_many_are_gone(void **state)
{
	struct artifact_store *s;

	(void)state;
	s = open_store(0, 100000, 100000);
	leave_file(s, "one", "a.txt", 0);
	artifact_store_keep(s, "", "one");
	artifact_store_sweep(s);
	assert_int_equal(artifact_store_read(s, "", "one", "a.txt"), -1);
	leave_file(s, "two", "a.txt", 200000);
	artifact_store_keep(s, "", "two");
	assert_int_equal(artifact_store_read(s, "", "two", "a.txt"), -1);
	artifact_store_free(s);
}

int
main(void)
{
#define WITH_HOSTED_TABLE(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_HOSTED_TABLE(
			a_session_that_cannot_be_opened_says_why_and_leaves_the_table),
		WITH_HOSTED_TABLE(a_run_is_no_session_and_its_loans_come_back),
		WITH_HOSTED_TABLE(
			a_table_that_ends_takes_no_more_and_borrows_nothing),
		WITH_HOSTED_TABLE(an_owner_has_no_more_than_its_share),
		WITH_HOSTED_TABLE(nobody_answers_what_nobody_asked),
		cmocka_unit_test(no_two_ids_are_the_same),
		cmocka_unit_test(
			files_are_their_owners_and_the_oldest_go_first),
		cmocka_unit_test(files_that_are_too_old_or_too_many_are_gone),
		cmocka_unit_test(
			files_of_one_owner_push_out_its_own_before_those_of_others),
		cmocka_unit_test(
			files_of_the_owner_with_the_most_go_when_all_space_is_taken),
		cmocka_unit_test(files_that_are_being_written_count),
		cmocka_unit_test(
			files_of_a_killed_server_are_removed_and_those_of_a_live_one_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
