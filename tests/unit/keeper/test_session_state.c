/*
 * session_state: every transition that may be, and no other; the table is the
 * one that ARCHITECTURE.md prints.
 */
#include "keeper/session/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *architecture;

/* "| state | may become |", as the document has it. */
static void
write_row(char *out, size_t size, enum session_state from)
{
	const char *comma = "";
	size_t len =
		(size_t)snprintf(out, size, "| %s |", session_state_name(from));

	for (unsigned to = 0; to < SESSION_STATES; to++)
		if (session_state_may(from, (enum session_state)to)) {
			len += (size_t)snprintf(
				out + len, size - len, "%s %s", comma,
				session_state_name((enum session_state)to));
			comma = ",";
		}
	snprintf(out + len, size - len, " |\n");
}

static void
the_document_prints_the_table(void **state)
{
	char line[1024], wanted[1024];
	FILE *f = fopen(architecture, "r");
	unsigned row = 0;
	bool inside = false;

	(void)state;
	assert_non_null(f);
	while (row < SESSION_STATES && fgets(line, sizeof(line), f)) {
		if (!inside) {
			inside = !strcmp(line, "| state | may become |\n");
			continue;
		}
		if (!strcmp(line, "|---|---|\n"))
			continue;
		write_row(wanted, sizeof(wanted), (enum session_state)row++);
		assert_string_equal(line, wanted);
	}
	fclose(f);
	assert_int_equal(row, SESSION_STATES);
}

static void
every_state_can_end_and_done_is_the_end(void **state)
{
	(void)state;
	for (unsigned s = 0; s < SESSION_DONE; s++)
		assert_true(
			session_state_may((enum session_state)s, SESSION_DONE));
	for (unsigned s = 0; s < SESSION_STATES; s++)
		assert_false(
			session_state_may(SESSION_DONE, (enum session_state)s));
}

/* A dead jail runs nothing, and a session does not go back to its beginning. */
static void
no_state_leads_back_from_a_dead_jail_but_to_idle(void **state)
{
	(void)state;
	for (unsigned from = SESSION_DYING; from < SESSION_STATES; from++)
		for (unsigned to = 0; to < SESSION_DYING; to++)
			if (to != SESSION_IDLE)
				assert_false(session_state_may(
					(enum session_state)from,
					(enum session_state)to));
	for (unsigned from = 0; from < SESSION_STATES; from++)
		assert_false(session_state_may((enum session_state)from,
					       SESSION_READING));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_prints_the_table),
		cmocka_unit_test(every_state_can_end_and_done_is_the_end),
		cmocka_unit_test(
			no_state_leads_back_from_a_dead_jail_but_to_idle),
	};

	if (argc != 2)
		return 2;
	architecture = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
