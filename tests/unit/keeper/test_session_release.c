/*
 * session, as built for a release: a transition that is not in the table fails
 * the session as internal, and nothing else happens. A test build aborts
 * instead (test_session.c), so this program has its own session.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "keeper/session/part.h"
#include "keeper_world.h"

#include <cmocka.h>

static void
illegal_transition_is_an_internal_error(void **state)
{
	static const char job[] = "name\0x\0once\0yes";
	struct world *w = world_new();

	(void)state;
	send_as_client(w, FRAME_JOB, job, sizeof(job));
	settle(w);
	assert_int_equal(session_enter(w->session, SESSION_COMMITTING), -1);
	assert_int_equal(w->session->state, SESSION_READING);
	settle(w);
	read_client(w);
	assert_false(is_alive(w));
	assert_int_equal(w->results, 1);
	assert_non_null(memmem(w->in, w->len, "\"status\":\"internal\"", 19));
	world_free(w);
}

static void
session_that_is_done_stays_done(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(session_enter(w->session, SESSION_DONE), 0);
	for (unsigned to = 0; to < SESSION_STATES; to++)
		assert_int_equal(
			session_enter(w->session, (enum session_state)to), -1);
	settle(w);
	assert_int_equal(w->session->state, SESSION_DONE);
	read_client(w);
	assert_int_equal(w->results, 0);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(illegal_transition_is_an_internal_error),
		cmocka_unit_test(session_that_is_done_stays_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
