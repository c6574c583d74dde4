#include "serve/conn.h"

#include <string.h>
#include <sys/socket.h>

#include "http/certificate.h"
#include "http/tls.h"
#include "serve/exchange_part.h"
#include "serve/server.h"

#define READ_BYTES ((size_t)64 * 1024)
/* What is read of a client that is not listened to any more. */
#define LINGER_BYTES ((size_t)1024 * 1024)
/* JSON of this size takes milliseconds to read. */
#define LONG_BODY_BYTES ((size_t)256 * 1024)
/* Bytes that were sent stay in front of the others up to here, and up to half
   of them: to move the rest is work. */
#define SENT_KEPT_BYTES ((size_t)256 * 1024)

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
conn_answers_plain_http(struct conn *c)
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

/* As tls_handshake(). */
static int
conn_tls_handshake(struct conn *c)
{
	/* Its buffers are for those who have said something. */
	if (!c->tls) {
		c->tls = tls_to_client(&c->server->certificate->config, c->fd);
		if (!c->tls)
			return -1;
		c->certificate = certificate_ref(c->server->certificate);
	}
	return tls_handshake(c->tls);
}

/* Nothing was cut off: no more will be sent. */
static void
conn_tls_close_notify(const struct conn *c)
{
	if (c->tls && tls_is_established(c->tls))
		tls_close_notify(c->tls);
}

static void
conn_tls_free(struct conn *c)
{
	tls_free(take_ptr(&c->tls));
	certificate_unref(take_ptr(&c->certificate));
}

/* ---- steps ---- */

static void
conn_enter(struct conn *c, enum conn_step step)
{
	c->step = step;
	c->step_us = loop_now_us();
	c->progress_us = c->step_us;
}

static void
conn_want(struct conn *c, uint32_t events)
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
		conn_tls_close_notify(c);
	conn_tls_free(c);
	close(c->fd);
	buf_free(&c->in);
	if (x) {
		server_exchange_done(x);
		exchange_detach(x);
		exchange_unref(x);
	}
	free(c);
}

bool
conn_is_idle(const struct conn *c)
{
	return c->step == CONN_HANDSHAKE ||
	       (c->step == CONN_HEAD && !c->in.len);
}

/* ---- sending ---- */

/* -1: the other end is gone. The lock of the exchange is held. */
static int
conn_send_pending(struct conn *c)
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
conn_flush(struct conn *c)
{
	struct exchange *x = c->x;
	int failed, whole;

	pthread_mutex_lock(&x->lock);
	failed = conn_send_pending(c);
	if (c->sent == x->out.len ||
	    (c->sent > SENT_KEPT_BYTES && c->sent > x->out.len / 2)) {
		buf_drop(&x->out, c->sent);
		c->sent = 0;
		pthread_cond_broadcast(&x->drained);
	}
	c->has_unsent = x->out.len;
	whole = x->is_ended && !c->has_unsent;
	pthread_mutex_unlock(&x->lock);
	return failed < 0 ? -1 : whole;
}

static void
conn_linger(struct conn *c)
{
	buf_free(&c->in);
	conn_enter(c, CONN_LINGER);
	conn_tls_close_notify(c);
	shutdown(c->fd, SHUT_WR);
	conn_want(c, EPOLLIN | EPOLLRDHUP);
}

/* The reply is sent: the next request, or the end. */
static void
conn_finish(struct conn *c)
{
	struct exchange *x = take_ptr(&c->x);
	bool closes;

	pthread_mutex_lock(&x->lock);
	closes = x->closes;
	pthread_mutex_unlock(&x->lock);
	server_exchange_done(x);
	exchange_detach(x);
	exchange_unref(x);
	if (closes || c->server->is_draining) {
		conn_linger(c);
		return;
	}
	conn_enter(c, CONN_HEAD);
	/* A request that is here already has its turn in the next round, so
	   that many of them are no tower of calls. */
	conn_want(c, EPOLLIN | EPOLLRDHUP | (c->in.len ? EPOLLOUT : 0));
}

/* Once, when a long body has been read. */
static bool
pop_read_turn(struct exchange *x)
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
	if (pop_read_turn(c->x))
		c->x->route->serve(c->x);
	whole = conn_flush(c);
	if (whole < 0) {
		conn_close(c);
		return;
	}
	if (whole) {
		conn_finish(c);
		return;
	}
	/* While nothing can be sent only the end of the client matters: what
	   it sends already is read when its turn comes. */
	conn_want(c, EPOLLRDHUP | (c->has_unsent ? EPOLLOUT : 0));
}

/* ---- reading ---- */

static void
conn_answer(struct conn *c)
{
	conn_enter(c, CONN_ANSWER);
	conn_want(c, EPOLLRDHUP);
	conn_progress(c);
}

/* A request that cannot be read on from: the reply is the last. The exchange
   may live until news of it was heard, its body not. */
static void
conn_reject(struct conn *c, int status, const char *message)
{
	exchange_drop_body(c->x);
	c->x->closes = true;
	reply_fail(c->x, status, "input", "%s", message);
	conn_answer(c);
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
	server_notify(x);
}

static void
conn_dispatch(struct conn *c)
{
	struct exchange *x = c->x;

	if (x->body.data.len > LONG_BODY_BYTES && x->route->body != BODY_BYTES)
		exchange_in_thread(x, read_long_body);
	else if (server_accept_body(x) == 0)
		x->route->serve(x);
	conn_answer(c);
}

static void
conn_read_body(struct conn *c)
{
	struct body *b = &c->x->body;
	size_t used, before = b->data.len;
	enum body_answer a = body_feed(b, c->in.data, c->in.len, &used);
	enum body_space space;

	c->x->got_bytes = b->data.len;
	buf_drop(&c->in, used);
	space = server_charge_body(c->x, b->data.len - before);
	if (space != BODY_FITS) {
		conn_reject(c, server_body_refusals[space].status,
			    server_body_refusals[space].message);
		return;
	}
	switch (a) {
	case BODY_MORE:
		return;
	case BODY_WHOLE:
		conn_dispatch(c);
		return;
	case BODY_BAD:
		conn_reject(c, 400, "the body's chunks are not well written");
		return;
	case BODY_LARGE:
		conn_reject(c, 413, "the body is larger than this route takes");
		return;
	}
}

/* The client waits for this before it sends its body. What does not fit goes
   before the reply. */
static void
conn_send_continue(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (exchange_header_is(c->x, "expect", "100-continue") &&
	    (exchange_interim(c->x, text) < 0 || conn_flush(c) < 0))
		c->x->closes = true;
}

/* False: the key has more connections than its share. */
static bool
conn_count_for_key(struct conn *c)
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
	       server_evict_for_key(c);
}

static void
conn_begin_request(struct conn *c, const struct http_head *h)
{
	struct exchange *x = c->x;
	bool fits;
	int failed;

	x->parsed = *h;
	x->closes = h->is_old || exchange_header_is(x, "connection", "close");
	if (h->method.len >= sizeof(x->method) ||
	    exchange_set_target(x, h->target) < 0) {
		conn_reject(c, 400,
			    "the request's method or target is not well "
			    "written");
		return;
	}
	memcpy(x->method, h->method.text, h->method.len);
	failed = server_accept_head(x);
	fits = conn_count_for_key(c);
	if (failed < 0) {
		/* A body that is not wanted is not read either. */
		x->closes |= !fits;
		conn_answer(c);
		return;
	}
	if (!fits) {
		conn_reject(c, 429, "too many connections of this key at once");
		return;
	}
	body_begin(&x->body, h->is_chunked, h->body_bytes,
		   x->route->body_max ? x->route->body_max : ROUTE_JSON_BYTES);
	conn_enter(c, CONN_BODY);
	if (x->body.step != BODY_DONE && !c->in.len)
		conn_send_continue(c);
	conn_read_body(c);
}

/* The bytes of the head become the exchange's. */
static void
conn_begin_exchange(struct conn *c, const struct http_head *h)
{
	struct http_head parsed;

	c->x = exchange_new(c->server, c);
	c->sent = 0;
	if (!c->x || (h && buf_add(&c->x->head, c->in.data, h->len) < 0)) {
		conn_close(c);
		return;
	}
	c->x->port = c->port;
	server_exchange_begun(c->x);
	if (!h) {
		conn_reject(c, 400,
			    "this is no request of HTTP/1.1 that can be read "
			    "in one "
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
	conn_begin_request(c, &parsed);
}

static void
conn_read_head(struct conn *c)
{
	struct http_head h;

	switch (http_head_read(c->in.data, c->in.len, &h)) {
	case HEAD_NAME:
		conn_begin_exchange(c, &h);
		return;
	case HEAD_MORE:
		return;
	default:
		conn_begin_exchange(c, NULL);
		return;
	}
}

static void
conn_parse(struct conn *c)
{
	if (c->step == CONN_BODY)
		conn_read_body(c);
	else if (c->in.len)
		conn_read_head(c);
}

/* False: there is no more for now, or the connection is closed. */
static bool
conn_fill(struct conn *c)
{
	char piece[READ_BYTES];
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
conn_discard(struct conn *c)
{
	char piece[READ_BYTES];
	ssize_t n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->discarded += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->discarded > LINGER_BYTES)
		conn_close(c);
}

static void
conn_handshake(struct conn *c, uint32_t events)
{
	bool gone = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);

	if (conn_answers_plain_http(c)) {
		conn_linger(c);
	} else if (!gone && conn_tls_handshake(c) == 0) {
		conn_enter(c, CONN_HEAD);
		conn_want(c, EPOLLIN | EPOLLRDHUP);
	} else if (!gone && (errno == EAGAIN || errno == EALREADY)) {
		conn_want(c,
			  EPOLLRDHUP | (errno == EAGAIN ? EPOLLIN : EPOLLOUT));
	} else {
		conn_close(c);
	}
}

static void
conn_on_ready(void *owner, uint32_t events)
{
	struct conn *c = owner;

	if (c->step == CONN_HANDSHAKE) {
		conn_handshake(c, events);
		return;
	}
	if (c->step == CONN_LINGER) {
		conn_discard(c);
		return;
	}
	if (c->step == CONN_ANSWER) {
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			conn_close(c);
		else
			conn_progress(c);
		return;
	}
	conn_want(c, EPOLLIN | EPOLLRDHUP);
	if (events & EPOLLOUT || conn_fill(c))
		conn_parse(c);
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
		.in = BUF_INIT(HEAD_MAX + 2 * READ_BYTES),
		.next = s->conns,
		.before = &s->conns,
	};
	if (c->next)
		c->next->before = &c->next;
	s->conns = c;
	s->conn_count++;
	conn_enter(c, s->certificate && port ? CONN_HANDSHAKE : CONN_HEAD);
	if (loop_add(&s->loop, &c->source, fd, EPOLLIN | EPOLLRDHUP,
		     conn_on_ready, c, &err) < 0)
		conn_close(c);
}

/* ---- time ---- */

static bool
conn_is_late(const struct conn *c, uint64_t now_us)
{
	uint64_t step = now_us - c->step_us, still = now_us - c->progress_us;

	switch (c->step) {
	case CONN_HANDSHAKE:
		return step > HEAD_US;
	case CONN_HEAD:
		return step > (c->in.len ? HEAD_US : IDLE_US);
	case CONN_BODY:
		return still > HEAD_US || step > BODY_US;
	case CONN_ANSWER:
		return c->has_unsent && still > STALL_US;
	case CONN_LINGER:
		return step > LINGER_US;
	}
	return true;
}

void
conn_watch(struct conn *c, uint64_t now_us)
{
	if (conn_is_late(c, now_us)) {
		conn_close(c);
		return;
	}
	if (c->step == CONN_ANSWER) {
		exchange_keep_alive(c->x, SILENCE_US);
		conn_progress(c);
	}
}
