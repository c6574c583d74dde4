/* journal: the most recent runs, in a bounded number. */
#include "keeper/overview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "remit.h"

#include <cmocka.h>

/* Defined in the client's library, which this test does not link. */
const char *
remit_version(void)
{
	return "1.2.3";
}

static void
add(struct journal *j, unsigned number)
{
	struct journal_run run = {
		.ended_ms = 1500,
		.tier = TIER_LOCAL,
		.status = STATUS_TIMEOUT,
		.code_bytes = number,
		.wall_us = 2500,
	};

	snprintf(run.id, sizeof(run.id), "%u", number);
	journal_add(j, &run);
}

static json_int_t
bytes_of(const json_t *all, size_t i)
{
	return json_integer_value(
		json_object_get(json_array_get(all, i), "code_bytes"));
}

static void
journal_reports_a_run_unchanged(void **state)
{
	static struct journal j;
	json_auto_t *all = NULL;
	const json_t *run;

	(void)state;
	add(&j, 7);
	all = journal_to_json(&j);
	assert_int_equal(json_array_size(all), 1);
	run = json_array_get(all, 0);
	assert_string_equal(json_string_value(json_object_get(run, "run_id")),
			    "7");
	assert_string_equal(json_string_value(json_object_get(run, "status")),
			    "timeout");
	assert_true(json_real_value(json_object_get(run, "ended")) == 1.5);
	assert_true(json_real_value(json_object_get(run, "wall_ms")) == 2.5);
}

static void
journal_drops_the_oldest_runs(void **state)
{
	static struct journal j;
	unsigned last = 3 * JOURNAL_RUNS + 5;
	json_auto_t *all = NULL;

	(void)state;
	for (unsigned i = 0; i <= last; i++)
		add(&j, i);
	all = journal_to_json(&j);
	assert_int_equal(json_array_size(all), JOURNAL_RUNS);
	assert_int_equal(bytes_of(all, 0), last + 1 - JOURNAL_RUNS);
	assert_int_equal(bytes_of(all, JOURNAL_RUNS - 1), last);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(journal_reports_a_run_unchanged),
		cmocka_unit_test(journal_drops_the_oldest_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
