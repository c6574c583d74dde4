#include "serve/port_relay.h"

#include <string.h>
#include <sys/socket.h>

#include "http/forward.h"
#include "serve/conn.h"
#include "serve/exchange_part.h"
#include "serve/server.h"

/* A TLS record has up to 16 KiB, and must be read at once. */
#define PIECE_BYTES ((size_t)32 * 1024)
#define SECOND_US   UINT64_C(1000000)
/* The time for a connection into the jail. A program that does not accept
   connections lets them wait. */
#define CONNECT_US (10 * SECOND_US)
/* While the server shuts down, connections that are idle for so long end. */
#define DRAIN_US SECOND_US

enum relay_step {
	RELAY_CONNECTING,
	RELAY_WAITING,	/* for the first line of the reply */
	RELAY_REPLYING, /* the reply goes to the client as it is */
	RELAY_SWITCHED, /* to another protocol, in both directions */
};

struct port_relay {
	struct conn *conn;
	enum relay_step step;
	int fd;
	struct source source;
	struct body body; /* of the request: where it ends */
	bool upgrades;	  /* the request asks for another protocol */
	struct buf up;	  /* for the program */
	struct buf first; /* of the reply, until its first line is complete */
	struct buf down;  /* for the client */
	bool has_replied; /* bytes of the reply were forwarded */
	bool client_ended, program_ended;
	bool is_deaf;	   /* the program accepts no more bytes */
	bool is_cut;	   /* its reply ended with an error */
	uint64_t moved_us; /* when bytes were last forwarded */
};

void
port_relay_free(struct port_relay *r)
{
	if (!r)
		return;
	loop_remove(&r->conn->server->loop, &r->source);
	own_fd_close(&r->fd);
	body_free(&r->body);
	buf_free(&r->up);
	buf_free(&r->first);
	buf_free(&r->down);
	r->conn->relay = NULL;
	free(r);
}

/* ---- the end ---- */

/* Replies in place of the program, if no reply of it has begun. */
static void
relay_fail(struct port_relay *r, int status, const char *why)
{
	struct conn *c = r->conn;
	bool can_reply = !r->has_replied && r->step <= RELAY_WAITING;

	port_relay_free(r);
	if (can_reply)
		conn_reply_instead(c, status, why);
	else
		conn_close(c);
}

/* The program has ended its reply, and the client has all of it. */
static void
relay_finish(struct port_relay *r)
{
	struct conn *c = r->conn;
	bool is_cut = r->is_cut;

	port_relay_free(r);
	if (is_cut) {
		conn_close(c);
		return;
	}
	pthread_mutex_lock(&c->x->lock);
	c->x->is_ended = true;
	pthread_mutex_unlock(&c->x->lock);
	conn_finish(c);
}

/* ---- towards the program ---- */

/* Whether what the client sends now would be forwarded. */
static bool
takes_input(const struct port_relay *r)
{
	return !r->up.len && !r->is_deaf && r->step != RELAY_CONNECTING &&
	       (r->step == RELAY_SWITCHED || r->body.step != BODY_DONE);
}

static bool
wants_input(const struct port_relay *r)
{
	return takes_input(r) && !r->client_ended && !r->conn->in.len;
}

/* Moves what belongs to the request, or to the other protocol. Returns -1 if
   the body is malformed. */
static int
take_input(struct port_relay *r)
{
	struct buf *in = &r->conn->in;
	enum body_answer a;
	size_t used;
	int failed;

	used = in->len;
	if (r->step != RELAY_SWITCHED) {
		a = body_feed(&r->body, in->data, in->len, &used);
		/* Only the end of the body matters. */
		r->conn->x->got_bytes += r->body.data.len;
		r->body.data.len = 0;
		if (a != BODY_MORE && a != BODY_WHOLE)
			return -1;
	}
	failed = buf_add(&r->up, in->data, used);
	buf_drop(in, used);
	return failed;
}

/* What the client sends is lost if the program does not accept it; the reply
   may still come. */
static void
send_up(struct port_relay *r)
{
	while (r->up.len && !r->is_deaf) {
		ssize_t n = send(r->fd, r->up.data, r->up.len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			r->is_deaf = true;
			buf_free(&r->up);
			return;
		}
		buf_drop(&r->up, (size_t)n);
		r->moved_us = loop_now_us();
	}
	if (r->client_ended && !r->is_deaf && !r->conn->in.len) {
		shutdown(r->fd, SHUT_WR);
		r->is_deaf = true;
	}
}

/* Returns -1 if the body is malformed. */
static int
forward_input(struct port_relay *r)
{
	send_up(r);
	while (takes_input(r) && r->conn->in.len) {
		if (take_input(r) < 0)
			return -1;
		send_up(r);
	}
	return 0;
}

/* ---- towards the client ---- */

static bool
wants_reply(const struct port_relay *r)
{
	return r->step != RELAY_CONNECTING && !r->program_ended &&
	       r->down.len <= PIECE_BYTES;
}

/* Returns -1 if the program does not send HTTP. */
static int
take_first(struct port_relay *r, const char *bytes, size_t len)
{
	struct exchange *x = r->conn->x;
	int status = 0;

	if (buf_add(&r->first, bytes, len) < 0)
		return -1;
	switch (http_forward_reply(&r->first, &r->down, r->upgrades, &status)) {
	case FORWARD_MORE:
		break;
	case FORWARD_BAD:
		return -1;
	case FORWARD_REPLY:
		r->step = RELAY_REPLYING;
		break;
	case FORWARD_SWITCH:
		r->step = RELAY_SWITCHED;
		break;
	}
	if (r->step == RELAY_WAITING)
		return 0;
	pthread_mutex_lock(&x->lock);
	x->status = status; /* for the log */
	pthread_mutex_unlock(&x->lock);
	return 0;
}

/* Returns -1 after it has ended the relay. */
static int
receive_reply(struct port_relay *r)
{
	char piece[PIECE_BYTES];
	ssize_t n = recv(r->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		r->program_ended = true;
		r->is_cut = n < 0;
		if (r->step != RELAY_WAITING)
			return 0;
		relay_fail(r, 502,
			   "the program at this port of the sandbox closed "
			   "the connection before a reply");
		return -1;
	}
	r->moved_us = loop_now_us();
	if (r->step != RELAY_WAITING) {
		if (buf_add(&r->down, piece, (size_t)n) == 0)
			return 0;
	} else if (take_first(r, piece, (size_t)n) == 0) {
		return 0;
	}
	relay_fail(r, 502,
		   "the program at this port of the sandbox did not reply "
		   "with HTTP/1.1");
	return -1;
}

/* Returns -1 if the client is gone. */
static int
send_down(struct port_relay *r)
{
	while (r->down.len) {
		ssize_t n = conn_send(r->conn, r->down.data, r->down.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		buf_drop(&r->down, (size_t)n);
		r->has_replied = true;
		r->conn->x->sent_bytes += (uint64_t)n;
		r->moved_us = loop_now_us();
	}
	return 0;
}

/* ---- both ---- */

static void relay_on_program(void *owner, uint32_t events);

/* A socket whose other end is gone is always ready, so it is watched only while
   something is to be done with it. Returns -1 if it cannot be watched. */
static int
watch_program(struct port_relay *r)
{
	struct loop *l = &r->conn->server->loop;
	uint32_t events = wants_reply(r) ? EPOLLIN : 0;
	struct remit_error err;

	if (r->up.len || r->step == RELAY_CONNECTING)
		events |= EPOLLOUT;
	if (!events) {
		loop_remove(l, &r->source);
		return 0;
	}
	if (r->source.fd >= 0) {
		loop_want(l, &r->source, events);
		return 0;
	}
	return loop_add(l, &r->source, r->fd, events, relay_on_program, r,
			&err);
}

/* After the switch, a client that has ended its side is noticed when the rest
   of what it sent is read: until the program takes that, the end would be
   reported again and again. */
static void
watch_client(struct port_relay *r)
{
	bool watches_end = !r->client_ended && r->step != RELAY_SWITCHED;
	uint32_t events = watches_end ? EPOLLRDHUP : 0;

	if (wants_input(r))
		events |= EPOLLIN;
	if (r->down.len)
		events |= EPOLLOUT;
	conn_want(r->conn, events);
}

/* Forwards what is here, and decides what to wait for. */
static void
relay_advance(struct port_relay *r)
{
	if (r->step != RELAY_CONNECTING) {
		if (forward_input(r) < 0) {
			relay_fail(r, 400,
				   "the body of the request has malformed "
				   "chunks");
			return;
		}
		if (send_down(r) < 0) {
			conn_close(r->conn);
			return;
		}
	}
	if (r->program_ended && !r->down.len) {
		relay_finish(r);
		return;
	}
	if (watch_program(r) < 0) {
		conn_close(r->conn);
		return;
	}
	watch_client(r);
}

/* Returns -1 after it has ended the relay. */
static int
check_connected(struct port_relay *r)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ||
	    error) {
		relay_fail(r, 502,
			   "the sandbox is running but the port is not "
			   "open: no program in it accepts connections "
			   "there at 127.0.0.1");
		return -1;
	}
	r->step = RELAY_WAITING;
	r->moved_us = loop_now_us();
	return 0;
}

static void
relay_on_program(void *owner, uint32_t events)
{
	struct port_relay *r = owner;

	if (r->step == RELAY_CONNECTING && check_connected(r) < 0)
		return;
	if (events & ~(uint32_t)EPOLLOUT && wants_reply(r) &&
	    receive_reply(r) < 0)
		return;
	relay_advance(r);
}

/* Returns -1 if the client is gone. */
static int
receive_input(struct port_relay *r)
{
	char piece[PIECE_BYTES];
	ssize_t n = conn_receive(r->conn, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return -1;
	r->client_ended = !n;
	r->moved_us = loop_now_us();
	return n ? buf_add(&r->conn->in, piece, (size_t)n) : 0;
}

void
port_relay_on_client(struct port_relay *r, uint32_t events)
{
	struct conn *c = r->conn;
	/* A client that ends its side does not wait for a reply, as with other
	   requests. */
	bool is_gone = r->step != RELAY_SWITCHED && events & EPOLLRDHUP;

	if (is_gone || events & (EPOLLHUP | EPOLLERR) ||
	    (events & (EPOLLIN | EPOLLRDHUP) && wants_input(r) &&
	     receive_input(r) < 0)) {
		conn_close(c);
		return;
	}
	relay_advance(r);
}

void
port_relay_begin(struct conn *c, int fd, const char *const *secrets)
{
	struct port_relay *r = calloc(1, sizeof(*r));
	const struct http_head *h = &c->x->parsed;

	if (!r) {
		close(fd);
		conn_reply_instead(c, 500, "no memory");
		return;
	}
	*r = (struct port_relay){
		.conn = c,
		.fd = fd,
		.source = SOURCE_INIT,
		.up = BUF_INIT(2 * HEAD_MAX + c->in.cap),
		.first = BUF_INIT(HEAD_MAX + PIECE_BYTES),
		.down = BUF_INIT(2 * (HEAD_MAX + PIECE_BYTES)),
		.moved_us = loop_now_us(),
	};
	body_begin(&r->body, h->is_chunked, h->body_bytes, c->in.cap);
	c->relay = r;
	if (http_forward_request(&r->up, c->x->head.data, h, secrets,
				 &r->upgrades) < 0) {
		relay_fail(r, 400,
			   "the head of the request is too long, or has "
			   "too many headers");
		return;
	}
	relay_advance(r);
}

/* ---- time ---- */

void
port_relay_watch(struct port_relay *r, uint64_t now_us)
{
	const struct server *s = r->conn->server;
	uint64_t idle = now_us - r->moved_us;

	if (r->step == RELAY_CONNECTING) {
		if (idle > CONNECT_US)
			relay_fail(r, 502,
				   "the program at this port of the sandbox "
				   "does not accept connections");
		return;
	}
	if (idle > (s->is_draining ? DRAIN_US
				   : s->limits.port_idle_seconds * SECOND_US))
		relay_fail(r, 502,
			   "the program at this port of the sandbox does "
			   "not reply");
}
