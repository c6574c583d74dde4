/* flow: bytes arrive unchanged, through the buffer and through the pipe. */
#include "proxy/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static struct flow_end
plain_end(int fd)
{
	return (struct flow_end){ .fd = fd };
}

/* A source and a target, each with one end for the test and one for the
   flow. */
struct ends {
	int ours, from, to, theirs;
};

static struct ends
open_ends(void)
{
	const int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int a[2], b[2];

	assert_int_equal(socketpair(AF_UNIX, kind, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, kind, 0, b), 0);
	return (struct ends){ a[0], a[1], b[0], b[1] };
}

static void
close_ends(const struct ends *e)
{
	close(e->ours);
	close(e->from);
	close(e->to);
	close(e->theirs);
}

static unsigned char
byte_at(size_t i)
{
	return (unsigned char)(i * 31 + i / 251);
}

static size_t
write_some(int fd, size_t from, size_t end)
{
	unsigned char bytes[20000];
	size_t n = end - from < sizeof(bytes) ? end - from : sizeof(bytes);
	ssize_t sent;

	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(from + i);
	sent = n ? send(fd, bytes, n, MSG_NOSIGNAL) : 0;
	return sent > 0 ? (size_t)sent : 0;
}

static size_t
read_some(int fd, size_t from)
{
	unsigned char bytes[30000];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] != byte_at(from + (size_t)i))
			fail_msg("byte %zu differs", from + (size_t)i);
	return n > 0 ? (size_t)n : 0;
}

/* Move all bytes; with `piped`, switch to a pipe as soon as it would help. */
static void
carry_bytes(size_t total, bool piped)
{
	static struct flow f;
	struct ends e = open_ends();
	size_t in = 0, out = 0, counted = 0, sent;

	flow_open(&f);
	while (!f.closed || out < total) {
		/* More than fits into the buffer. */
		for (int i = 0; i < 3; i++)
			in += write_some(e.ours, in, total);
		if (in == total)
			shutdown(e.ours, SHUT_WR);
		assert_int_equal(flow_pull(&f, plain_end(e.from), FLOW_BYTES),
				 0);
		assert_int_equal(flow_push(&f, plain_end(e.to), &sent), 0);
		counted += sent;
		if (piped && flow_is_full(&f))
			assert_int_equal(flow_pipe(&f), 0);
		out += read_some(e.theirs, out);
	}
	assert_int_equal(out, total);
	assert_int_equal(counted, total);
	assert_int_equal(flow_is_piped(&f), piped && total > FLOW_BYTES);
	/* The other side has seen the end. */
	assert_int_equal(recv(e.theirs, &sent, 1, 0), 0);
	flow_close(&f);
	assert_false(flow_is_piped(&f));
	close_ends(&e);
}

static void
flow_delivers_bytes_unchanged(void **state)
{
	static const size_t totals[] = { 0, 1, FLOW_BYTES - 1, 3 << 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(totals); i++) {
		carry_bytes(totals[i], false);
		carry_bytes(totals[i], true);
	}
}

static void
flow_pull_reads_at_most_the_requested_bytes(void **state)
{
	static struct flow f;
	struct ends e = open_ends();

	(void)state;
	flow_open(&f);
	assert_int_equal(write_some(e.ours, 0, 1000), 1000);
	assert_int_equal(flow_pull(&f, plain_end(e.from), 300), 0);
	assert_int_equal(f.len, 300);
	assert_int_equal(flow_pull(&f, plain_end(e.from), 300), 0);
	assert_int_equal(f.len, 300);
	assert_int_equal(flow_pull(&f, plain_end(e.from), FLOW_BYTES), 0);
	assert_int_equal(f.len, 1000);
	assert_false(flow_is_full(&f));
	close_ends(&e);
}

static void
flow_push_to_a_closed_peer_is_an_error(void **state)
{
	static struct flow f;
	struct ends e = open_ends();
	size_t sent;

	(void)state;
	flow_open(&f);
	assert_int_equal(write_some(e.ours, 0, 1000), 1000);
	assert_int_equal(flow_pull(&f, plain_end(e.from), FLOW_BYTES), 0);
	close(e.theirs);
	assert_int_equal(flow_push(&f, plain_end(e.to), &sent), -1);
	assert_int_equal(sent, 0);
	e.theirs = -1;
	close_ends(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_delivers_bytes_unchanged),
		cmocka_unit_test(flow_pull_reads_at_most_the_requested_bytes),
		cmocka_unit_test(flow_push_to_a_closed_peer_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
