/* capture: what is forwarded, what is counted, and when the hard limit is
   exceeded. */
#include "keeper/output/stream.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct capture capture;
	struct link client;
	int writer;
};

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int pair[2];

	if (!w || pipe2(pair, O_NONBLOCK | O_CLOEXEC) < 0 ||
	    fcntl(pair[1], F_SETPIPE_SZ, 1 << 20) < 0)
		return -1;
	w->client = (struct link)LINK_INIT;
	w->writer = pair[1];
	w->capture = (struct capture){
		.fd = pair[0],
		.type = FRAME_STDERR,
		.max_bytes = 100,
		.ceiling_bytes = 1000,
	};
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	own_fd_close(&w->capture.fd);
	own_fd_close(&w->writer);
	link_free(&w->client);
	free(w);
	return 0;
}

static void
drain(struct world *w)
{
	struct remit_error err;

	if (capture_drain(&w->capture, &w->client, &err) < 0)
		fail_msg("%s", err.message);
}

/* A pattern that does not repeat at the ends of pieces or pipes. */
static char
byte_at(size_t i)
{
	return (char)((uint32_t)i * UINT32_C(2654435761) >> 24);
}

/* Writes n bytes of the pattern, from `first` on. */
static void
write_bytes(struct world *w, size_t first, size_t n)
{
	own_mem char *bytes = malloc(n);

	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(first + i);
	assert_int_equal(write(w->writer, bytes, n), n);
}

/* Checks that exactly the first n bytes are queued for the client, as frames of
   the stream's type. Returns the number of frames. */
static int
client_has(struct world *w, size_t n)
{
	struct buf *out = &w->client.out;
	size_t at = 0, got = 0;
	uint64_t seen = 0;
	int frames = 0;

	while (at < out->len) {
		struct remit_error err;
		struct frame f;
		size_t used;

		if (frame_parse(out->data + at, out->len - at, PARTY_KEEPER,
				&seen, &f, &used, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(used > 0);
		assert_int_equal(f.type, FRAME_STDERR);
		assert_true(f.len > 0);
		for (size_t i = 0; i < f.len; i++, got++)
			assert_int_equal(f.payload[i], byte_at(got));
		at += used;
		frames++;
	}
	assert_int_equal(got, n);
	return frames;
}

static void
output_is_forwarded_as_frames_of_its_stream(void **state)
{
	struct world *w = *state;

	write_bytes(w, 0, 10);
	drain(w);
	assert_int_equal(client_has(w, 10), 1);
	write_bytes(w, 10, 5);
	drain(w);
	assert_int_equal(client_has(w, 15), 2);
	assert_int_equal(w->capture.total_bytes, 15);
	assert_int_equal(w->capture.kept_bytes, 15);
	assert_false(capture_is_truncated(&w->capture));
	assert_false(capture_is_over_ceiling(&w->capture));
	assert_false(w->capture.ended);
}

static void
empty_pipe_is_neither_a_frame_nor_the_end(void **state)
{
	struct world *w = *state;

	drain(w);
	assert_int_equal(client_has(w, 0), 0);
	assert_false(w->capture.ended);
}

static void
output_of_exactly_the_cap_is_complete(void **state)
{
	struct world *w = *state;

	write_bytes(w, 0, 100);
	drain(w);
	assert_int_equal(client_has(w, 100), 1);
	assert_false(capture_is_truncated(&w->capture));
}

static void
byte_beyond_the_cap_is_counted_and_dropped(void **state)
{
	struct world *w = *state;

	write_bytes(w, 0, 101);
	drain(w);
	assert_int_equal(client_has(w, 100), 1);
	assert_int_equal(w->capture.total_bytes, 101);
	assert_int_equal(w->capture.kept_bytes, 100);
	assert_true(capture_is_truncated(&w->capture));
}

static void
draining_and_counting_continue_beyond_the_cap(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 20; i++) {
		write_bytes(w, i * 33, 33);
		drain(w);
	}
	assert_int_equal(client_has(w, 100), 4);
	assert_int_equal(w->capture.total_bytes, 660);
	assert_true(capture_is_truncated(&w->capture));
	assert_false(capture_is_over_ceiling(&w->capture));
}

static void
hard_limit_may_be_reached_but_not_exceeded(void **state)
{
	struct world *w = *state;

	write_bytes(w, 0, 1000);
	drain(w);
	assert_false(capture_is_over_ceiling(&w->capture));
	write_bytes(w, 1000, 1);
	drain(w);
	assert_true(capture_is_over_ceiling(&w->capture));
	assert_int_equal(w->capture.total_bytes, 1001);
	assert_int_equal(client_has(w, 100), 1);
}

static void
one_drain_reads_at_most_one_piece(void **state)
{
	struct world *w = *state;

	w->capture.max_bytes = 1 << 20;
	w->capture.ceiling_bytes = 1 << 20;
	write_bytes(w, 0, 2 * FRAME_PIECE + 1);
	drain(w);
	assert_int_equal(w->capture.total_bytes, FRAME_PIECE);
	drain(w);
	drain(w);
	assert_int_equal(w->capture.total_bytes, 2 * FRAME_PIECE + 1);
	assert_int_equal(client_has(w, 2 * FRAME_PIECE + 1), 3);
}

static void
end_comes_after_the_last_byte(void **state)
{
	struct world *w = *state;

	write_bytes(w, 0, 7);
	close(w->writer);
	w->writer = -1;
	drain(w);
	assert_false(w->capture.ended);
	drain(w);
	assert_true(w->capture.ended);
	assert_int_equal(client_has(w, 7), 1);
	assert_int_equal(w->capture.total_bytes, 7);
}

static void
full_client_buffer_is_an_error(void **state)
{
	struct world *w = *state;
	struct remit_error err;

	w->client.out.cap = 10;
	write_bytes(w, 0, 50);
	assert_int_equal(capture_drain(&w->capture, &w->client, &err), -1);
	assert_int_equal(err.code, REMIT_E_MEMORY);
}

static void
unreadable_descriptor_is_an_error(void **state)
{
	struct world *w = *state;
	struct remit_error err;
	struct capture c = w->capture;

	c.fd = w->writer;
	assert_int_equal(capture_drain(&c, &w->client, &err), -1);
	assert_int_equal(err.code, REMIT_E_KERNEL);
	assert_int_equal(err.sys_errno, EBADF);
}

#define with_world(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(output_is_forwarded_as_frames_of_its_stream),
		with_world(empty_pipe_is_neither_a_frame_nor_the_end),
		with_world(output_of_exactly_the_cap_is_complete),
		with_world(byte_beyond_the_cap_is_counted_and_dropped),
		with_world(draining_and_counting_continue_beyond_the_cap),
		with_world(hard_limit_may_be_reached_but_not_exceeded),
		with_world(one_drain_reads_at_most_one_piece),
		with_world(end_comes_after_the_last_byte),
		with_world(full_client_buffer_is_an_error),
		with_world(unreadable_descriptor_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
