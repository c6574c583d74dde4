/*
 * session_state: the table allows the transitions that docs/design/session.md
 * prints, and no others. Events are handled in order of urgency, each once, and
 * from the loop.
 */
#include "keeper/session/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka defines fail() as a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

static const char *architecture;

/* A row "| state | may become |" as the document has it. */
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
document_matches_the_table(void **state)
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
every_state_leads_to_done(void **state)
{
	(void)state;
	for (unsigned s = 0; s < SESSION_DONE; s++)
		assert_true(
			session_state_may((enum session_state)s, SESSION_DONE));
	for (unsigned s = 0; s < SESSION_STATES; s++)
		assert_false(
			session_state_may(SESSION_DONE, (enum session_state)s));
}

/* A dead jail runs nothing, and a session never starts again. */
static void
dead_jail_leads_only_to_idle_or_forward(void **state)
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

static void
events_are_returned_once_by_urgency(void **state)
{
	struct session_queue q = { 0 };
	struct loop l = { 0 };

	(void)state;
	session_queue_add(&q, &l, SESSION_SENT);
	session_queue_add(&q, &l, SESSION_LEFT);
	session_queue_add(&q, &l, SESSION_SENT);
	session_queue_add(&q, &l, SESSION_GOT_WORKER);
	assert_true(session_queue_has(&q, SESSION_GOT_WORKER));
	assert_int_equal(session_queue_next(&q), SESSION_LEFT);
	assert_int_equal(session_queue_next(&q), SESSION_GOT_WORKER);
	assert_int_equal(session_queue_next(&q), SESSION_SENT);
	assert_int_equal(session_queue_next(&q), SESSION_EVENTS);
	assert_false(session_queue_has(&q, SESSION_SENT));
}

static void
event_defers_the_handler_once(void **state)
{
	struct session_queue q = { 0 };
	struct loop l = { 0 };

	(void)state;
	session_queue_add(&q, &l, SESSION_SENT);
	session_queue_add(&q, &l, SESSION_LEFT);
	assert_ptr_equal(l.first_deferred, &q.work);
	assert_null(q.work.next);
}

static void
first_error_is_kept_until_handled(void **state)
{
	struct session_queue q = { 0 };
	struct loop l = { 0 };
	struct remit_error first, second;

	(void)state;
	fail_with(&first, REMIT_E_KERNEL, "first");
	fail_with(&second, REMIT_E_MEMORY, "second");
	session_queue_fail(&q, &l, &first);
	session_queue_fail(&q, &l, &second);
	assert_string_equal(q.trouble.message, "first");
	assert_int_equal(session_queue_next(&q), SESSION_FAILED);
	session_queue_fail(&q, &l, &second);
	assert_string_equal(q.trouble.message, "second");
}

static void
events_have_names(void **state)
{
	(void)state;
	for (unsigned e = 0; e < SESSION_EVENTS; e++)
		assert_non_null(session_event_name((enum session_event)e));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(document_matches_the_table),
		cmocka_unit_test(every_state_leads_to_done),
		cmocka_unit_test(dead_jail_leads_only_to_idle_or_forward),
		cmocka_unit_test(events_are_returned_once_by_urgency),
		cmocka_unit_test(event_defers_the_handler_once),
		cmocka_unit_test(first_error_is_kept_until_handled),
		cmocka_unit_test(events_have_names),
	};

	if (argc != 2)
		return 2;
	architecture = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
