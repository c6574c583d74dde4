/* hosted: a table of hosted sessions when no session can be opened, and the
   artifacts of hosted sessions. tests/e2e/serve/test_serve.py tests live
   sessions. */
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

/* Without a keeper, every session is refused, by its worker. */
struct world {
	struct remit *remit;
	struct hosted_table *hosted_table;
};

/* The events of one hosted session. */
struct recorder {
	int ready; /* an eventfd */
	int results;
	struct remit_error err;
	int released;
};

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct recorder *s = user;
	uint64_t one = 1;

	assert_null(res);
	assert_non_null(err);
	s->err = *err;
	s->results++;
	assert_int_equal(write(s->ready, &one, sizeof(one)), sizeof(one));
}

static void
on_release(void *owner)
{
	struct recorder *s = owner;

	__atomic_add_fetch(&s->released, 1, __ATOMIC_SEQ_CST);
}

static const struct hosted_events events = { .result = on_result };

static void
wait_for_result(struct recorder *s)
{
	struct pollfd p = { .fd = s->ready, .events = POLLIN };
	uint64_t n;

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(read(s->ready, &n, sizeof(n)), sizeof(n));
}

/* "alice" has no limits, and others small ones. */
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

static struct recorder
recorder(void)
{
	return (struct recorder){ .ready = eventfd(0, EFD_CLOEXEC) };
}

static void
session_that_cannot_be_opened_reports_why_and_leaves_the_table(void **state)
{
	struct world *w = *state;
	struct recorder s = recorder();
	struct hosted_options opt = { .owner = "alice",
				      .loan = { on_release, &s } };
	struct remit_error err;
	char id[HOSTED_ID_SIZE];
	struct hosted *r;

	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, &s, &r, &err), 0);
	snprintf(id, sizeof(id), "%s", hosted_id(r));
	assert_int_equal(strlen(id), HOSTED_ID_SIZE - 1);
	wait_for_result(&s);
	assert_int_equal(s.err.code, REMIT_E_GONE);
	assert_null(hosted_find(w->hosted_table, "alice", id));
	assert_int_equal(hosted_get_view(r).state, HOSTED_ENDED);
	/* An ended session accepts no more requests. */
	assert_int_equal(hosted_reset(r, &events, &s, &err), -1);
	assert_int_equal(err.code, REMIT_E_GONE);
	hosted_unref(r);
	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(s.results, 1);
	assert_int_equal(s.released, 1);
	close(s.ready);
}

static void
run_is_not_a_session_and_its_loans_are_released(void **state)
{
	struct world *w = *state;
	struct recorder s = recorder();
	struct hosted_options opt = { .owner = "", .loan = { on_release, &s } };
	struct hosted_job job = { .job = REMIT_JOB_INIT,
				  .loan = { on_release, &s } };
	struct remit_error err;
	struct hosted *r;

	assert_int_equal(
		hosted_run(w->hosted_table, &opt, &job, &events, &s, &r, &err),
		0);
	assert_null(hosted_find(w->hosted_table, "", hosted_id(r)));
	wait_for_result(&s);
	assert_null(hosted_find_run(w->hosted_table, "", hosted_id(r)));
	assert_int_equal(s.err.code, REMIT_E_GONE);
	hosted_unref(r);
	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(s.released, 2);
	close(s.ready);
}

static void
ending_table_refuses_sessions_and_borrows_nothing(void **state)
{
	struct world *w = *state;
	struct recorder s = recorder();
	struct hosted_options opt = { .owner = "", .loan = { on_release, &s } };
	struct remit_error err;
	struct hosted *r;

	assert_true(hosted_table_end(w->hosted_table, 20000));
	assert_int_equal(
		hosted_open(w->hosted_table, &opt, &events, &s, &r, &err), -1);
	assert_int_equal(err.code, REMIT_E_GONE);
	assert_int_equal(s.released, 0);
	assert_int_equal(hosted_table_count(w->hosted_table, NULL), 0);
	close(s.ready);
}

static void
owner_is_refused_beyond_its_share(void **state)
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
	/* An owner without any session is limited too. */
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
answer_to_unknown_call_or_question_fails(void **state)
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
ids_are_unique(void **state)
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
write_and_keep(struct artifact_store *s, const char *owner, const char *id,
	       size_t bytes)
{
	leave_file(s, id, "a.txt", bytes);
	artifact_store_keep(s, owner, id);
}

static void
owner_evicts_its_own_files_before_those_of_others(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	write_and_keep(s, "bob", "old", 10000);
	for (int i = 0; i < 8; i++) {
		char id[16];

		snprintf(id, sizeof(id), "alice-%d", i);
		write_and_keep(s, "alice", id, 40000);
	}
	assert_true(has_file(s, "bob", "old"));
	assert_false(has_file(s, "alice", "alice-6"));
	assert_true(has_file(s, "alice", "alice-7"));
	/* A single file beyond the share. */
	write_and_keep(s, "alice", "large", 50000);
	assert_false(has_file(s, "alice", "large"));
	artifact_store_free(s);
}

static void
full_store_evicts_files_of_its_largest_owner(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	write_and_keep(s, "alice", "a1", 20000);
	write_and_keep(s, "alice", "a2", 20000);
	write_and_keep(s, "bob", "b1", 40000);
	write_and_keep(s, "carol", "c1", 15000);
	assert_true(has_file(s, "carol", "c1"));
	assert_false(has_file(s, "alice", "a1"));
	assert_true(has_file(s, "alice", "a2"));
	assert_true(has_file(s, "bob", "b1"));
	artifact_store_free(s);
}

static void
files_being_written_count_against_the_limit(void **state)
{
	struct artifact_store *s = open_store(60000, 100000, 50000);

	(void)state;
	write_and_keep(s, "alice", "kept", 20000);
	assert_true(artifact_store_reserve(s, "alice", "w1", "a.txt", 20000));
	assert_true(has_file(s, "alice", "kept"));
	assert_true(artifact_store_reserve(s, "alice", "w2", "a.txt", 10000));
	assert_false(has_file(s, "alice", "kept"));
	/* Files being written cannot be evicted. */
	assert_false(artifact_store_reserve(s, "alice", "w3", "a.txt", 20000));
	assert_false(
		artifact_store_reserve(s, "alice", "w3", "a.txt", UINT64_MAX));
	assert_true(artifact_store_reserve(s, "bob", "w4", "a.txt", 40000));
	artifact_store_discard(s, "alice", "w1");
	assert_true(artifact_store_reserve(s, "alice", "w3", "d/a.txt", 20000));
	write_and_keep(s, "alice", "w3", 20000);
	assert_true(has_file(s, "alice", "w3"));
	artifact_store_free(s);
}

static void
store_removes_files_of_a_killed_server_but_not_of_a_live_one(void **state)
{
	struct artifact_store *live = open_store(60000, 100000, 100000), *s;
	char dead[] = "/tmp/remit-artifact-store-XXXXXX", path[128];
	struct stat st;
	int fd;

	(void)state;
	write_and_keep(live, "alice", "one", 100);
	assert_non_null(mkdtemp(dead));
	snprintf(path, sizeof(path), "%s/session", dead);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/session/file", dead);
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
files_are_read_by_their_owner_only_and_oldest_are_evicted_first(void **state)
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
files_past_their_time_or_over_the_limit_are_removed(void **state)
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
			session_that_cannot_be_opened_reports_why_and_leaves_the_table),
		WITH_HOSTED_TABLE(
			run_is_not_a_session_and_its_loans_are_released),
		WITH_HOSTED_TABLE(
			ending_table_refuses_sessions_and_borrows_nothing),
		WITH_HOSTED_TABLE(owner_is_refused_beyond_its_share),
		WITH_HOSTED_TABLE(answer_to_unknown_call_or_question_fails),
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(
			files_are_read_by_their_owner_only_and_oldest_are_evicted_first),
		cmocka_unit_test(
			files_past_their_time_or_over_the_limit_are_removed),
		cmocka_unit_test(
			owner_evicts_its_own_files_before_those_of_others),
		cmocka_unit_test(full_store_evicts_files_of_its_largest_owner),
		cmocka_unit_test(files_being_written_count_against_the_limit),
		cmocka_unit_test(
			store_removes_files_of_a_killed_server_but_not_of_a_live_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
