/* result: the table of members is the one that docs/reference/result.md shows,
   and statuses are the names and exit codes that users write scripts against.
 */
#include "wire/result.h"

#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"

#include <cmocka.h>

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
members_match_the_reference_in_sequence(void **state)
{
	FILE *f = fopen("docs/reference/result.md", "r");
	char line[1024], name[64], source[32];
	size_t row = 0;
	int end;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		/* Statuses have a table too, with words in its second column.
		 */
		end = 0;
		if (sscanf(line, "| `%63[a-z0-9_]` | %31[a-z] |%n", name,
			   source, &end) != 2 ||
		    !end)
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
defaults_have_an_allowed_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		const struct result_row *row = &result_rows[i];
		json_auto_t *default_json =
			row->default_json ? json_loads(row->default_json,
						       JSON_DECODE_ANY, NULL)
					  : NULL;

		assert_int_equal(!default_json, !row->default_json);
		if (default_json && row->types)
			assert_true(1u << json_typeof(default_json) &
				    row->types);
	}
}

/* ---- how a run can end ---- */

#define OWN_CODE    (-1)
#define SIGNAL_CODE (-2)

/* The table of docs/reference/result.md, row by row. */
static const struct {
	enum status status;
	const char *name;
	int exit_code;
} table[] = {
	{ STATUS_OK, "ok", OWN_CODE },
	{ STATUS_ERROR, "error", OWN_CODE },
	{ STATUS_EXIT, "exit", OWN_CODE },
	{ STATUS_TIMEOUT, "timeout", 124 },
	{ STATUS_CPU_LIMIT, "cpu_limit", 124 },
	{ STATUS_MEMORY_LIMIT, "memory_limit", 137 },
	{ STATUS_OUTPUT_LIMIT, "output_limit", 141 },
	{ STATUS_KILLED, "killed", SIGNAL_CODE },
	{ STATUS_INTERRUPTED, "interrupted", 130 },
	{ STATUS_REJECTED, "rejected", 126 },
	{ STATUS_INSTALL_FAILED, "install_failed", 126 },
	{ STATUS_REFUSED, "refused", 125 },
	{ STATUS_BUSY, "busy", 125 },
	{ STATUS_INTERNAL, "internal", 125 },
};

static int
expected(size_t row, int own_code, int signal)
{
	if (table[row].exit_code == OWN_CODE)
		return own_code;
	if (table[row].exit_code == SIGNAL_CODE)
		return 128 + signal;
	return table[row].exit_code;
}

static void
statuses_have_names_and_sentences(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LEN(table), STATUS_COUNT);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct status_info *s = &statuses[table[i].status];

		assert_string_equal(s->name, table[i].name);
		assert_true(strlen(s->sentence) > 0);
		assert_int_equal(status_find(table[i].name), table[i].status);
	}
}

static void
exit_codes_match_the_table(void **state)
{
	static const int own_codes[] = { 0, 1, 3, 124, 255 };
	static const int signals[] = { SIGKILL, SIGSEGV, SIGXCPU };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		for (size_t c = 0; c < ARRAY_LEN(own_codes); c++)
			for (size_t s = 0; s < ARRAY_LEN(signals); s++)
				assert_int_equal(
					status_exit_code(table[i].status,
							 own_codes[c],
							 signals[s]),
					expected(i, own_codes[c], signals[s]));
}

static void
unknown_name_is_not_found(void **state)
{
	(void)state;
	assert_int_equal(status_find(""), -1);
	assert_int_equal(status_find("OK"), -1);
	assert_int_equal(status_find("okay"), -1);
	assert_int_equal(status_find("time"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_match_the_reference_in_sequence),
		cmocka_unit_test(defaults_have_an_allowed_type),
		cmocka_unit_test(statuses_have_names_and_sentences),
		cmocka_unit_test(exit_codes_match_the_table),
		cmocka_unit_test(unknown_name_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
