#include "serve/conn.h"

#include <string.h>
#include <sys/socket.h>

#include "http/certificate.h"
#include "http/tls.h"
#include "serve/exchange_part.h"
#include "serve/server.h"

#define PIECE ((size_t)64 * 1024)
/* What is read of a client that is not listened to any more. */
#define LINGER_BYTES ((size_t)1024 * 1024)
/* JSON of this size takes milliseconds to read. */
#define LONG_BODY ((size_t)256 * 1024)
/* Bytes that were sent stay in front of the others up to here, and up to half
   of them: to move the rest is work. */
#define SENT_KEPT ((size_t)256 * 1024)

#define SECOND_US UINT64_C(1000000)
/* The head within this, from its first byte; likewise an agreement on TLS, from
   the connection's begin. */
#define HEAD_US	   (10 * SECOND_US)
#define IDLE_US	   (75 * SECOND_US)
#define LINGER_US  (2 * SECOND_US)
#define STALL_US   (30 * SECOND_US)
#define BODY_US	   (300 * SECOND_US)
#define SILENCE_US (15 * SECOND_US)

/* ---- bytes, by TLS if there is a certificate ---- */

/* As send(2) and recv(2), which do not wait. */
static ssize_t
conn_send(struct conn *c, const void *bytes, size_t len)
{
	return c->tls ? tls_write(c->tls, bytes, len)
		      : send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A record has 16 KiB at most: with room for it all of it is given, and none
   waits for an event that does not come. */
static ssize_t
conn_receive(struct conn *c, void *out, size_t size)
{
	return c->tls ? tls_read(c->tls, out, size)
		      : recv(c->fd, out, size, MSG_DONTWAIT);
}

/* The first bytes of a connection are HTTP without TLS: they were answered. */
static bool
conn_tls_refuses(struct conn *c)
{
	static const char text[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
		"Content-Length: 38\r\nConnection: close\r\n\r\n"
		"This port speaks TLS: ask by https://\n";
	char first;

	/* A record begins with 22, a request with the name of its method. */
	if (c->tls || recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 ||
	    first < 'A' || first > 'Z')
		return false;
	/* A new socket has room for it. */
	return conn_send(c, text, sizeof(text) - 1) > 0;
}

/* As tls_shake(). */
static int
conn_tls_shake(struct conn *c)
{
	/* Its buffers are for those who have said something. */
	if (!c->tls) {
		c->tls = tls_to_client(&c->server->certificate->config, c->fd);
		if (!c->tls)
			return -1;
		c->certificate = certificate_ref(c->server->certificate);
	}
	return tls_shake(c->tls);
}

/* Nothing was cut off: no more will be sent. */
static void
conn_tls_say_end(const struct conn *c)
{
	if (c->tls && tls_is_shaken(c->tls))
		tls_say_end(c->tls);
}

static void
conn_tls_free(struct conn *c)
{
	tls_free(take_ptr(&c->tls));
	certificate_unref(take_ptr(&c->certificate));
}

/* ---- steps ---- */

static void
enter(struct conn *c, enum conn_step step)
{
	c->step = step;
	c->step_us = loop_now_us();
	c->progress_us = c->step_us;
}

static void
want(struct conn *c, uint32_t events)
{
	loop_want(&c->server->loop, &c->source, events);
}

void
conn_close(struct conn *c)
{
	struct exchange *x = take_ptr(&c->x);

	*c->before = c->next;
	if (c->next)
		c->next->before = c->before;
	c->server->conn_count--;
	if (c->key)
		c->key->conns--;
	loop_remove(&c->server->loop, &c->source);
	/* A reply that is not whole must not look so. */
	if (conn_is_idle(c))
		conn_tls_say_end(c);
	conn_tls_free(c);
	close(c->fd);
	buf_free(&c->in);
	if (x) {
		server_done(x);
		exchange_leave(x);
		exchange_unref(x);
	}
	free(c);
}

bool
conn_is_idle(const struct conn *c)
{
	return c->step == CONN_SHAKE || (c->step == CONN_HEAD && !c->in.len);
}

/* ---- sending ---- */

/* -1: the other end is gone. The lock of the exchange is held. */
static int
send_some(struct conn *c)
{
	struct buf *out = &c->x->out;
	ssize_t n;

	while (c->sent < out->len || c->x->tail.len) {
		if (c->sent == out->len) {
			buf_free(out);
			*out = c->x->tail;
			c->x->tail = (struct buf)BUF_INIT(out->cap);
			c->sent = 0;
		}
		n = conn_send(c, out->data + c->sent, out->len - c->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		c->sent += (size_t)n;
		c->x->sent_bytes += (uint64_t)n;
		c->progress_us = loop_now_us();
	}
	return 0;
}

/* 1: all of the reply is sent. */
static int
flush(struct conn *c)
{
	struct exchange *x = c->x;
	int failed, whole;

	pthread_mutex_lock(&x->lock);
	failed = send_some(c);
	if (c->sent == x->out.len ||
	    (c->sent > SENT_KEPT && c->sent > x->out.len / 2)) {
		buf_drop(&x->out, c->sent);
		c->sent = 0;
		pthread_cond_broadcast(&x->drained);
	}
	c->is_behind = x->out.len;
	whole = x->is_ended && !c->is_behind;
	pthread_mutex_unlock(&x->lock);
	return failed < 0 ? -1 : whole;
}

static void
linger(struct conn *c)
{
	buf_free(&c->in);
	enter(c, CONN_LINGER);
	conn_tls_say_end(c);
	shutdown(c->fd, SHUT_WR);
	want(c, EPOLLIN | EPOLLRDHUP);
}

/* The reply is sent: the next request, or the end. */
static void
finish(struct conn *c)
{
	struct exchange *x = take_ptr(&c->x);
	bool closes;

	pthread_mutex_lock(&x->lock);
	closes = x->closes;
	pthread_mutex_unlock(&x->lock);
	server_done(x);
	exchange_leave(x);
	exchange_unref(x);
	if (closes || c->server->is_draining) {
		linger(c);
		return;
	}
	enter(c, CONN_HEAD);
	/* A request that is here already has its turn in the next round, so
	   that many of them are no tower of calls. */
	want(c, EPOLLIN | EPOLLRDHUP | (c->in.len ? EPOLLOUT : 0));
}

/* Once, when a long body has been read. */
static bool
has_turn(struct exchange *x)
{
	bool turn;

	pthread_mutex_lock(&x->lock);
	turn = x->is_read;
	x->is_read = false;
	pthread_mutex_unlock(&x->lock);
	return turn;
}

void
conn_progress(struct conn *c)
{
	int whole;

	if (c->step != CONN_ANSWER)
		return;
	if (has_turn(c->x))
		c->x->route->serve(c->x);
	whole = flush(c);
	if (whole < 0) {
		conn_close(c);
		return;
	}
	if (whole) {
		finish(c);
		return;
	}
	/* While nothing can be sent only the end of the client matters: what
	   it sends already is read when its turn comes. */
	want(c, EPOLLRDHUP | (c->is_behind ? EPOLLOUT : 0));
}

/* ---- reading ---- */

static void
answer(struct conn *c)
{
	enter(c, CONN_ANSWER);
	want(c, EPOLLRDHUP);
	conn_progress(c);
}

/* A request that cannot be read on from: the reply is the last. The exchange
   may live until news of it was heard, its body not. */
static void
reject(struct conn *c, int status, const char *message)
{
	exchange_drop_body(c->x);
	c->x->closes = true;
	reply_fail(c->x, status, "input", "%s", message);
	answer(c);
}

/* In a thread of its own, since others wait for this one. */
static void
read_long_body(struct exchange *x)
{
	if (server_accept_body(x) < 0)
		return;
	pthread_mutex_lock(&x->lock);
	x->is_read = true;
	pthread_mutex_unlock(&x->lock);
	server_tell(x);
}

static void
dispatch(struct conn *c)
{
	struct exchange *x = c->x;

	if (x->body.data.len > LONG_BODY && x->route->body != BODY_BYTES)
		exchange_in_thread(x, read_long_body);
	else if (server_accept_body(x) == 0)
		x->route->serve(x);
	answer(c);
}

static void
take_body(struct conn *c)
{
	struct body *b = &c->x->body;
	size_t used, before = b->data.len;
	enum body_answer a = body_take(b, c->in.data, c->in.len, &used);
	enum body_room room;

	c->x->got_bytes = b->data.len;
	buf_drop(&c->in, used);
	room = server_charge_body(c->x, b->data.len - before);
	if (room != BODY_FITS) {
		reject(c, server_body_refusals[room].status,
		       server_body_refusals[room].message);
		return;
	}
	switch (a) {
	case BODY_MORE:
		return;
	case BODY_WHOLE:
		dispatch(c);
		return;
	case BODY_BAD:
		reject(c, 400, "the body's chunks are not well written");
		return;
	case BODY_LARGE:
		reject(c, 413, "the body is larger than this route takes");
		return;
	}
}

/* The client waits for this before it sends its body. What does not fit goes
   before the reply. */
static void
invite(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (exchange_header_is(c->x, "expect", "100-continue") &&
	    (exchange_interim(c->x, text) < 0 || flush(c) < 0))
		c->x->closes = true;
}

/* False: the key has more connections than its share. */
static bool
count_for_key(struct conn *c)
{
	const struct server *s = c->server;
	struct key *key = c->x->payer;

	if (key && key != c->key) {
		if (c->key)
			c->key->conns--;
		c->key = key;
		key->conns++;
	}
	return !key ||
	       key->conns <= serve_limits_share(s->conns_max, s->key_share) ||
	       server_make_room_beside(c);
}

static void
take_request(struct conn *c, const struct http_head *h)
{
	struct exchange *x = c->x;
	bool fits;
	int failed;

	x->parsed = *h;
	x->closes = h->is_old || exchange_header_is(x, "connection", "close");
	if (h->method.len >= sizeof(x->method) ||
	    exchange_set_target(x, h->target) < 0) {
		reject(c, 400,
		       "the request's method or target is not well "
		       "written");
		return;
	}
	memcpy(x->method, h->method.text, h->method.len);
	failed = server_accept_head(x);
	fits = count_for_key(c);
	if (failed < 0) {
		/* A body that is not wanted is not read either. */
		x->closes |= !fits;
		answer(c);
		return;
	}
	if (!fits) {
		reject(c, 429, "too many connections of this key at once");
		return;
	}
	body_begin(&x->body, h->is_chunked, h->body_bytes,
		   x->route->body_max ? x->route->body_max : ROUTE_JSON_BYTES);
	enter(c, CONN_BODY);
	if (x->body.step != BODY_DONE && !c->in.len)
		invite(c);
	take_body(c);
}

/* The bytes of the head become the exchange's. */
static void
begin_exchange(struct conn *c, const struct http_head *h)
{
	struct http_head parsed;

	c->x = exchange_new(c->server, c);
	c->sent = 0;
	if (!c->x || (h && buf_add(&c->x->head, c->in.data, h->len) < 0)) {
		conn_close(c);
		return;
	}
	c->x->port = c->port;
	server_begun(c->x);
	if (!h) {
		reject(c, 400,
		       "this is no request of HTTP/1.1 that can be read in one "
		       "way only");
		return;
	}
	buf_drop(&c->in, h->len);
	/* Its texts point into the exchange's own bytes now. */
	if (http_head_read(c->x->head.data, c->x->head.len, &parsed) !=
	    HEAD_NAME) {
		conn_close(c);
		return;
	}
	take_request(c, &parsed);
}

static void
take_head(struct conn *c)
{
	struct http_head h;

	switch (http_head_read(c->in.data, c->in.len, &h)) {
	case HEAD_NAME:
		begin_exchange(c, &h);
		return;
	case HEAD_MORE:
		return;
	default:
		begin_exchange(c, NULL);
		return;
	}
}

static void
read_on(struct conn *c)
{
	if (c->step == CONN_BODY)
		take_body(c);
	else if (c->in.len)
		take_head(c);
}

/* False: there is no more for now, or the connection is closed. */
static bool
fill(struct conn *c)
{
	char piece[PIECE];
	ssize_t n = conn_receive(c, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		conn_close(c);
		return false;
	}
	if (conn_is_idle(c))
		c->step_us = loop_now_us();
	c->progress_us = loop_now_us();
	if (buf_add(&c->in, piece, (size_t)n) < 0) {
		conn_close(c);
		return false;
	}
	return true;
}

/* As it comes: TLS has said its end. */
static void
throw_away(struct conn *c)
{
	char piece[PIECE];
	ssize_t n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->thrown += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->thrown > LINGER_BYTES)
		conn_close(c);
}

static void
shake(struct conn *c, uint32_t events)
{
	bool gone = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);

	if (conn_tls_refuses(c)) {
		linger(c);
	} else if (!gone && conn_tls_shake(c) == 0) {
		enter(c, CONN_HEAD);
		want(c, EPOLLIN | EPOLLRDHUP);
	} else if (!gone && (errno == EAGAIN || errno == EALREADY)) {
		want(c, EPOLLRDHUP | (errno == EAGAIN ? EPOLLIN : EPOLLOUT));
	} else {
		conn_close(c);
	}
}

static void
on_ready(void *owner, uint32_t events)
{
	struct conn *c = owner;

	if (c->step == CONN_SHAKE) {
		shake(c, events);
		return;
	}
	if (c->step == CONN_LINGER) {
		throw_away(c);
		return;
	}
	if (c->step == CONN_ANSWER) {
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			conn_close(c);
		else
			conn_progress(c);
		return;
	}
	want(c, EPOLLIN | EPOLLRDHUP);
	if (events & EPOLLOUT || fill(c))
		read_on(c);
}

void
conn_open(struct server *s, int fd, uint16_t port)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct remit_error err;

	if (!c) {
		close(fd);
		return;
	}
	*c = (struct conn){
		.server = s,
		.fd = fd,
		.port = port,
		.source = SOURCE_INIT,
		.in = BUF_INIT(HEAD_MAX + 2 * PIECE),
		.next = s->conns,
		.before = &s->conns,
	};
	if (c->next)
		c->next->before = &c->next;
	s->conns = c;
	s->conn_count++;
	enter(c, s->certificate && port ? CONN_SHAKE : CONN_HEAD);
	if (loop_add(&s->loop, &c->source, fd, EPOLLIN | EPOLLRDHUP, on_ready,
		     c, &err) < 0)
		conn_close(c);
}

/* ---- time ---- */

static bool
is_late(const struct conn *c, uint64_t now_us)
{
	uint64_t step = now_us - c->step_us, still = now_us - c->progress_us;

	switch (c->step) {
	case CONN_SHAKE:
		return step > HEAD_US;
	case CONN_HEAD:
		return step > (c->in.len ? HEAD_US : IDLE_US);
	case CONN_BODY:
		return still > HEAD_US || step > BODY_US;
	case CONN_ANSWER:
		return c->is_behind && still > STALL_US;
	case CONN_LINGER:
		return step > LINGER_US;
	}
	return true;
}

void
conn_watch(struct conn *c, uint64_t now_us)
{
	if (is_late(c, now_us)) {
		conn_close(c);
		return;
	}
	if (c->step == CONN_ANSWER) {
		exchange_keep_alive(c->x, SILENCE_US);
		conn_progress(c);
	}
}
