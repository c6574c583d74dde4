#include "proxy/relay.h"

#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/gate.h"

#define HEAD_TIMEOUT_US	   (10 * 1000000ull)
#define RESOLVE_TIMEOUT_US (30 * 1000000ull)
#define CONNECT_TIMEOUT_US (10 * 1000000ull)
#define IDLE_TIMEOUT_US	   (300 * 1000000ull)
/* A prompt waits at most this long. The clock of the run has stopped it before
   (tool_wait). */
#define PROMPT_TIMEOUT_US (3600 * 1000000ull)

/* The kernel doubles these values. The second is for flows with a pipe. */
#define SOCKET_BYTES	  (64 * 1024)
#define SOCKET_PIPE_BYTES (1024 * 1024)

/* Limit what the kernel buffers for a connection. If this fails, the kernel's
   own limits apply. Call it only when the connection exists: before, SO_RCVBUF
   would also limit the window that the other side is ever offered. */
static void
set_buffer(int fd, int which, int bytes)
{
	setsockopt(fd, SOL_SOCKET, which, &bytes, sizeof(bytes));
}

static void
set_buffers(int fd)
{
	set_buffer(fd, SO_RCVBUF, SOCKET_BYTES);
	set_buffer(fd, SO_SNDBUF, SOCKET_BYTES);
}

static void
set_no_delay(int fd)
{
	int yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* ---- the end ---- */

static void
close_peer(struct relay *r)
{
	tls_free(take_ptr(&r->peer_tls));
	loop_remove(&r->gate->loop, &r->on_peer);
	own_fd_close(&r->peer);
	r->peer = -1;
}

/*
 * A connection that is cut must not look complete to the other side: with this
 * option a socket resets when it is closed, even by the death of this process
 * (socket(7)).
 */
static void
reset_at_close(int fd, bool yes)
{
	struct linger l = { .l_onoff = yes };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

void
relay_cut(struct relay *r)
{
	loop_set_timer(&r->gate->loop, &r->timer, 0);
	loop_remove(&r->gate->loop, &r->on_code);
	close_peer(r);
	tls_free(take_ptr(&r->code_tls));
	own_fd_close(&r->code);
	r->code = -1;
	r->gate->piped_count -=
		(size_t)flow_is_piped(&r->out) + (size_t)flow_is_piped(&r->in);
	flow_close(&r->out);
	flow_close(&r->in);
	r->state = RELAY_FREE;
	r->gate->relay_count--;
	gate_resume_accepting(r->gate);
}

/* Ends a relay whose two sides have sent everything. */
void
relay_end(struct relay *r)
{
	reset_at_close(r->code, false);
	if (r->peer >= 0)
		reset_at_close(r->peer, false);
	relay_cut(r);
}

void
relay_refuse(struct relay *r, enum ledger_why why)
{
	ledger_note(r->gate->ledger, r->host, r->port, why);
	relay_cut(r);
}

static void connect_next(struct relay *r);

static void
on_timer(void *owner)
{
	struct relay *r = owner;

	if (r->state == RELAY_HEAD)
		relay_refuse(r, LEDGER_OTHER_NAME);
	else if (r->state == RELAY_PENDING)
		relay_refuse(r, LEDGER_NOT_NAMED);
	else if (r->state == RELAY_OPEN)
		relay_cut(r);
	else if (r->state == RELAY_CONNECTING)
		connect_next(r);
	else
		relay_refuse(r, LEDGER_UNREACHABLE);
}

static void
relay_set_timeout(struct relay *r, uint64_t us)
{
	loop_set_timer(&r->gate->loop, &r->timer, loop_now_us() + us);
}

/* ---- bytes ---- */

static void on_code(void *owner, uint32_t events);
static void on_peer(void *owner, uint32_t events);

/* Remove a source that waits for nothing: otherwise epoll would report hang-ups
   for ever. */
static int
relay_want(struct relay *r, struct source *s, int fd, uint32_t events,
	   void (*ready)(void *owner, uint32_t events))
{
	struct remit_error err;

	if (!events) {
		loop_remove(&r->gate->loop, s);
		return 0;
	}
	if (s->fd < 0)
		return loop_add(&r->gate->loop, s, fd, events, ready, r, &err);
	loop_want(&r->gate->loop, s, events);
	return 0;
}

static struct flow_end
code_end(const struct relay *r)
{
	return (struct flow_end){ r->code, r->code_tls };
}

static struct flow_end
peer_end(const struct relay *r)
{
	return (struct flow_end){ r->peer, r->peer_tls };
}

/* TLS may have read bytes that no event will report: then wait until the target
   can be written. */
static uint32_t
wanted_events(const struct flow *from, const struct flow *to,
	      const struct tls *other)
{
	bool more = to->len || (other && !to->ended && tls_has_more(other));

	return (!from->ended && flow_has_space(from) ? (uint32_t)EPOLLIN : 0) |
	       (more ? (uint32_t)EPOLLOUT : 0);
}

/* Few connections carry much data, and only those get large buffers. */
static void
relay_widen(struct relay *r, struct flow *f, int from, int to)
{
	bool looked_at = r->tls_end || (r->is_single && f == &r->out);

	if (looked_at || !flow_is_full(f) ||
	    r->gate->piped_count == RELAYS_PIPED || flow_pipe(f) < 0)
		return;
	r->gate->piped_count++;
	set_buffer(from, SO_RCVBUF, SOCKET_PIPE_BYTES);
	set_buffer(to, SO_SNDBUF, SOCKET_PIPE_BYTES);
}

static int
relay_carry(struct relay *r)
{
	struct ledger *l = r->gate->ledger;
	size_t sent = r->out.len, received = r->in.len, given;

	if (flow_pull(&r->out, code_end(r), FLOW_BYTES) < 0 ||
	    flow_pull(&r->in, peer_end(r), FLOW_BYTES) < 0)
		return -1;
	received = r->in.len - received;
	if (admission_account(r, r->out.len - sent, received) < 0)
		return -1;
	/* Count this before the code gets it, even if the code and this process
	   end at once. */
	ledger_received(l, r->row, received);
	if (flow_push(&r->out, peer_end(r), &sent) < 0)
		return -1;
	ledger_sent(l, r->row, sent);
	if (flow_push(&r->in, code_end(r), &given) < 0)
		return -1;
	relay_widen(r, &r->out, r->code, r->peer);
	relay_widen(r, &r->in, r->peer, r->code);
	if (relay_want(r, &r->on_code, r->code,
		       wanted_events(&r->out, &r->in, r->peer_tls),
		       on_code) < 0)
		return -1;
	return relay_want(r, &r->on_peer, r->peer,
			  wanted_events(&r->in, &r->out, r->code_tls), on_peer);
}

static void
relay_continue(struct relay *r)
{
	if (relay_carry(r) < 0)
		relay_cut(r);
	else if (r->out.closed && r->in.closed)
		relay_end(r);
	else
		relay_set_timeout(r, IDLE_TIMEOUT_US);
}

/* ---- connecting ---- */

/* Whether this machine has the address: only then can a socket be bound to it.
   (If ip_nonlocal_bind is on, bind always succeeds, and every address is
   refused.) */
static bool
is_local_address(const struct address *a)
{
	own_fd int fd = socket(a->is_v6 ? AF_INET6 : AF_INET,
			       SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage s;
	socklen_t len = address_socket(a, 0, &s);

	return fd < 0 || bind(fd, (void *)&s, len) == 0 ||
	       errno != EADDRNOTAVAIL;
}

/* Check every address of the name, not only the first. */
static enum ledger_why
check_targets(const struct relay *r)
{
	for (size_t i = 0; i < r->targets.count; i++) {
		const struct address *a = &r->targets.rows[i];
		enum address_class class = address_class(a);

		if (class == ADDRESS_NEVER)
			return LEDGER_NEVER;
		if (!r->rule->may_be_private &&
		    (class == ADDRESS_PRIVATE || is_local_address(a)))
			return LEDGER_NOT_PUBLIC;
		if (r->credential && !r->tls_end && class == ADDRESS_PUBLIC)
			return LEDGER_IN_CLEAR;
	}
	return LEDGER_LET_THROUGH;
}

static int
start_connect(struct relay *r)
{
	const struct address *a = &r->targets.rows[r->tried++];
	struct sockaddr_storage to;
	socklen_t len = address_socket(a, r->port, &to);

	r->peer = socket(a->is_v6 ? AF_INET6 : AF_INET,
			 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->peer < 0)
		return -1;
	set_no_delay(r->peer);
	reset_at_close(r->peer, true);
	if (connect(r->peer, (void *)&to, len) < 0 && errno != EINPROGRESS)
		return -1;
	return relay_want(r, &r->on_peer, r->peer, EPOLLOUT, on_peer);
}

static void
connect_next(struct relay *r)
{
	r->state = RELAY_CONNECTING;
	close_peer(r);
	while (r->tried < r->targets.count) {
		if (start_connect(r) == 0) {
			relay_set_timeout(r, CONNECT_TIMEOUT_US);
			return;
		}
		close_peer(r);
	}
	relay_refuse(r, LEDGER_UNREACHABLE);
}

static void
relay_open(struct relay *r)
{
	r->state = RELAY_OPEN;
	r->row = ledger_note(r->gate->ledger, r->host, r->port,
			     LEDGER_LET_THROUGH);
	relay_continue(r);
}

/* Nothing is sent to a host that has not proved its identity, and none of its
   other addresses is tried. */
static void
continue_handshake(struct relay *r)
{
	if (tls_handshake(r->peer_tls) == 0)
		relay_open(r);
	else if (errno != EAGAIN)
		relay_refuse(r, LEDGER_NOT_PROVEN);
	else if (relay_want(r, &r->on_peer, r->peer, EPOLLIN, on_peer) < 0)
		relay_cut(r);
}

static void
begin_handshake(struct relay *r)
{
	r->state = RELAY_HANDSHAKE;
	r->peer_tls = tls_to_host(&r->gate->ends->to_host, r->peer, r->host);
	relay_set_timeout(r, CONNECT_TIMEOUT_US);
	if (r->peer_tls)
		continue_handshake(r);
	else
		relay_cut(r);
}

static void
on_peer(void *owner, uint32_t events)
{
	struct relay *r = owner;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)events;
	if (r->state == RELAY_OPEN) {
		relay_continue(r);
		return;
	}
	if (r->state == RELAY_HANDSHAKE) {
		continue_handshake(r);
		return;
	}
	if (getsockopt(r->peer, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ||
	    error) {
		connect_next(r);
		return;
	}
	set_buffers(r->peer);
	if (r->tls_end)
		begin_handshake(r);
	else
		relay_open(r);
}

/* ---- resolving ---- */

static void
connect_to_name(struct relay *r)
{
	enum ledger_why why;

	if (r->name->state == NAME_LOST) {
		relay_refuse(r, LEDGER_UNREACHABLE);
		return;
	}
	r->targets = r->name->addresses;
	why = check_targets(r);
	if (why == LEDGER_LET_THROUGH)
		connect_next(r);
	else
		relay_refuse(r, why);
}

/* An entry that names an address allows it even if it is private, unless the
   entry has the word public. Without an entry the address must be public. */
static void
connect_to_address(struct relay *r)
{
	enum ledger_why why = r->rule == &r->any_rule || r->rule->must_be_public
				      ? check_targets(r)
				      : LEDGER_LET_THROUGH;

	if (why == LEDGER_LET_THROUGH)
		connect_next(r);
	else
		relay_refuse(r, why);
}

void
relay_resolve(struct relay *r)
{
	struct name *n = r->name;

	r->state = RELAY_RESOLVING;
	/* Read nothing more from the code until the host can receive it. */
	loop_remove(&r->gate->loop, &r->on_code);
	if (!n) {
		connect_to_address(r);
		return;
	}
	relay_set_timeout(r, RESOLVE_TIMEOUT_US);
	if (n->state == NAME_PENDING)
		return;
	if (n->state == NAME_NEW || loop_now_us() >= n->until_us)
		lookup_start(r->gate, n);
	else
		connect_to_name(r);
}

void
relays_wake(struct gate *g, struct name *n)
{
	for (int i = 0; i < RELAYS_MAX; i++)
		if (g->relays[i].state == RELAY_RESOLVING &&
		    g->relays[i].name == n)
			connect_to_name(&g->relays[i]);
}

/* ---- the beginning ---- */

static void
on_code(void *owner, uint32_t events)
{
	struct relay *r = owner;

	(void)events;
	if (r->state == RELAY_HEAD)
		admission_continue(r);
	else
		relay_continue(r);
}

static struct relay *
acquire_relay(struct gate *g)
{
	for (int i = 0; i < RELAYS_MAX; i++)
		if (g->relays[i].state == RELAY_FREE) {
			g->relay_count++;
			return &g->relays[i];
		}
	abort(); /* the gate keeps count, so one must be free */
}

/* Initialise a relay when it is used and not before: an idle proxy should touch
   little memory. */
static void
relay_init(struct relay *r, struct gate *g, int fd)
{
	r->gate = g;
	r->code = fd;
	r->peer = -1;
	r->on_code = r->on_peer = (struct source)SOURCE_INIT;
	r->timer = (struct timer){ .ring = on_timer, .owner = r };
	r->state = RELAY_HEAD;
	r->rule = NULL;
	r->row = NULL;
	r->is_allowed = r->is_explicit = r->is_single = false;
	r->credential = NULL;
	r->tls_end = NULL;
	r->code_tls = r->peer_tls = NULL;
	r->tried = 0;
	flow_open(&r->out);
	flow_open(&r->in);
}

void
relay_begin(struct gate *g, int fd)
{
	struct relay *r = acquire_relay(g);

	relay_init(r, g, fd);
	set_buffers(fd);
	set_no_delay(fd);
	reset_at_close(fd, true);
	admission_start(r);
}

void
relay_await_head(struct relay *r)
{
	if (relay_want(r, &r->on_code, r->code, EPOLLIN, on_code) < 0)
		relay_cut(r);
	else
		relay_set_timeout(r, HEAD_TIMEOUT_US);
}

int
relay_read_head(struct relay *r)
{
	if (r->code_tls && !tls_is_established(r->code_tls) &&
	    tls_handshake(r->code_tls) < 0)
		return errno == EAGAIN ? 0 : -1;
	return flow_pull(&r->out, code_end(r), HEAD_MAX);
}

int
relay_end_tls(struct relay *r)
{
	r->code_tls = tls_to_code(&r->tls_end->to_code, r->code, r->out.data,
				  r->out.len);
	flow_open(&r->out);
	return r->code_tls ? 0 : -1;
}

void
relay_suspend(struct relay *r)
{
	r->state = RELAY_PENDING;
	loop_remove(&r->gate->loop, &r->on_code);
	relay_set_timeout(r, PROMPT_TIMEOUT_US);
}
