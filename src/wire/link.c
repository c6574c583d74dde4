#include "wire/link.h"

#include <string.h>
#include <sys/socket.h>

#include "base/file/fd.h"

void
link_open(struct link *l, int fd, unsigned peer)
{
	*l = (struct link)LINK_INIT;
	l->fd = fd;
	l->peer = peer;
	if (peer & (PARTY_CLIENT | PARTY_KEEPER))
		l->protocol = FRAME_PROTOCOL;
}

void
link_free(struct link *l)
{
	own_fd_close(&l->fd);
	l->fd = -1;
	own_fd_close(&l->passed_fd);
	l->passed_fd = -1;
	buf_free(&l->in);
	buf_free(&l->out);
}

/* Like recv(2). A passed descriptor replaces the one received before. */
static ssize_t
link_receive(struct link *l, void *bytes, size_t size)
{
	int got[PASS_MAX];
	size_t count;
	ssize_t n;

	if (!l->receives_fds)
		return recv(l->fd, bytes, size, MSG_DONTWAIT);
	n = pass_recv(l->fd, bytes, size, got, &count, MSG_DONTWAIT);
	for (size_t i = 0; i < count; i++) {
		own_fd_close(&l->passed_fd);
		l->passed_fd = got[i];
	}
	return n;
}

int
link_fill(struct link *l, struct remit_error *err)
{
	char piece[FRAME_PIECE];
	ssize_t n;

	buf_drop(&l->in, l->parsed);
	l->parsed = 0;
	n = link_receive(l, piece, sizeof(piece));
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		/* A peer that is killed with unread bytes resets the socket.
		   Treat that like any other end. */
		if (errno != ECONNRESET)
			return fail_sys(err, REMIT_E_KERNEL, "recv");
		n = 0;
	}
	if (n == 0) {
		l->ended = true;
		return 0;
	}
	if (buf_add(&l->in, piece, (size_t)n) < 0)
		return fail_sys(err, REMIT_E_PROTOCOL, "receive buffer");
	return 0;
}

int
link_next(struct link *l, struct frame *out, struct remit_error *err)
{
	size_t used;

	*out = (struct frame){ .type = FRAME_NONE };
	if (frame_parse(buf_text(&l->in) + l->parsed, l->in.len - l->parsed,
			l->peer, &l->seen, out, &used, err) < 0)
		return -1;
	l->parsed += used;
	return 0;
}

bool
link_is_foreign(const struct link *l, unsigned *protocol)
{
	const char *header = buf_text(&l->in) + l->parsed;

	if (l->in.len - l->parsed < FRAME_HEADER)
		return false;
	*protocol = (unsigned char)header[FRAME_PROTOCOL_AT];
	return *protocol != FRAME_PROTOCOL;
}

int
link_send(struct link *l, enum frame_type type, const void *payload, size_t len,
	  struct remit_error *err)
{
	unsigned char header[FRAME_HEADER];

	if (len > frame_rules[type].max)
		return fail(err, REMIT_E_INTERNAL,
			    "frame \"%s\" of %zu bytes is too long to send",
			    frame_rules[type].name, len);
	frame_header(header, type, (uint32_t)len);
	header[FRAME_PROTOCOL_AT] = l->protocol;
	if (buf_add(&l->out, header, sizeof(header)) < 0)
		return fail_memory(err, "send buffer");
	if (buf_add(&l->out, payload, len) < 0) {
		/* Undo the header: a frame is queued completely or not at
		   all. */
		l->out.len -= sizeof(header);
		return fail_memory(err, "send buffer");
	}
	l->sent++;
	return 0;
}

int
link_send_pieces(struct link *l, enum frame_type type, const void *bytes,
		 size_t len, struct remit_error *err)
{
	const char *at = bytes;

	while (len) {
		size_t n = len < FRAME_PIECE ? len : FRAME_PIECE;

		if (link_send(l, type, at, n, err) < 0)
			return -1;
		at += n;
		len -= n;
	}
	return 0;
}

int
link_flush(struct link *l, struct remit_error *err)
{
	int failed = 0;

	while (!failed && link_wants_write(l)) {
		ssize_t n = send(l->fd, l->out.data + l->sent_bytes,
				 link_backlog(l), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			failed = fail_sys(err, REMIT_E_GONE, "send");
		else
			l->sent_bytes += (size_t)n;
	}
	/* Moving the remaining bytes after each send would cost more than
	   sending them. */
	if (l->sent_bytes >= link_backlog(l)) {
		buf_drop(&l->out, l->sent_bytes);
		l->sent_bytes = 0;
	}
	return failed;
}

int
link_flush_with(struct link *l, int fd, struct remit_error *err)
{
	size_t len = link_backlog(l);

	if (pass_send(l->fd, l->out.data + l->sent_bytes, len, &fd, 1, 0) !=
	    (ssize_t)len)
		return fail_sys(err, REMIT_E_GONE, "send");
	link_drop_backlog(l);
	return 0;
}

bool
link_wants_write(const struct link *l)
{
	return link_backlog(l) > 0;
}

size_t
link_backlog(const struct link *l)
{
	return l->out.len - l->sent_bytes;
}

void
link_next_cell(struct link *l)
{
	l->seen = frame_next_cell(l->seen);
}

void
link_drop_backlog(struct link *l)
{
	buf_free(&l->out);
	l->sent_bytes = 0;
}
