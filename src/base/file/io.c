#include "base/file/io.h"

static ssize_t
write_some(int fd, const void *bytes, size_t len, off_t at)
{
	return at < 0 ? write(fd, bytes, len) : pwrite(fd, bytes, len, at);
}

/* Writes at an offset; if that is negative, at the descriptor's position. */
static int
write_from(int fd, const char *bytes, size_t len, off_t at)
{
	while (len) {
		ssize_t n = write_some(fd, bytes, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC; /* or this would never end */
		if (n <= 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
		at += at < 0 ? 0 : n;
	}
	return 0;
}

int
io_write_all(int fd, const void *bytes, size_t len)
{
	return write_from(fd, bytes, len, -1);
}

int
io_write_all_at(int fd, const void *bytes, size_t len, off_t at)
{
	return write_from(fd, bytes, len, at);
}

ssize_t
io_read(int fd, void *to, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, to, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

int
io_read_exactly(int fd, void *to, size_t len)
{
	char *at = to;

	while (len) {
		ssize_t n = io_read(fd, at, len);

		if (n == 0)
			errno = EPIPE;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
io_read_all(int fd, struct buf *out)
{
	char piece[64 * 1024];
	ssize_t n;

	while ((n = io_read(fd, piece, sizeof(piece))) > 0)
		if (buf_add(out, piece, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}
