#include "cli/batch/lines.h"

#include <poll.h>
#include <string.h>

/* Wait until the file is readable, or l->stop_fd is. */
static int
wait_for_input(struct batch_lines *l, struct remit_error *err)
{
	struct pollfd fds[2] = {
		{ .fd = l->fd, .events = POLLIN },
		{ .fd = l->stop_fd, .events = POLLIN },
	};

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
	l->is_stopped = fds[1].revents != 0;
	return 0;
}

/* Read the next piece. At the end of the file, or once stopped, it is empty. */
static int
lines_refill(struct batch_lines *l, struct remit_error *err)
{
	ssize_t n;

	l->at = l->have = 0;
	do {
		if (wait_for_input(l, err) < 0)
			return -1;
		if (l->is_stopped)
			return 0;
		n = read(l->fd, l->piece, sizeof(l->piece));
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return fail_sys(err, REMIT_E_INPUT, "read line %llu",
				(unsigned long long)l->number + 1);
	l->have = (size_t)n;
	return 0;
}

static int
line_append(struct batch_lines *l, const char *bytes, size_t len,
	    struct remit_error *err)
{
	if (l->is_long || buf_add(&l->line, bytes, len) == 0)
		return 0;
	if (errno != EFBIG)
		return fail_sys(err, REMIT_E_MEMORY, "line %llu",
				(unsigned long long)l->number + 1);
	l->is_long = true;
	buf_free(&l->line);
	return 0;
}

enum batch_lines_answer
batch_lines_next(struct batch_lines *l, struct remit_error *err)
{
	uint64_t begin = l->end;

	buf_drop(&l->line, l->line.len);
	l->is_long = false;
	l->is_torn = true;
	while (l->is_torn) {
		const char *from = l->piece + l->at, *newline;
		size_t len;

		if (l->at == l->have) {
			if (lines_refill(l, err) < 0)
				return BATCH_LINES_ERROR;
			if (!l->have)
				break;
			from = l->piece;
		}
		newline = memchr(from, '\n', l->have - l->at);
		len = newline ? (size_t)(newline - from) : l->have - l->at;
		if (line_append(l, from, len, err) < 0)
			return BATCH_LINES_ERROR;
		l->is_torn = !newline;
		len += newline != NULL;
		l->at += len;
		l->end += len;
	}
	/* A stop in the middle of a line drops the line. */
	if (l->end == begin || l->is_stopped)
		return BATCH_LINES_END;
	l->number++;
	return BATCH_LINES_GIVEN;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool
batch_lines_is_blank(const struct batch_lines *l)
{
	for (size_t i = 0; i < l->line.len; i++)
		if (!is_blank(l->line.data[i]))
			return false;
	return !l->is_long;
}

void
batch_lines_free(struct batch_lines *l)
{
	buf_free(&l->line);
}

int64_t
batch_lines_count(int fd)
{
	char piece[64 * 1024];
	int64_t count = 0;
	bool filled = false;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (piece[i] != '\n') {
				filled |= !is_blank(piece[i]);
				continue;
			}
			count += filled;
			filled = false;
		}
		at += n;
	}
	return n < 0 ? -1 : count + filled;
}
