/* own: exactly one thread drops the last reference. */
#include "base/own.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define THREADS 4
#define TIMES	10000

struct value {
	struct refcount refs;
	unsigned freed;
};

static void
last_reference_is_reported_when_dropped(void **state)
{
	struct refcount r = REFCOUNT_INIT(1);

	(void)state;
	refcount_inc(&r);
	assert_true(refcount_is_held(&r));
	assert_false(refcount_dec_and_test(&r));
	assert_true(refcount_is_held(&r));
	assert_true(refcount_dec_and_test(&r));
	assert_false(refcount_is_held(&r));
}

static void *
take_and_drop(void *arg)
{
	struct value *v = arg;

	for (int i = 0; i < TIMES; i++) {
		refcount_inc(&v->refs);
		if (refcount_dec_and_test(&v->refs))
			v->freed++;
	}
	if (refcount_dec_and_test(&v->refs))
		v->freed++;
	return NULL;
}

static void
one_of_many_threads_drops_the_last_reference(void **state)
{
	struct value v = { .refs = REFCOUNT_INIT(THREADS) };
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, take_and_drop, &v),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(v.freed, 1);
	assert_false(refcount_is_held(&v.refs));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_reference_is_reported_when_dropped),
		cmocka_unit_test(one_of_many_threads_drops_the_last_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
