#include "proxy/flow.h"

#include <fcntl.h>
#include <sys/socket.h>

/* How much one splice may move; the pipe is smaller. */
#define SPLICE_BYTES_MAX (1 << 20)

void
flow_open(struct flow *f)
{
	f->start = f->len = 0;
	f->ended = f->closed = f->filled = f->ragged = false;
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
	/* Best effort: if the pipe limit is lower, keep the default size. */
	fcntl(f->pipe[1], F_SETPIPE_SZ, FLOW_PIPE_BYTES);
	return 0;
}

bool
flow_has_space(const struct flow *f)
{
	/* How much a pipe still takes depends on the sizes of the writes, so
	   empty it first. */
	return flow_is_piped(f) ? !f->len : f->start + f->len < FLOW_BYTES;
}

/* Read everything that fits: no event reports bytes that TLS has already
   decrypted. */
static ssize_t
flow_recv_decrypted(struct flow *f, struct tls *tls, size_t space)
{
	char *at = f->data + f->start + f->len;
	size_t len = 0;
	ssize_t n = 1;

	while (len < space) {
		n = tls_read(tls, at + len, space - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	f->ragged = tls_is_truncated(tls);
	/* The next call returns the end or the error. */
	return len ? (ssize_t)len : n;
}

static ssize_t
flow_recv(struct flow *f, struct flow_end from, size_t most)
{
	size_t space = FLOW_BYTES - f->start - f->len;
	ssize_t n;

	if (most - f->len < space)
		space = most - f->len;
	if (from.tls)
		return flow_recv_decrypted(f, from.tls, space);
	if (flow_is_piped(f))
		return splice(from.fd, NULL, f->pipe[1], NULL, SPLICE_BYTES_MAX,
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	n = recvfrom(from.fd, f->data + f->start + f->len, space, 0, NULL,
		     NULL);
	f->filled = n == (ssize_t)space;
	return n;
}

static ssize_t
flow_send(struct flow *f, struct flow_end to)
{
	if (to.tls)
		return tls_write(to.tls, f->data + f->start, f->len);
	if (flow_is_piped(f))
		return splice(f->pipe[0], NULL, to.fd, NULL, f->len,
			      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	return sendto(to.fd, f->data + f->start, f->len, MSG_NOSIGNAL, NULL, 0);
}

int
flow_pull(struct flow *f, struct flow_end from, size_t most)
{
	ssize_t n;

	if (f->ended || !flow_has_space(f) ||
	    (!flow_is_piped(f) && f->len >= most))
		return 0;
	n = flow_recv(f, from, most);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	f->ended = n == 0;
	f->len += (size_t)n;
	return 0;
}

int
flow_push(struct flow *f, struct flow_end to, size_t *sent)
{
	ssize_t n = f->len ? flow_send(f, to) : 0;

	*sent = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*sent = (size_t)n;
	f->len -= (size_t)n;
	f->start = f->len ? f->start + (size_t)n : 0;
	if (f->ended && !f->len && !f->closed) {
		/* The reader must be able to see a truncation: send no close
		   notification after one. */
		if (to.tls && !f->ragged)
			tls_close_notify(to.tls);
		shutdown(to.fd, SHUT_WR);
		f->closed = true;
	}
	return 0;
}
