#include "flow.h"

#include <fcntl.h>
#include <sys/socket.h>

/* At one go; the pipe holds less. */
#define SPLICED (1 << 20)

void
flow_open(struct flow *f)
{
	f->start = f->len = 0;
	f->ended = f->closed = f->filled = false;
	f->pipe[0] = f->pipe[1] = -1;
}

void
flow_close(struct flow *f)
{
	own_fd_close(&f->pipe[0]);
	own_fd_close(&f->pipe[1]);
	f->pipe[0] = f->pipe[1] = -1;
}

bool
flow_is_piped(const struct flow *f)
{
	return f->pipe[0] >= 0;
}

bool
flow_is_full(const struct flow *f)
{
	return f->filled && !f->len && !f->ended && !flow_is_piped(f);
}

int
flow_pipe(struct flow *f)
{
	if (pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		f->pipe[0] = f->pipe[1] = -1;
		return -1;
	}
	/* Where there is no more to be had it holds less. */
	fcntl(f->pipe[1], F_SETPIPE_SZ, FLOW_PIPE_BYTES);
	return 0;
}

bool
flow_has_room(const struct flow *f)
{
	/* How much a pipe still takes depends on how the bytes came: so it is
	   emptied first. */
	return flow_is_piped(f) ? !f->len : f->start + f->len < FLOW_BYTES;
}

static ssize_t
take(struct flow *f, int fd, size_t most)
{
	size_t room = FLOW_BYTES - f->start - f->len;
	ssize_t n;

	if (most - f->len < room)
		room = most - f->len;
	if (flow_is_piped(f))
		return splice(fd, NULL, f->pipe[1], NULL, SPLICED,
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	n = recvfrom(fd, f->data + f->start + f->len, room, 0, NULL, NULL);
	f->filled = n == (ssize_t)room;
	return n;
}

static ssize_t
give(struct flow *f, int fd)
{
	if (flow_is_piped(f))
		return splice(f->pipe[0], NULL, fd, NULL, f->len,
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	return sendto(fd, f->data + f->start, f->len, MSG_NOSIGNAL, NULL, 0);
}

int
flow_pull(struct flow *f, int fd, size_t most)
{
	ssize_t n;

	if (f->ended || !flow_has_room(f) ||
	    (!flow_is_piped(f) && f->len >= most))
		return 0;
	n = take(f, fd, most);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	f->ended = n == 0;
	f->len += (size_t)n;
	return 0;
}

int
flow_push(struct flow *f, int fd, size_t *sent)
{
	ssize_t n = f->len ? give(f, fd) : 0;

	*sent = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*sent = (size_t)n;
	f->len -= (size_t)n;
	f->start = f->len ? f->start + (size_t)n : 0;
	if (f->ended && !f->len && !f->closed) {
		shutdown(fd, SHUT_WR);
		f->closed = true;
	}
	return 0;
}
