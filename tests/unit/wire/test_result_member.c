/* result_member: the table of members is the one that docs/reference/result.md
 * shows. */
#include "wire/result_member.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static const char *
word_of(enum result_source source)
{
	switch (source) {
	case RESULT_BY_CALLER:
		return "caller";
	case RESULT_BY_KEEPER:
		return "keeper";
	case RESULT_BY_PLAN:
		return "plan";
	case RESULT_BY_DISPLAYS:
		return "displays";
	case RESULT_BY_LIBRARY:
	case RESULT_BY_ENCODING:
		return "library";
	}
	return "";
}

static void
members_are_those_of_the_document_in_its_order(void **state)
{
	FILE *f = fopen("docs/reference/result.md", "r");
	char line[1024], name[64], source[32];
	size_t row = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "| `%63[a-z0-9_]` | %31[a-z] |", name,
			   source) != 2)
			continue;
		assert_true(row < RESULT_MEMBERS);
		assert_string_equal(name, result_rows[row].name);
		assert_string_equal(source, word_of(result_rows[row].source));
		row++;
	}
	fclose(f);
	assert_int_equal(row, RESULT_MEMBERS);
}

static void
what_stands_for_nothing_is_of_a_type_that_the_member_may_have(void **state)
{
	(void)state;
	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		const struct result_row *row = &result_rows[i];
		json_auto_t *nothing =
			row->nothing ? json_loads(row->nothing, JSON_DECODE_ANY,
						  NULL)
				     : NULL;

		assert_int_equal(!nothing, !row->nothing);
		if (nothing && row->types)
			assert_true(1u << json_typeof(nothing) & row->types);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			members_are_those_of_the_document_in_its_order),
		cmocka_unit_test(
			what_stands_for_nothing_is_of_a_type_that_the_member_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
