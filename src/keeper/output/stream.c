#include "keeper/output/stream.h"

#include <fcntl.h>

/* ---- output ---- */

bool
capture_is_truncated(const struct capture *c)
{
	return c->total_bytes > c->kept_bytes;
}

bool
capture_is_over_ceiling(const struct capture *c)
{
	return c->total_bytes > c->ceiling_bytes;
}

int
capture_drain(struct capture *c, struct link *client, struct remit_error *err)
{
	char piece[FRAME_PIECE];
	uint64_t space = c->max_bytes - c->kept_bytes;
	size_t keep;
	ssize_t n;

	n = read(c->fd, piece, sizeof(piece));
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		return fail_sys(err, REMIT_E_KERNEL, "read output");
	}
	if (n == 0) {
		c->ended = true;
		return 0;
	}
	c->total_bytes += (uint64_t)n;
	keep = (uint64_t)n < space ? (size_t)n : (size_t)space;
	c->kept_bytes += keep;
	if (keep && link_send(client, c->type, piece, keep, err) < 0)
		return -1;
	return 0;
}

/* ---- input ---- */

int
feed_pipe(int *reader, int *writer, struct remit_error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe for stdin");
	*reader = pair[0];
	*writer = pair[1];
	if (fcntl(*writer, F_SETFL, O_NONBLOCK) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fcntl");
	return 0;
}

int
feed_add(struct feed *f, const char *bytes, size_t len, uint64_t max,
	 struct remit_error *err)
{
	if (f->total_bytes + len > max)
		return fail(err, REMIT_E_INPUT,
			    "standard input is longer than stdin_bytes allows "
			    "(%llu bytes)",
			    (unsigned long long)max);
	if (buf_add(&f->waiting, bytes, len) < 0)
		return fail_memory(err, "stdin");
	f->total_bytes += len;
	return 0;
}

bool
feed_flush(struct feed *f)
{
	size_t sent = 0;

	while (f->fd >= 0 && sent < f->waiting.len) {
		ssize_t n = write(f->fd, f->waiting.data + sent,
				  f->waiting.len - sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) /* The program has closed its input, as it may with
			      any pipe. */
			return true;
		sent += (size_t)n;
	}
	buf_drop(&f->waiting, sent);
	return f->ended && !f->waiting.len && f->fd >= 0;
}

bool
feed_wants_write(const struct feed *f)
{
	return f->fd >= 0 && f->waiting.len > 0;
}

void
feed_free(struct feed *f)
{
	own_fd_close(&f->fd);
	f->fd = -1;
	buf_free(&f->waiting);
}
