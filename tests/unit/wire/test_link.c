/* link: frames over a real socket that is slow, full or dead. */
#include "wire/link.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* The keeper's end, and the client's end, which a test may also write to
   directly. */
struct ends {
	struct link keeper;
	struct link client;
};

static int
open_ends(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));
	int pair[2];

	if (!e || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	link_open(&e->keeper, pair[0], PARTY_CLIENT);
	link_open(&e->client, pair[1], PARTY_KEEPER);
	*state = e;
	return 0;
}

static int
close_ends(void **state)
{
	struct ends *e = *state;

	link_free(&e->keeper);
	link_free(&e->client);
	free(e);
	return 0;
}

static void
ok(int r, const struct remit_error *err)
{
	if (r < 0)
		fail_msg("%s", err->message);
}

static void
post(struct link *l, enum frame_type type, const char *payload, size_t len)
{
	struct remit_error err;

	ok(link_send(l, type, payload, len, &err), &err);
	ok(link_flush(l, &err), &err);
}

static void
fill(struct link *l)
{
	struct remit_error err;

	ok(link_fill(l, &err), &err);
}

static struct frame
next(struct link *l)
{
	struct remit_error err;
	struct frame f;

	ok(link_next(l, &f, &err), &err);
	return f;
}

static void
frames_arrive_unchanged_and_in_sequence(void **state)
{
	struct ends *e = *state;
	struct frame first, second, third;

	post(&e->client, FRAME_POLICY, "{}", 2);
	post(&e->client, FRAME_CODE, "a\0b", 3);
	post(&e->client, FRAME_START, "", 0);
	fill(&e->keeper);
	first = next(&e->keeper);
	second = next(&e->keeper);
	third = next(&e->keeper);
	/* All of them stay valid until more is read. */
	assert_int_equal(first.type, FRAME_POLICY);
	assert_int_equal(first.len, 2);
	assert_memory_equal(first.payload, "{}", 2);
	assert_int_equal(second.type, FRAME_CODE);
	assert_int_equal(second.len, 3);
	assert_memory_equal(second.payload, "a\0b", 3);
	assert_int_equal(third.type, FRAME_START);
	assert_int_equal(third.len, 0);
	assert_int_equal(next(&e->keeper).type, FRAME_NONE);
	assert_false(e->keeper.ended);
}

static void
empty_socket_is_neither_an_error_nor_the_end(void **state)
{
	struct ends *e = *state;

	fill(&e->keeper);
	assert_int_equal(next(&e->keeper).type, FRAME_NONE);
	assert_false(e->keeper.ended);
}

static void
frame_sent_byte_by_byte_arrives_once(void **state)
{
	static const char bytes[] = "\5\0\0\0\3\0\0\0hello\1\0\0\0\3\0\0\0!";
	struct ends *e = *state;
	struct frame f;

	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		assert_int_equal(write(e->client.fd, bytes + i, 1), 1);
		fill(&e->keeper);
		f = next(&e->keeper);
		if (i == 12) {
			assert_int_equal(f.type, FRAME_CODE);
			assert_int_equal(f.len, 5);
			assert_memory_equal(f.payload, "hello", 5);
		} else if (i == 21) {
			assert_int_equal(f.len, 1);
			assert_memory_equal(f.payload, "!", 1);
		} else {
			assert_int_equal(f.type, FRAME_NONE);
		}
	}
}

static void
closed_peer_is_the_end_after_its_last_frame(void **state)
{
	struct ends *e = *state;

	post(&e->client, FRAME_CODE, "x", 1);
	assert_int_equal(write(e->client.fd, "\1\0", 2), 2);
	link_free(&e->client);
	fill(&e->keeper);
	assert_int_equal(next(&e->keeper).type, FRAME_CODE);
	assert_int_equal(next(&e->keeper).type, FRAME_NONE);
	assert_false(e->keeper.ended);
	fill(&e->keeper);
	assert_true(e->keeper.ended);
	assert_int_equal(next(&e->keeper).type, FRAME_NONE);
}

/* If a process is killed with unread bytes, the kernel resets the socket. */
static void
reset_by_a_killed_peer_is_an_ordinary_end(void **state)
{
	struct ends *e = *state;

	post(&e->keeper, FRAME_STDOUT, "unread", 6);
	link_free(&e->client);
	fill(&e->keeper);
	assert_true(e->keeper.ended);
}

/* Without a handler for SIGPIPE the process must survive. */
static void
send_to_a_dead_peer_fails_as_gone(void **state)
{
	struct ends *e = *state;
	struct remit_error err;

	link_free(&e->client);
	ok(link_send(&e->keeper, FRAME_STDOUT, "x", 1, &err), &err);
	assert_int_equal(link_flush(&e->keeper, &err), -1);
	assert_int_equal(err.code, REMIT_E_GONE);
}

/* A pattern that does not repeat at the ends of pieces or pipes. */
static char
byte_at(size_t i)
{
	return (char)((uint32_t)i * UINT32_C(2654435761) >> 24);
}

static void
queue_is_sent_as_fast_as_the_peer_reads(void **state)
{
	struct ends *e = *state;
	size_t total = 3 * 1024 * 1024 + 17, got = 0;
	own_mem char *bytes = malloc(total);
	struct remit_error err;
	int rounds = 0;

	assert_non_null(bytes);
	for (size_t i = 0; i < total; i++)
		bytes[i] = byte_at(i);
	ok(link_send_pieces(&e->keeper, FRAME_STDOUT, bytes, total, &err),
	   &err);
	ok(link_flush(&e->keeper, &err), &err);
	assert_true(link_wants_write(&e->keeper));
	while (got < total && rounds++ < 10000) {
		struct frame f;

		fill(&e->client);
		while ((f = next(&e->client)).type != FRAME_NONE) {
			assert_int_equal(f.type, FRAME_STDOUT);
			assert_true(got + f.len <= total);
			assert_memory_equal(f.payload, bytes + got, f.len);
			got += f.len;
		}
		ok(link_flush(&e->keeper, &err), &err);
	}
	assert_int_equal(got, total);
	assert_false(link_wants_write(&e->keeper));
	fill(&e->client);
	assert_int_equal(next(&e->client).type, FRAME_NONE);
}

static void
pieces_are_cut_at_the_largest_frame_and_nothing_is_sent_for_nothing(
	void **state)
{
	static char bytes[2 * FRAME_PIECE + 1];
	static const size_t lengths[] = { 0,
					  1,
					  FRAME_PIECE,
					  FRAME_PIECE + 1,
					  2 * FRAME_PIECE,
					  sizeof(bytes) };
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		own(link) struct link l = LINK_INIT;
		size_t n = lengths[i];
		size_t frames = (n + FRAME_PIECE - 1) / FRAME_PIECE;

		ok(link_send_pieces(&l, FRAME_CODE, bytes, n, &err), &err);
		assert_int_equal(l.out.len, n + frames * FRAME_HEADER);
		assert_int_equal(link_wants_write(&l), n > 0);
	}
}

static void
frame_longer_than_its_rule_is_not_sent(void **state)
{
	struct ends *e = *state;
	static char bytes[513];
	struct remit_error err;

	ok(link_send(&e->keeper, FRAME_LOCK_PARAMS, bytes, 512, &err), &err);
	buf_free(&e->keeper.out);
	assert_int_equal(
		link_send(&e->keeper, FRAME_LOCK_PARAMS, bytes, 513, &err), -1);
	assert_int_equal(err.code, REMIT_E_INTERNAL);
	assert_false(link_wants_write(&e->keeper));
}

/* With half a frame in the queue, the peer would read the next frame as its
   payload. */
static void
frame_that_does_not_fit_leaves_the_queue_unchanged(void **state)
{
	struct ends *e = *state;
	struct remit_error err;

	e->keeper.out.cap = 3 * FRAME_HEADER;
	ok(link_send(&e->keeper, FRAME_STDOUT, "12345678", 8, &err), &err);
	assert_int_equal(link_send(&e->keeper, FRAME_STDOUT, "123", 3, &err),
			 -1);
	assert_int_equal(err.code, REMIT_E_MEMORY);
	assert_int_equal(e->keeper.out.len, 2 * FRAME_HEADER);
}

static void
broken_rule_stays_a_protocol_error(void **state)
{
	struct ends *e = *state;
	struct remit_error err;
	struct frame f;

	post(&e->client, FRAME_RESULT, "", 0);
	fill(&e->keeper);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(link_next(&e->keeper, &f, &err), -1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
		assert_int_equal(f.type, FRAME_NONE);
	}
}

static void
received_types_are_remembered_across_reads(void **state)
{
	struct ends *e = *state;
	struct remit_error err;
	struct frame f;

	post(&e->client, FRAME_START, "", 0);
	fill(&e->keeper);
	assert_int_equal(next(&e->keeper).type, FRAME_START);
	post(&e->client, FRAME_START, "", 0);
	fill(&e->keeper);
	assert_int_equal(link_next(&e->keeper, &f, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
}

static void
frame_of_another_protocol_is_recognised_by_its_header(void **state)
{
	struct ends *e = *state;
	unsigned protocol = 99;

	assert_false(link_is_foreign(&e->keeper, &protocol));
	post(&e->client, FRAME_JOB, "a", 1);
	fill(&e->keeper);
	assert_false(link_is_foreign(&e->keeper, &protocol));
	assert_int_equal(next(&e->keeper).type, FRAME_JOB);
	e->client.protocol = FRAME_PROTOCOL + 1;
	post(&e->client, FRAME_CODE, "b", 1);
	fill(&e->keeper);
	assert_true(link_is_foreign(&e->keeper, &protocol));
	assert_int_equal(protocol, FRAME_PROTOCOL + 1);
	assert_int_equal(next(&e->keeper).type, FRAME_CODE);
	assert_false(link_is_foreign(&e->keeper, &protocol));
}

static void
receive_buffer_is_limited(void **state)
{
	struct ends *e = *state;
	struct remit_error err;
	char bytes[101] = { 0 };

	e->keeper.in.cap = 100;
	assert_int_equal(write(e->client.fd, bytes, 101), 101);
	assert_int_equal(link_fill(&e->keeper, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
}

/* The longest frame of the table must be receivable. */
static void
receive_buffer_has_space_for_the_longest_frame(void **state)
{
	struct link l = LINK_INIT;

	(void)state;
	for (int i = 0; i < FRAME_TYPES; i++)
		assert_true(frame_rules[i].max + FRAME_HEADER + FRAME_PIECE <=
			    l.in.cap);
}

static void
link_free_closes_the_socket(void **state)
{
	struct ends *e = *state;
	int fd = e->client.fd;

	link_free(&e->client);
	assert_int_equal(e->client.fd, -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	link_free(&e->client);
}

#define with_ends(test) \
	cmocka_unit_test_setup_teardown(test, open_ends, close_ends)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_ends(frames_arrive_unchanged_and_in_sequence),
		with_ends(empty_socket_is_neither_an_error_nor_the_end),
		with_ends(frame_sent_byte_by_byte_arrives_once),
		with_ends(closed_peer_is_the_end_after_its_last_frame),
		with_ends(reset_by_a_killed_peer_is_an_ordinary_end),
		with_ends(send_to_a_dead_peer_fails_as_gone),
		with_ends(queue_is_sent_as_fast_as_the_peer_reads),
		cmocka_unit_test(
			pieces_are_cut_at_the_largest_frame_and_nothing_is_sent_for_nothing),
		with_ends(frame_longer_than_its_rule_is_not_sent),
		with_ends(frame_that_does_not_fit_leaves_the_queue_unchanged),
		with_ends(broken_rule_stays_a_protocol_error),
		with_ends(received_types_are_remembered_across_reads),
		with_ends(
			frame_of_another_protocol_is_recognised_by_its_header),
		with_ends(receive_buffer_is_limited),
		cmocka_unit_test(
			receive_buffer_has_space_for_the_longest_frame),
		with_ends(link_free_closes_the_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
