/* feed: standard input through a pipe that may be full, slow or closed. */
#include "keeper/output/stream.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct feed feed;
	int reader;
};

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct remit_error err;

	if (!w)
		return -1;
	w->feed = (struct feed)FEED_INIT;
	*state = w;
	return feed_pipe(&w->reader, &w->feed.fd, &err);
}

static int
close_world(void **state)
{
	struct world *w = *state;

	feed_free(&w->feed);
	own_fd_close(&w->reader);
	free(w);
	return 0;
}

static void
add(struct feed *f, const char *bytes, size_t n)
{
	struct remit_error err;

	if (feed_add(f, bytes, n, UINT64_MAX / 2, &err) < 0)
		fail_msg("%s", err.message);
}

/* Reads as the program, without waiting. */
static ssize_t
take(struct world *w, char *out, size_t size)
{
	ssize_t n;

	assert_int_equal(fcntl(w->reader, F_SETFL, O_NONBLOCK), 0);
	n = read(w->reader, out, size);
	return n < 0 ? -errno : n;
}

static void
pipe_blocks_for_the_program_only(void **state)
{
	struct world *w = *state;

	assert_false(fcntl(w->reader, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(w->feed.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(w->reader, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(w->feed.fd, F_GETFD) & FD_CLOEXEC);
}

static void
bytes_from_before_and_after_opening_arrive_in_sequence(void **state)
{
	struct world w = { .feed = FEED_INIT, .reader = -1 };
	struct remit_error err;
	char got[16];

	(void)state;
	add(&w.feed, "one ", 4);
	assert_false(feed_flush(&w.feed));
	assert_false(feed_wants_write(&w.feed));
	assert_int_equal(feed_pipe(&w.reader, &w.feed.fd, &err), 0);
	assert_true(feed_wants_write(&w.feed));
	add(&w.feed, "two", 3);
	assert_false(feed_flush(&w.feed));
	assert_false(feed_wants_write(&w.feed));
	assert_int_equal(take(&w, got, sizeof(got)), 7);
	assert_memory_equal(got, "one two", 7);
	assert_int_equal(w.feed.total_bytes, 7);
	feed_free(&w.feed);
	close(w.reader);
}

static void
input_beyond_the_limit_is_refused(void **state)
{
	struct world *w = *state;
	struct remit_error err;

	assert_int_equal(feed_add(&w->feed, "12345", 5, 8, &err), 0);
	assert_int_equal(feed_add(&w->feed, "6789", 4, 8, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_non_null(strstr(err.message, "stdin_bytes"));
	assert_int_equal(w->feed.total_bytes, 5);
	assert_int_equal(w->feed.waiting.len, 5);
	assert_int_equal(feed_add(&w->feed, "678", 3, 8, &err), 0);
	/* The limit counts all input, not only what is buffered. */
	assert_false(feed_flush(&w->feed));
	assert_int_equal(w->feed.waiting.len, 0);
	assert_int_equal(feed_add(&w->feed, "9", 1, 8, &err), -1);
}

/* A pattern that does not repeat at the ends of pieces or pipes. */
static char
byte_at(size_t i)
{
	return (char)((uint32_t)i * UINT32_C(2654435761) >> 24);
}

static void
full_pipe_delays_the_rest_until_it_is_read(void **state)
{
	struct world *w = *state;
	size_t total = 300001, got = 0;
	own_mem char *bytes = malloc(total);
	own_mem char *seen = malloc(total);
	bool done = false;
	int rounds = 0;

	assert_non_null(bytes);
	assert_non_null(seen);
	for (size_t i = 0; i < total; i++)
		bytes[i] = byte_at(i);
	add(&w->feed, bytes, total);
	assert_false(feed_flush(&w->feed));
	assert_true(feed_wants_write(&w->feed));
	w->feed.ended = true;
	while (got < total && rounds++ < 1000) {
		ssize_t n = take(w, seen + got, total - got);

		assert_true(n > 0);
		got += (size_t)n;
		done = feed_flush(&w->feed);
		/* It is done when the last byte is in the pipe, not before. */
		assert_int_equal(done, !feed_wants_write(&w->feed));
	}
	assert_true(done);
	assert_int_equal(got, total);
	assert_memory_equal(seen, bytes, total);
	feed_free(&w->feed);
	assert_int_equal(take(w, seen, 1), 0);
}

/* The owner stops watching the descriptor before it is closed. */
static void
end_of_input_is_returned_and_the_owner_closes(void **state)
{
	struct world *w = *state;
	char byte;
	int fd = w->feed.fd;

	add(&w->feed, "x", 1);
	assert_false(feed_flush(&w->feed));
	assert_int_equal(take(w, &byte, 1), 1);
	assert_int_equal(take(w, &byte, 1), -EAGAIN);
	w->feed.ended = true;
	assert_true(feed_flush(&w->feed));
	assert_int_equal(w->feed.fd, fd);
	assert_int_equal(take(w, &byte, 1), -EAGAIN);
	feed_free(&w->feed);
	assert_int_equal(w->feed.fd, -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(take(w, &byte, 1), 0);
	/* The descriptor must not be closed a second time. */
	assert_false(feed_flush(&w->feed));
	assert_false(feed_wants_write(&w->feed));
}

static void
input_ended_before_opening_is_written_first(void **state)
{
	struct world w = { .feed = FEED_INIT, .reader = -1 };
	struct remit_error err;
	char got[8];

	(void)state;
	add(&w.feed, "all", 3);
	w.feed.ended = true;
	assert_false(feed_flush(&w.feed));
	assert_int_equal(w.feed.waiting.len, 3);
	assert_int_equal(feed_pipe(&w.reader, &w.feed.fd, &err), 0);
	assert_true(feed_flush(&w.feed));
	assert_int_equal(take(&w, got, sizeof(got)), 3);
	feed_free(&w.feed);
	close(w.reader);
}

static void
end_of_input_waits_for_a_full_pipe(void **state)
{
	static char bytes[200000];
	struct world *w = *state;

	add(&w->feed, bytes, sizeof(bytes));
	w->feed.ended = true;
	assert_false(feed_flush(&w->feed));
	assert_true(w->feed.fd >= 0);
	assert_true(feed_wants_write(&w->feed));
}

static void
program_may_close_its_input(void **state)
{
	struct world *w = *state;

	own_fd_close(&w->reader);
	w->reader = -1;
	add(&w->feed, "nobody reads this", 17);
	assert_false(w->feed.ended);
	assert_true(feed_flush(&w->feed));
	assert_true(w->feed.fd >= 0);
	feed_free(&w->feed);
	assert_int_equal(w->feed.fd, -1);
	assert_int_equal(w->feed.waiting.len, 0);
	assert_false(feed_wants_write(&w->feed));
	assert_false(feed_flush(&w->feed));
}

static int
ignore_sigpipe(void **state)
{
	(void)state;
	/* The keeper ignores it as well. */
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

#define with_world(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(pipe_blocks_for_the_program_only),
		cmocka_unit_test(
			bytes_from_before_and_after_opening_arrive_in_sequence),
		with_world(input_beyond_the_limit_is_refused),
		with_world(full_pipe_delays_the_rest_until_it_is_read),
		with_world(end_of_input_is_returned_and_the_owner_closes),
		cmocka_unit_test(input_ended_before_opening_is_written_first),
		with_world(end_of_input_waits_for_a_full_pipe),
		with_world(program_may_close_its_input),
	};

	return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
