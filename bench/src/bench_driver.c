#include "bench_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#define ANSWER_MS   30000
#define ANSWER_SIZE 64

/* One line without its end; it writes no more than it was asked for. */
static int
read_line(const struct bench_driver *d, const struct bench *b,
	  char line[ANSWER_SIZE], struct remit_error *err)
{
	struct pollfd fds[] = { { .fd = d->out, .events = POLLIN },
				{ .fd = b->signals, .events = POLLIN } };
	size_t len = 0;

	while (len + 1 < ANSWER_SIZE) {
		if (poll(fds, ARRAY_LEN(fds), ANSWER_MS) <= 0)
			return fail(err, REMIT_E_BUSY, "it does not answer");
		if (bench_check(b, err) < 0)
			return -1;
		if (read(d->out, line + len, 1) != 1)
			return fail(err, REMIT_E_GONE, "it ended early");
		if (line[len] == '\n') {
			line[len] = '\0';
			return 0;
		}
		len++;
	}
	return fail(err, REMIT_E_PROTOCOL, "its answer is too long");
}

int
bench_driver_open(struct bench_driver *d, const struct bench *b,
		  const struct bench_command *c, struct remit_error *err)
{
	own_fd int to = -1, from = -1;
	own_fd int said = memfd_create("err", MFD_CLOEXEC);
	char line[ANSWER_SIZE];
	int in[2], out[2];
	int bad;

	*d = (struct bench_driver){ .in = -1, .out = -1 };
	if (pipe2(in, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	to = in[0];
	d->in = in[1];
	if (pipe2(out, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	from = out[1];
	d->out = out[0];
	bad = bench_spawn_start(b, c, (const int[3]){ to, from, said }, &d->pid,
				err);
	if (bad) {
		d->pid = 0;
		return -1;
	}
	/* So that its end shows as the end of what it writes. */
	close(take_fd(&from));
	if (read_line(d, b, line, err) < 0)
		return bench_spawn_blame(said, err);
	if (strcmp(line, "ready"))
		return fail(err, REMIT_E_PROTOCOL, "it said \"%s\"", line);
	return 0;
}

int
bench_driver_ask(const struct bench_driver *d, const struct bench *b,
		 double *us, struct remit_error *err)
{
	char line[ANSWER_SIZE], *end;
	double ms;

	if (write(d->in, "\n", 1) != 1)
		return fail_sys(err, REMIT_E_GONE, "ask");
	if (read_line(d, b, line, err) < 0)
		return -1;
	ms = strtod(line, &end);
	if (end == line || *end)
		return fail(err, REMIT_E_PROTOCOL, "it said \"%s\"", line);
	*us = ms * 1e3;
	return 0;
}

void
bench_driver_close(struct bench_driver *d)
{
	own_fd_close(&d->in);
	own_fd_close(&d->out);
	d->in = d->out = -1;
	if (d->pid > 0)
		bench_spawn_end(d->pid);
	d->pid = 0;
}
