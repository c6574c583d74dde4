/*
 * session_state: every transition that may be, and no other; the table is the
 * one that docs/design/session.md prints. Of events the most urgent one comes
 * first, each once, and the work is deferred to the loop.
 */
#include "keeper/session/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Before cmocka takes the name for a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

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

static void
events_come_by_their_urgency_and_once(void **state)
{
	struct session_queue q = { 0 };
	struct loop l = { 0 };

	(void)state;
	session_queue_add(&q, &l, SESSION_SENT);
	session_queue_add(&q, &l, SESSION_LEFT);
	session_queue_add(&q, &l, SESSION_SENT);
	session_queue_add(&q, &l, SESSION_TAKEN);
	assert_true(session_queue_has(&q, SESSION_TAKEN));
	assert_int_equal(session_queue_next(&q), SESSION_LEFT);
	assert_int_equal(session_queue_next(&q), SESSION_TAKEN);
	assert_int_equal(session_queue_next(&q), SESSION_SENT);
	assert_int_equal(session_queue_next(&q), SESSION_EVENTS);
	assert_false(session_queue_has(&q, SESSION_SENT));
}

static void
an_event_defers_the_work_once(void **state)
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
the_first_trouble_is_kept_until_it_is_worked_off(void **state)
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
every_event_has_a_name(void **state)
{
	(void)state;
	for (unsigned e = 0; e < SESSION_EVENTS; e++)
		assert_non_null(session_event_name((enum session_event)e));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_prints_the_table),
		cmocka_unit_test(every_state_can_end_and_done_is_the_end),
		cmocka_unit_test(
			no_state_leads_back_from_a_dead_jail_but_to_idle),
		cmocka_unit_test(events_come_by_their_urgency_and_once),
		cmocka_unit_test(an_event_defers_the_work_once),
		cmocka_unit_test(
			the_first_trouble_is_kept_until_it_is_worked_off),
		cmocka_unit_test(every_event_has_a_name),
	};

	if (argc != 2)
		return 2;
	architecture = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
