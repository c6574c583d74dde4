/*
 * session_queue: the most urgent event comes first, each once, and the work is
 * deferred to the loop.
 */
#include "keeper/session/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before cmocka takes the name for a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

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
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_by_their_urgency_and_once),
		cmocka_unit_test(an_event_defers_the_work_once),
		cmocka_unit_test(
			the_first_trouble_is_kept_until_it_is_worked_off),
		cmocka_unit_test(every_event_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
