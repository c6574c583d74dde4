/*
 * result: it is written as text, so every kind of end is parsed as JSON and
 * compared with the outcome and the usage.
 */
#include "keeper/output/result.h"

#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "keeper/pool/pool.h"
#include "wire/record.h"
#include "wire/result.h"

/* cmocka defines fail() as a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

#define EXITED(code) ((code) << 8)

/* Defined in the client's library, which this test does not link. */
const char *
remit_version(void)
{
	return "1.2.3";
}

/* A session in a pool, after its run. */
struct ended {
	struct pool pool;
	struct session session;
	struct buf text;
	json_t *doc;
};

static void
ended_free(struct ended *e)
{
	claim_free(&e->session.cell.claim);
	buf_free(&e->text);
	json_decref(e->doc);
}

static struct ended
ordinary(void)
{
	return (struct ended){
		.pool = { .policy = { .tier = TIER_LOCAL } },
		.session.cell = {
			.id = "0123456789abcdef",
			.facts = { .has_wait_status = true },
			.claim = { .kind = CLAIM_OK },
			.began_us = 1000000,
			.ended_us = 1012345,
		},
		.text = BUF_INIT(4 * 1024 * 1024),
	};
}

static const char *const usage_keys[] = { "wall_ms",	       "cpu_ms",
					  "memory_peak_bytes", "processes_peak",
					  "network",	       "tool_calls",
					  "tool_wait_ms" };

/* The keeper's rows of the table, in the same sequence, and no others: a reader
   need not check which members exist. */
static void
has_the_keepers_members(json_t *doc)
{
	size_t row = 0;
	const char *name;
	json_t *value;

	json_object_foreach(doc, name, value)
	{
		while (row < RESULT_MEMBERS &&
		       result_rows[row].source != RESULT_BY_KEEPER)
			row++;
		assert_true(row < RESULT_MEMBERS);
		assert_string_equal(name, result_rows[row].name);
		if (!(1u << json_typeof(value) & result_rows[row].types))
			fail_msg("%s is of another type", name);
		row++;
	}
	while (row < RESULT_MEMBERS)
		assert_int_not_equal(result_rows[row++].source,
				     RESULT_BY_KEEPER);
}

static void
write_it(struct ended *e)
{
	json_error_t where;
	const json_t *usage;

	if (!e->session.pool && !e->session.cell.error.code)
		e->session.pool = &e->pool;
	buf_free(&e->text);
	json_decref(e->doc);
	assert_int_equal(result_write(&e->text, &e->session), 0);
	e->doc = json_loadb(e->text.data, e->text.len, JSON_REJECT_DUPLICATES,
			    &where);
	if (!e->doc)
		fail_msg("%s: %s", where.text, e->text.data);
	has_the_keepers_members(e->doc);
	usage = json_object_get(e->doc, "usage");
	assert_int_equal(json_object_size(usage), ARRAY_LEN(usage_keys));
	for (size_t i = 0; i < ARRAY_LEN(usage_keys); i++)
		assert_non_null(json_object_get(usage, usage_keys[i]));
}

static const json_t *
get(const struct ended *e, const char *key)
{
	const json_t *usage = json_object_get(e->doc, "usage");
	const json_t *found = json_object_get(e->doc, key);

	return found ? found : json_object_get(usage, key);
}

/* Checks the value of a member, of the document or of its usage, as JSON. */
static void
is(const struct ended *e, const char *key, const char *want)
{
	own_mem char *text =
		json_dumps(get(e, key), JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(text);
	if (strcmp(text, want))
		fail_msg("%s is %s, not %s", key, text, want);
}

static void
is_real(const struct ended *e, const char *key, double want)
{
	assert_true(json_is_real(get(e, key)));
	assert_true(json_real_value(get(e, key)) == want);
}

static void
result_is_one_line_with_known_members(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	write_it(&e);
	assert_string_equal(
		e.text.data,
		"{\"status\":\"ok\",\"tier\":\"local\",\"start\":\"cold\","
		"\"exit_code\":0,\"signal\":null,\"stdout_truncated\":false,"
		"\"stderr_truncated\":false,\"error\":null,"
		"\"reported\":[\"status\"],\"usage\":{\"wall_ms\":12.345,"
		"\"cpu_ms\":null,\"memory_peak_bytes\":null,"
		"\"processes_peak\":null,\"network\":null,"
		"\"tool_calls\":0,\"tool_wait_ms\":0.000},"
		"\"displays_left_out\":0,\"denials\":[],"
		"\"denials_left_out\":0,\"denials_seen\":false,"
		"\"artifacts_skipped\":[],\"changes\":[],"
		"\"changes_skipped\":[],\"committed\":null,\"installed\":[],"
		"\"session\":null,"
		"\"run_id\":\"0123456789abcdef\","
		"\"remit_version\":\"1.2.3\",\"remit_exit_code\":0}");
}

static void
result_is_valid_json_for_every_end(void **state)
{
	static const struct {
		struct facts facts;
		struct claim claim;
		const char *status, *exit_code, *signal, *reported;
		int remit_exit_code;
	} rows[] = {
		{ { .has_wait_status = true },
		  { .kind = CLAIM_OK },
		  "\"ok\"",
		  "0",
		  "null",
		  "[\"status\"]",
		  0 },
		{ { .has_wait_status = true, .wait_status = EXITED(1) },
		  { .kind = CLAIM_ERROR },
		  "\"error\"",
		  "1",
		  "null",
		  "[\"status\"]",
		  1 },
		{ { .has_wait_status = true, .wait_status = EXITED(255) },
		  { .kind = CLAIM_EXIT },
		  "\"exit\"",
		  "255",
		  "null",
		  "[\"status\"]",
		  255 },
		{ { .has_wait_status = true, .wait_status = SIGSEGV },
		  { .kind = CLAIM_OK },
		  "\"killed\"",
		  "null",
		  "11",
		  "[]",
		  139 },
		{ { .init_died = true },
		  { .kind = CLAIM_NONE },
		  "\"killed\"",
		  "null",
		  "9",
		  "[]",
		  137 },
		{ { .timed_out = true },
		  { .kind = CLAIM_NONE },
		  "\"timeout\"",
		  "null",
		  "9",
		  "[]",
		  124 },
		{ { .over_cpu = true },
		  { .kind = CLAIM_NONE },
		  "\"cpu_limit\"",
		  "null",
		  "9",
		  "[]",
		  124 },
		{ { .oom_kills = 1 },
		  { .kind = CLAIM_NONE },
		  "\"memory_limit\"",
		  "null",
		  "9",
		  "[]",
		  137 },
		{ { .over_ceiling = true, .has_wait_status = true },
		  { .kind = CLAIM_OK },
		  "\"output_limit\"",
		  "0",
		  "null",
		  "[]",
		  141 },
		{ { .interrupted = true },
		  { .kind = CLAIM_NONE },
		  "\"interrupted\"",
		  "null",
		  "9",
		  "[]",
		  130 },
		{ { .interrupted = true,
		    .has_wait_status = true,
		    .wait_status = EXITED(1) },
		  { .kind = CLAIM_ERROR },
		  "\"interrupted\"",
		  "1",
		  "null",
		  "[]",
		  130 },
		{ { .timed_out = true },
		  { .kind = CLAIM_REJECTED },
		  "\"rejected\"",
		  "null",
		  "null",
		  "[\"status\"]",
		  126 },
		{ { .checked_only = true },
		  { .kind = CLAIM_NONE },
		  "\"ok\"",
		  "null",
		  "null",
		  "[\"status\"]",
		  0 },
		/* A process that still runs: its exit code is a claim. */
		{ { 0 },
		  { .kind = CLAIM_OK, .has_exit_code = true },
		  "\"ok\"",
		  "0",
		  "null",
		  "[\"status\",\"exit_code\"]",
		  0 },
		{ { 0 },
		  { .kind = CLAIM_EXIT, .has_exit_code = true, .exit_code = 3 },
		  "\"exit\"",
		  "3",
		  "null",
		  "[\"status\",\"exit_code\"]",
		  3 },
		{ { .interrupted = true },
		  { .kind = CLAIM_EXIT, .has_exit_code = true, .exit_code = 3 },
		  "\"interrupted\"",
		  "3",
		  "null",
		  "[\"exit_code\"]",
		  130 },
		{ { .timed_out = true },
		  { .kind = CLAIM_OK, .has_exit_code = true },
		  "\"timeout\"",
		  "null",
		  "null",
		  "[]",
		  124 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(ended) struct ended e = ordinary();

		e.session.cell.facts = rows[i].facts;
		e.session.cell.claim = rows[i].claim;
		write_it(&e);
		is(&e, "status", rows[i].status);
		is(&e, "exit_code", rows[i].exit_code);
		is(&e, "signal", rows[i].signal);
		is(&e, "reported", rows[i].reported);
		is(&e, "error", "null");
		assert_int_equal(json_integer_value(get(&e, "remit_exit_code")),
				 rows[i].remit_exit_code);
	}
}

/* The text of a program's error comes back byte by byte. */
static void
claimed_error_is_quoted_and_marked_as_reported(void **state)
{
	static const char value[] = "\",\"status\":\"ok\",\"x\":\"\\ \b\n\t\x01"
				    "\x1f\x7f % %s %n \xc3\xa9 \xf0\x9f\x98\x80"
				    "\xe2\x80\xa8 </script>";
	own(ended) struct ended e = ordinary();
	const json_t *error;

	(void)state;
	e.session.cell.facts.wait_status = EXITED(1);
	e.session.cell.claim = (struct claim){
		.kind = CLAIM_ERROR,
		.error = json_pack("{s:s, s:s, s:s, s:i}", "name", value,
				   "value", value, "traceback", value, "line",
				   7),
	};
	assert_non_null(e.session.cell.claim.error);
	write_it(&e);
	error = get(&e, "error");
	assert_true(json_equal(error, e.session.cell.claim.error));
	assert_string_equal(json_string_value(json_object_get(error, "name")),
			    value);
	is(&e, "status", "\"error\"");
	is(&e, "reported", "[\"status\",\"error\"]");
}

/* A claim of the maximum length, in which each byte is escaped as six. */
static void
result_frame_has_space_for_the_longest_claim(void **state)
{
	own(ended) struct ended e = ordinary();
	size_t len = frame_rules[FRAME_ENDED].max;
	own_mem char *ones = malloc(len);

	(void)state;
	assert_non_null(ones);
	memset(ones, 1, len);
	e.text.cap = frame_rules[FRAME_RESULT].max;
	e.session.cell.claim.error = json_pack("{s:s%}", "value", ones, len);
	assert_non_null(e.session.cell.claim.error);
	write_it(&e);
	assert_true(json_equal(get(&e, "error"), e.session.cell.claim.error));
}

static void
error_of_remit_sets_the_status_and_is_not_a_claim(void **state)
{
	static const struct {
		enum remit_code code;
		const char *name, *status;
	} rows[] = {
		{ REMIT_E_INPUT, "input", "\"refused\"" },
		{ REMIT_E_REFUSED, "refused", "\"refused\"" },
		{ REMIT_E_ELSEWHERE, "refused", "\"refused\"" },
		{ REMIT_E_BUSY, "busy", "\"busy\"" },
		{ REMIT_E_GONE, "gone", "\"internal\"" },
		{ REMIT_E_KERNEL, "kernel", "\"internal\"" },
		{ REMIT_E_MEMORY, "memory", "\"internal\"" },
		{ REMIT_E_PROTOCOL, "protocol", "\"internal\"" },
		{ REMIT_E_INTERNAL, "internal", "\"internal\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(ended) struct ended e = ordinary();
		const json_t *error, *elsewhere;

		/* The program's claim does not replace Remit's error. */
		e.session.cell.claim.error = json_pack("{s:s}", "name", "E");
		fail_with(&e.session.cell.error, rows[i].code, "because");
		write_it(&e);
		error = get(&e, "error");
		elsewhere = json_object_get(error, "elsewhere");
		is(&e, "status", rows[i].status);
		is(&e, "exit_code", "null");
		is(&e, "signal", "null");
		is(&e, "reported", "[]");
		is(&e, "remit_exit_code", "125");
		assert_string_equal(
			json_string_value(json_object_get(error, "name")),
			rows[i].name);
		assert_string_equal(
			json_string_value(json_object_get(error, "value")),
			"because");
		assert_null(json_object_get(error, "where"));
		assert_null(json_object_get(error, "remedy"));
		assert_int_equal(json_is_true(elsewhere),
				 rows[i].code == REMIT_E_ELSEWHERE);
		assert_int_equal(elsewhere != NULL,
				 rows[i].code == REMIT_E_ELSEWHERE);
	}
}

static void
error_of_remit_is_quoted(void **state)
{
	static const char odd[] = "/tmp/\"a\\b\"\n\x01 %s";
	own(ended) struct ended e = ordinary();
	const json_t *error;

	(void)state;
	fail_refused(&e.session.cell.error, odd, odd, "%s", odd);
	write_it(&e);
	error = get(&e, "error");
	assert_string_equal(json_string_value(json_object_get(error, "value")),
			    odd);
	assert_string_equal(json_string_value(json_object_get(error, "where")),
			    odd);
	assert_string_equal(json_string_value(json_object_get(error, "remedy")),
			    odd);
}

/* A file name need not be UTF-8, and a message is cut at any byte. */
static void
error_that_is_not_utf8_gives_valid_json(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	fail_refused(&e.session.cell.error, "/\xff", "\xc3", "open /\xff\xfe");
	write_it(&e);
	assert_string_equal(
		json_string_value(json_object_get(get(&e, "error"), "value")),
		"open /\xef\xbf\xbd\xef\xbf\xbd");
}

/* A session that was refused before it had a plan has its policy itself. */
static void
tier_is_that_of_the_session_s_policy(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	e.session.policy.tier = TIER_STATIC;
	e.pool.policy.tier = TIER_UNSAFE;
	e.session.pool = &e.pool;
	write_it(&e);
	is(&e, "tier", "\"unsafe\"");
	e.session.pool = NULL;
	e.session.cell.error.code = REMIT_E_INTERNAL;
	write_it(&e);
	is(&e, "tier", "\"static\"");
}

static void
start_is_warm_cold_or_null(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	write_it(&e);
	is(&e, "start", "\"cold\"");
	e.session.cell.was_warm = true;
	write_it(&e);
	is(&e, "start", "\"warm\"");
	e.session.cell.began_us = 0;
	write_it(&e);
	is(&e, "start", "null");
}

static void
times_are_milliseconds_with_three_decimals(void **state)
{
	static const struct {
		uint64_t us;
		double ms;
	} rows[] = {
		{ 0, 0 },
		{ 1, 0.001 },
		{ 999, 0.999 },
		{ 1000, 1 },
		{ 1001, 1.001 },
		{ 60050, 60.05 },
		{ 123456789, 123456.789 },
		{ UINT64_C(86400000001), 86400000.001 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(ended) struct ended e = ordinary();

		e.session.cell.ended_us = e.session.cell.began_us + rows[i].us;
		e.session.cell.used.has_cpu = true;
		e.session.cell.facts.cpu_us = rows[i].us;
		write_it(&e);
		is_real(&e, "wall_ms", rows[i].ms);
		is_real(&e, "cpu_ms", rows[i].ms);
	}
}

static void
usage_that_was_not_measured_is_null(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	e.session.cell.began_us = 0;
	e.session.cell.facts.cpu_us = 5;
	e.session.cell.used.pids_peak = 9;
	e.session.cell.used.memory_peak_bytes = 9;
	write_it(&e);
	is(&e, "wall_ms", "null");
	is(&e, "cpu_ms", "null");
	is(&e, "memory_peak_bytes", "null");
	is(&e, "processes_peak", "null");
	ended_free(&e);
	e = ordinary();
	e.session.cell.ended_us = 0;
	write_it(&e);
	is(&e, "wall_ms", "null");
	/* The process's clock is enough. */
	e.session.cell.exit.cpu_us = 1;
	e.session.cell.facts.cpu_us = 1500;
	write_it(&e);
	is(&e, "cpu_ms", "1.5");
}

/* Pid 1 belongs to Remit. A cgroup with one process contains only pid 1. */
static void
processes_peak_leaves_out_pid_1(void **state)
{
	static const char *const want[] = { "null", "null", "1", "2" };
	own(ended) struct ended e = ordinary();

	(void)state;
	e.session.cell.used.has_pids = true;
	for (size_t n = 0; n < ARRAY_LEN(want); n++) {
		e.session.cell.used.pids_peak = n;
		write_it(&e);
		is(&e, "processes_peak", want[n]);
	}
}

static void
memory_peak_is_the_larger_of_cgroup_and_process(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	e.session.cell.exit.max_rss_kib = 4;
	write_it(&e);
	is(&e, "memory_peak_bytes", "4096");
	e.session.cell.used.memory_peak_bytes = 5000;
	write_it(&e);
	is(&e, "memory_peak_bytes", "4096");
	e.session.cell.used.has_memory = true;
	write_it(&e);
	is(&e, "memory_peak_bytes", "5000");
	e.session.cell.used.memory_peak_bytes = 4000;
	write_it(&e);
	is(&e, "memory_peak_bytes", "4096");
	e.session.cell.used.memory_peak_bytes = UINT64_C(1) << 40;
	write_it(&e);
	is(&e, "memory_peak_bytes", "1099511627776");
}

static void
truncation_is_reported_for_each_stream(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	e.session.out.total_bytes = 2;
	e.session.out.kept_bytes = 1;
	write_it(&e);
	is(&e, "stdout_truncated", "true");
	is(&e, "stderr_truncated", "false");
	ended_free(&e);
	e = ordinary();
	e.session.err.total_bytes = 2;
	e.session.err.kept_bytes = 1;
	write_it(&e);
	is(&e, "stdout_truncated", "false");
	is(&e, "stderr_truncated", "true");
}

static void
result_that_does_not_fit_is_an_error(void **state)
{
	own(ended) struct ended e = ordinary();
	size_t len;

	(void)state;
	e.session.cell.claim.error = json_pack("{s:s}", "name", "E");
	write_it(&e);
	len = e.text.len;
	for (size_t cap = 0; cap < len; cap++) {
		buf_free(&e.text);
		e.text.cap = cap;
		assert_int_equal(result_write(&e.text, &e.session), -1);
	}
	buf_free(&e.text);
	e.text.cap = len;
	assert_int_equal(result_write(&e.text, &e.session), 0);
}

/* The committer sends records; a list that it did not send is empty. */
static void
changes_are_copied_from_the_committer(void **state)
{
	own(ended) struct ended e = ordinary();
	struct buf *changes = &e.session.cell.changes;

	(void)state;
	*changes = (struct buf)BUF_INIT(1024);
	assert_int_equal(record_add(changes, "changes", "[{\"path\":\"a\"}]"),
			 0);
	write_it(&e);
	is(&e, "changes", "[{\"path\":\"a\"}]");
	is(&e, "changes_skipped", "[]");
	is(&e, "committed", "false");
	assert_int_equal(record_add(changes, "changes_skipped", "[1]"), 0);
	e.session.cell.was_committed = true;
	write_it(&e);
	is(&e, "changes", "[{\"path\":\"a\"}]");
	is(&e, "changes_skipped", "[1]");
	is(&e, "committed", "true");
	buf_free(changes);
}

static void
denials_are_listed_counted_or_unknown(void **state)
{
	own(ended) struct ended e = ordinary();
	struct denial d = { .call = "mount", .field = FIELD_TOTAL };

	(void)state;
	write_it(&e);
	is(&e, "denials_seen", "false");
	e.session.cell.is_watched = true;
	denials_add(&e.session.cell.denials, &d);
	denials_add(&e.session.cell.denials, &d);
	e.session.cell.denials.left_out = 5;
	write_it(&e);
	is(&e, "denials_seen", "true");
	is(&e, "denials_left_out", "5");
	is(&e, "denials",
	   "[{\"source\":\"kernel\",\"syscall\":\"mount\",\"what\":null,"
	   "\"count\":2,\"field\":null,\"flag\":null,\"reported\":{}}]");
	e.session.cell.began_us = 0;
	write_it(&e);
	is(&e, "denials_seen", "null");
	denials_free(&e.session.cell.denials);
}

static void
cell_reports_whether_its_session_is_open(void **state)
{
	own(ended) struct ended e = ordinary();

	(void)state;
	write_it(&e);
	is(&e, "session", "null");
	e.session.life = LIFE_OPEN;
	e.session.cells = 7;
	memcpy(e.session.open_id, "fedcba9876543210", 17);
	write_it(&e);
	is(&e, "session",
	   "{\"id\":\"fedcba9876543210\",\"cell\":7,\"state\":\"open\","
	   "\"incomplete\":false,\"branch_of\":null}");
	e.session.cell.claim.incomplete = true;
	e.session.loss.code = REMIT_E_GONE;
	write_it(&e);
	is(&e, "session",
	   "{\"id\":\"fedcba9876543210\",\"cell\":7,\"state\":\"ended\","
	   "\"incomplete\":true,\"branch_of\":null}");
	memcpy(e.session.branch_of, "0123456789abcdef", 17);
	write_it(&e);
	is(&e, "session",
	   "{\"id\":\"fedcba9876543210\",\"cell\":7,\"state\":\"ended\","
	   "\"incomplete\":true,\"branch_of\":\"0123456789abcdef\"}");
	is(&e, "start", "\"branch\"");
	e.session.loss.code = REMIT_OK;
	e.session.life = LIFE_CLOSING;
	e.session.cell.facts.closed = true;
	write_it(&e);
	is(&e, "status", "\"ok\"");
	is(&e, "reported", "[]");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cell_reports_whether_its_session_is_open),
		cmocka_unit_test(result_is_one_line_with_known_members),
		cmocka_unit_test(denials_are_listed_counted_or_unknown),
		cmocka_unit_test(result_is_valid_json_for_every_end),
		cmocka_unit_test(
			claimed_error_is_quoted_and_marked_as_reported),
		cmocka_unit_test(result_frame_has_space_for_the_longest_claim),
		cmocka_unit_test(
			error_of_remit_sets_the_status_and_is_not_a_claim),
		cmocka_unit_test(error_of_remit_is_quoted),
		cmocka_unit_test(error_that_is_not_utf8_gives_valid_json),
		cmocka_unit_test(tier_is_that_of_the_session_s_policy),
		cmocka_unit_test(start_is_warm_cold_or_null),
		cmocka_unit_test(times_are_milliseconds_with_three_decimals),
		cmocka_unit_test(usage_that_was_not_measured_is_null),
		cmocka_unit_test(processes_peak_leaves_out_pid_1),
		cmocka_unit_test(
			memory_peak_is_the_larger_of_cgroup_and_process),
		cmocka_unit_test(truncation_is_reported_for_each_stream),
		cmocka_unit_test(result_that_does_not_fit_is_an_error),
		cmocka_unit_test(changes_are_copied_from_the_committer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
