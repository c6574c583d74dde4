#include "serve/conn.h"

#include <string.h>
#include <sys/socket.h>

#include "http/certificate.h"
#include "http/tls.h"
#include "serve/exchange_part.h"
#include "serve/port_relay.h"
#include "serve/server.h"

#define READ_BYTES ((size_t)64 * 1024)
/* How much input is discarded after the last reply. */
#define LINGER_BYTES ((size_t)1024 * 1024)
/* Parsing JSON of this size takes milliseconds. */
#define LONG_BODY_BYTES ((size_t)256 * 1024)
/* Sent bytes are removed from the front of the buffer when they exceed this and
   are more than half of it, because removing them moves the rest. */
#define SENT_KEPT_BYTES ((size_t)256 * 1024)

#define SECOND_US UINT64_C(1000000)
/* The time for a head from its first byte, and for the TLS handshake from the
   start of the connection. */
#define HEAD_US	   (10 * SECOND_US)
#define IDLE_US	   (75 * SECOND_US)
#define LINGER_US  (2 * SECOND_US)
#define STALL_US   (30 * SECOND_US)
#define BODY_US	   (300 * SECOND_US)
#define SILENCE_US (15 * SECOND_US)

/* ---- bytes, with TLS if there is a certificate ---- */

ssize_t
conn_send(struct conn *c, const void *bytes, size_t len)
{
	return c->tls ? tls_write(c->tls, bytes, len)
		      : send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A TLS record has at most 16 KiB. `size` is larger, so the whole record is
   returned and nothing stays buffered that epoll would not report. */
ssize_t
conn_receive(struct conn *c, void *out, size_t size)
{
	return c->tls ? tls_read(c->tls, out, size)
		      : recv(c->fd, out, size, MSG_DONTWAIT);
}

/* Replies if the first bytes are HTTP without TLS. Returns whether it did. */
static bool
conn_answers_plain_http(struct conn *c)
{
	static const char text[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: "
		"text/plain\r\nContent-Length: 42\r\nConnection: "
		"close\r\n\r\nThis port uses TLS: connect with https://\n";
	char first;

	/* A TLS record begins with 22, a request with an upper-case letter. */
	if (c->tls || recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 ||
	    first < 'A' || first > 'Z')
		return false;
	/* A new socket always has space for it. */
	return conn_send(c, text, sizeof(text) - 1) > 0;
}

/* See tls_handshake(). */
static int
conn_tls_handshake(struct conn *c)
{
	/* TLS buffers are allocated only once the client has sent something. */
	if (!c->tls) {
		c->tls = tls_to_client(&c->server->certificate->config, c->fd);
		if (!c->tls)
			return -1;
		c->certificate = certificate_ref(c->server->certificate);
	}
	return tls_handshake(c->tls);
}

/* Tells the client that the reply is complete and no more will follow. */
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

void
conn_want(struct conn *c, uint32_t events)
{
	loop_want(&c->server->loop, &c->source, events);
}

void
conn_close(struct conn *c)
{
	struct exchange *x = take_ptr(&c->x);

	port_relay_free(c->relay);
	*c->before = c->next;
	if (c->next)
		c->next->before = c->before;
	c->server->conn_count--;
	if (c->key)
		c->key->conns--;
	loop_remove(&c->server->loop, &c->source);
	/* Without close_notify the client sees that the reply is incomplete. */
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

/* Returns -1 if the client is gone. Called with the lock of the exchange
   held. */
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

/* Returns 1 when the whole reply is sent, -1 if the client is gone. */
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

void
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
	/* A pipelined request is handled in the next round of the loop, so that
	   many of them do not nest calls. */
	conn_want(c, EPOLLIN | EPOLLRDHUP | (c->in.len ? EPOLLOUT : 0));
}

/* Returns true once, after a long body has been parsed. */
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

/* Returns true once, when the connection is to be relayed. */
static bool
pop_relay(struct exchange *x, int *fd, const char *const **secrets)
{
	pthread_mutex_lock(&x->lock);
	*fd = take_fd(&x->relay_fd);
	*secrets = x->relay_secrets;
	pthread_mutex_unlock(&x->lock);
	return *fd >= 0;
}

void
conn_progress(struct conn *c)
{
	const char *const *secrets;
	int whole, fd;

	if (c->step != CONN_ANSWER)
		return;
	if (pop_relay(c->x, &fd, &secrets)) {
		conn_enter(c, CONN_RELAY);
		port_relay_begin(c, fd, secrets);
		return;
	}
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
	/* While nothing can be sent, only the client's disconnect matters;
	   requests that it sends meanwhile are read afterwards. */
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

void
conn_reply_instead(struct conn *c, int status, const char *message)
{
	reply_fail(c->x, status, "gone", "%s", message);
	conn_answer(c);
}

/* Refuses a request whose end cannot be found: the reply is the last of the
   connection. The body is freed now, since the exchange may live longer. */
static void
conn_reject(struct conn *c, int status, const char *message)
{
	exchange_drop_body(c->x);
	c->x->closes = true;
	reply_fail(c->x, status, "input", "%s", message);
	conn_answer(c);
}

/* Runs in a separate thread, because the HTTP thread must not be blocked. */
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
		conn_reject(c, 400, "the body has malformed chunks");
		return;
	case BODY_LARGE:
		conn_reject(c, 413,
			    "the body is larger than this route accepts");
		return;
	}
}

/* The client waits for this before it sends the body. If it cannot be sent at
   once, it precedes the reply. */
static void
conn_send_continue(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (exchange_header_is(c->x, "expect", "100-continue") &&
	    (exchange_interim(c->x, text) < 0 || conn_flush(c) < 0))
		c->x->closes = true;
}

/* Returns false if the key has more connections than its share. */
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
			    "the request's method or target is malformed");
		return;
	}
	memcpy(x->method, h->method.text, h->method.len);
	failed = server_accept_head(x);
	fits = conn_count_for_key(c);
	if (failed < 0) {
		/* The body of a refused request is not read. */
		x->closes |= !fits;
		conn_answer(c);
		return;
	}
	if (!fits) {
		conn_reject(c, 429, "too many connections of this key");
		return;
	}
	if (x->route->relays) {
		/* Its body is not read here. */
		x->closes = true;
		x->route->serve(x);
		conn_answer(c);
		return;
	}
	body_begin(&x->body, h->is_chunked, h->body_bytes,
		   x->route->body_max ? x->route->body_max : ROUTE_JSON_BYTES);
	conn_enter(c, CONN_BODY);
	if (x->body.step != BODY_DONE && !c->in.len)
		conn_send_continue(c);
	conn_read_body(c);
}

/* Moves the bytes of the head into a new exchange. */
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
			    "this is not a well-formed and unambiguous "
			    "HTTP/1.1 request");
		return;
	}
	buf_drop(&c->in, h->len);
	/* Parsed again: the texts must point into the exchange's copy. */
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

/* Returns false if there is no more input for now, or if the connection was
   closed. */
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

/* Reads without decryption: the TLS session is already closed. */
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
	if (c->step == CONN_RELAY) {
		port_relay_on_client(c->relay, events);
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
	case CONN_RELAY:
		return false; /* port_relay_watch() decides */
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
	if (c->step == CONN_RELAY) {
		port_relay_watch(c->relay, now_us);
		return;
	}
	if (c->step == CONN_ANSWER) {
		exchange_keep_alive(c->x, SILENCE_US);
		conn_progress(c);
	}
}
