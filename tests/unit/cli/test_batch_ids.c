/* batch_ids: a set of texts. */
#include "cli/batch/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void
empty_set_contains_no_id(void **state)
{
	own(batch_ids) struct batch_ids s = BATCH_IDS_INIT;

	(void)state;
	assert_false(batch_ids_has(&s, ""));
	assert_false(batch_ids_has(&s, "a"));
}

static void
id_is_new_only_the_first_time(void **state)
{
	static const char *const ids[] = { "1", "\"1\"", "", "line 1", "-1" };
	own(batch_ids) struct batch_ids s = BATCH_IDS_INIT;
	bool is_new;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		assert_false(batch_ids_has(&s, ids[i]));
		assert_int_equal(batch_ids_add(&s, ids[i], &is_new), 0);
		assert_true(is_new);
	}
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		assert_true(batch_ids_has(&s, ids[i]));
		assert_int_equal(batch_ids_add(&s, ids[i], &is_new), 0);
		assert_false(is_new);
	}
	assert_int_equal(s.count, ARRAY_LEN(ids));
}

static void
large_set_contains_exactly_the_added_ids(void **state)
{
	enum { MANY = 20000 };
	own(batch_ids) struct batch_ids s = BATCH_IDS_INIT;
	char id[32];
	bool is_new;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof(id), "%d", 2 * i);
		assert_int_equal(batch_ids_add(&s, id, &is_new), 0);
		assert_true(is_new);
	}
	for (int i = 0; i < 2 * MANY; i++) {
		snprintf(id, sizeof(id), "%d", i);
		assert_int_equal(batch_ids_has(&s, id), i % 2 == 0);
	}
	assert_int_equal(s.count, MANY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_set_contains_no_id),
		cmocka_unit_test(id_is_new_only_the_first_time),
		cmocka_unit_test(large_set_contains_exactly_the_added_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
