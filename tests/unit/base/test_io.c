/* io: short and interrupted calls are continued; ends of file and errors are
   reported. */
#include "base/file/io.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* More than the capacity of a pipe, so that each side waits for the other. */
#define MUCH ((size_t)1 << 20)

struct other {
	int fd;
	pthread_t interrupted;
	size_t seen;
};

static void
on_signal(int number)
{
	(void)number;
}

/* Without SA_RESTART a blocking call fails with EINTR. */
static void
catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	assert_int_equal(sigaction(SIGUSR1, &a, NULL), 0);
}

/* Reads in small pieces, and interrupts the writer each time. */
static void *
read_and_interrupt(void *arg)
{
	struct other *o = arg;
	char piece[4096];
	ssize_t n;

	while ((n = read(o->fd, piece, sizeof(piece))) > 0) {
		o->seen += (size_t)n;
		pthread_kill(o->interrupted, SIGUSR1);
	}
	return NULL;
}

static void
an_interrupted_write_goes_on(void **state)
{
	struct other o = { .interrupted = pthread_self() };
	own_mem char *bytes = calloc(1, MUCH);
	pthread_t thread;
	int ends[2];

	(void)state;
	catch_signals();
	assert_non_null(bytes);
	assert_int_equal(pipe(ends), 0);
	o.fd = ends[0];
	assert_int_equal(pthread_create(&thread, NULL, read_and_interrupt, &o),
			 0);
	assert_int_equal(io_write_all(ends[1], bytes, MUCH), 0);
	close(ends[1]);
	pthread_join(thread, NULL);
	close(ends[0]);
	assert_int_equal(o.seen, MUCH);
}

/* Interrupts the reader while it waits, and then writes in two pieces. */
static void *
interrupt_and_write(void *arg)
{
	struct other *o = arg;

	for (int i = 0; i < 20; i++) {
		pthread_kill(o->interrupted, SIGUSR1);
		usleep(500); /* so that they are not read as one */
	}
	if (write(o->fd, "ab", 2) != 2)
		return NULL;
	pthread_kill(o->interrupted, SIGUSR1);
	if (write(o->fd, "cd", 2) == 2)
		close(o->fd);
	return NULL;
}

static void
interrupted_reads_go_on_up_to_the_end(void **state)
{
	own(buf) struct buf out = BUF_INIT(100);

	(void)state;
	catch_signals();
	for (int exactly = 0; exactly < 2; exactly++) {
		struct other o = { .interrupted = pthread_self() };
		char text[5] = "";
		pthread_t thread;
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		o.fd = ends[1];
		assert_int_equal(
			pthread_create(&thread, NULL, interrupt_and_write, &o),
			0);
		if (exactly) {
			assert_int_equal(io_read_exactly(ends[0], text, 4), 0);
			assert_string_equal(text, "abcd");
		} else {
			assert_int_equal(io_read_all(ends[0], &out), 0);
			assert_string_equal(out.data, "abcd");
		}
		pthread_join(thread, NULL);
		close(ends[0]);
	}
}

static void
an_end_before_the_last_byte_is_an_error(void **state)
{
	char text[4];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(io_write_all(ends[1], "abc", 3), 0);
	close(ends[1]);
	assert_int_equal(io_read_exactly(ends[0], text, 4), -1);
	assert_int_equal(errno, EPIPE);
	close(ends[0]);
}

static void
read_beyond_the_cap_is_an_error(void **state)
{
	own(buf) struct buf out = BUF_INIT(3);
	own_fd int fd = memfd_create("io", MFD_CLOEXEC);
	own_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(io_write_all(fd, "abcd", 4), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_all(fd, &out), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(io_write_all(full, "a", 1), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(io_write_all(-1, "a", 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(io_write_all(-1, "", 0), 0);
}

static void
write_at_an_offset_leaves_the_rest(void **state)
{
	own_fd int fd = memfd_create("io", MFD_CLOEXEC);
	char text[7] = "";

	(void)state;
	assert_int_equal(io_write_all(fd, "abcdef", 6), 0);
	assert_int_equal(io_write_all_at(fd, "XY", 2, 0), 0);
	assert_int_equal(io_write_all_at(fd, "Z", 1, 4), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_exactly(fd, text, 6), 0);
	assert_string_equal(text, "XYcdZf");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupted_write_goes_on),
		cmocka_unit_test(interrupted_reads_go_on_up_to_the_end),
		cmocka_unit_test(an_end_before_the_last_byte_is_an_error),
		cmocka_unit_test(read_beyond_the_cap_is_an_error),
		cmocka_unit_test(write_at_an_offset_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
