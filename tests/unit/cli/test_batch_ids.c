/* batch_ids: a set of texts. */
#include "cli/batch/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void
an_empty_set_has_nothing(void **state)
{
	own(batch_ids) struct batch_ids s = BATCH_IDS_INIT;

	(void)state;
	assert_false(batch_ids_has(&s, ""));
	assert_false(batch_ids_has(&s, "a"));
}

static void
an_id_is_new_once(void **state)
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
many_ids_are_all_found_and_no_others(void **state)
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
		cmocka_unit_test(an_empty_set_has_nothing),
		cmocka_unit_test(an_id_is_new_once),
		cmocka_unit_test(many_ids_are_all_found_and_no_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
