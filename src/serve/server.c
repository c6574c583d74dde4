#include "serve/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "serve/compat/foreign.h"
#include "serve/exchange_part.h"
#include "serve/request_log.h"

/* How many connections are accepted in a row: existing ones are served before
   they could be closed for newer ones. */
#define ACCEPTS_MAX 64
/* How long running requests may take after SIGTERM. */
#define DRAIN_US  (30 * UINT64_C(1000000))
#define SECOND_US UINT64_C(1000000)

/* ---- threads ---- */

int
server_start_thread(struct server *s, void *(*work)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int failed;

	pthread_mutex_lock(&s->lock);
	s->threads++;
	pthread_mutex_unlock(&s->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attr, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		return 0;
	server_thread_ended(s);
	return -1;
}

void
server_thread_ended(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->threads--;
	pthread_cond_broadcast(&s->thread_ended);
	pthread_mutex_unlock(&s->lock);
}

static void
wait_for_threads(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->threads)
		pthread_cond_wait(&s->thread_ended, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

bool
server_is_http_thread(const struct server *s)
{
	return pthread_equal(s->thread, pthread_self());
}

void
server_notify(struct exchange *x)
{
	struct server *s = x->server;
	uint64_t one = 1;
	bool is_first;

	exchange_ref(x);
	pthread_mutex_lock(&s->lock);
	is_first = !x->is_pending;
	if (is_first) {
		x->is_pending = true;
		x->next_pending = s->pending;
		s->pending = x;
	}
	pthread_mutex_unlock(&s->lock);
	if (!is_first) {
		exchange_unref(x);
		return;
	}
	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		return; /* cannot fail: a full counter is readable */
}

static struct exchange *
pop_pending(struct server *s)
{
	struct exchange *x;

	pthread_mutex_lock(&s->lock);
	x = s->pending;
	if (x) {
		s->pending = x->next_pending;
		x->is_pending = false;
	}
	pthread_mutex_unlock(&s->lock);
	return x;
}

static void
server_on_wake(void *owner, uint32_t events)
{
	struct server *s = owner;
	struct exchange *x;
	uint64_t n;

	(void)events;
	if (read(s->wake_fd, &n, sizeof(n)) < 0)
		return; /* already handled */
	while ((x = pop_pending(s))) {
		if (x->conn)
			conn_progress(x->conn);
		exchange_unref(x);
	}
}

/* ---- memory ---- */

const struct body_refusal server_body_refusals[] = {
	[BODY_OVER_SHARE] = { 429, "the request bodies of this key exceed "
				   "their limit" },
	[BODY_OVER_ALL] = { 503, "the server has too many request bodies in "
				 "memory: try again later" },
};

enum body_space
server_charge_body(struct exchange *x, size_t bytes)
{
	struct server *s = x->server;
	uint64_t most = s->limits.body_bytes, own = 0;
	uint64_t all =
		__atomic_add_fetch(&s->body_bytes, bytes, __ATOMIC_RELAXED);

	if (x->payer)
		own = __atomic_add_fetch(&x->payer->body_bytes, bytes,
					 __ATOMIC_RELAXED);
	if (all > most)
		return BODY_OVER_ALL;
	return own > serve_limits_share(most, s->key_share) ? BODY_OVER_SHARE
							    : BODY_FITS;
}

void
server_refund_body(struct exchange *x, size_t bytes)
{
	__atomic_sub_fetch(&x->server->body_bytes, bytes, __ATOMIC_RELAXED);
	if (x->payer)
		__atomic_sub_fetch(&x->payer->body_bytes, bytes,
				   __ATOMIC_RELAXED);
}

/* ---- time ---- */

static void
close_idle(struct server *s)
{
	struct conn *next;

	for (struct conn *c = s->conns; c; c = next) {
		next = c->next;
		if (conn_is_idle(c))
			conn_close(c);
	}
}

/* Several of these may run at a time: each snapshot is removed by one. */
static void *
sweep_snapshots(void *server)
{
	struct server *s = server;

	snapshot_store_sweep(s->snapshots);
	server_thread_ended(s);
	return NULL;
}

static void
server_on_second(void *owner)
{
	struct server *s = owner;
	uint64_t now = loop_now_us();
	struct conn *next;

	for (struct conn *c = s->conns; c; c = next) {
		next = c->next;
		conn_watch(c, now);
	}
	hosted_table_sweep(s->hosted_table);
	foreign_tick(s);
	if (s->snapshots && snapshot_store_has_expired(s->snapshots))
		/* If no thread can be started, the next second tries again. */
		(void)!server_start_thread(s, sweep_snapshots, s);
	request_log_report(&s->log, s->log_fd, false);
	for (size_t i = 0; i < s->listener_count; i++)
		loop_want(&s->loop, &s->listeners[i].source, EPOLLIN);
	if (s->is_draining) {
		close_idle(s);
		s->loop.stop = !s->conns || now >= s->drain_until_us;
	}
	loop_set_timer(&s->loop, &s->second, now + SECOND_US);
}

/* Stops accepting connections and requests; running ones may continue for a
   while. */
static void
server_on_signal(void *owner, uint32_t events)
{
	struct server *s = owner;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signal_fd, &info, sizeof(info)) < 0)
		return;
	if (info.ssi_signo == SIGHUP) {
		s->reload(s->reload_owner);
		return;
	}
	if (s->is_draining) { /* a second signal ends at once */
		s->loop.stop = true;
		return;
	}
	s->is_draining = true;
	s->drain_until_us = loop_now_us() + DRAIN_US;
	server_stop_listening(s);
	close_idle(s);
	s->loop.stop = !s->conns;
}

/* ---- opening ---- */

static int
open_signals(struct server *s, struct remit_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (s->reload)
		sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return fail(err, REMIT_E_KERNEL, "sigmask");
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "signalfd");
	return loop_add(&s->loop, &s->signals, s->signal_fd, EPOLLIN,
			server_on_signal, s, err);
}

/* Each run needs several descriptors, each connection one: if descriptors are
   few, half of them are left for runs. */
static void
raise_open_files(struct server *s)
{
	struct rlimit most;

	s->conns_max = s->limits.connections;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
		if (s->conns_max > most.rlim_cur / 2)
			s->conns_max = most.rlim_cur / 2;
	}
}

/* Headers of clients and the certificate's key are in memory and must not end
   up in a core file. One byte, not zero: with a pipe in core_pattern, a limit
   of zero still starts the core handler. */
static int
forbid_core_dumps(struct remit_error *err)
{
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core) == 0) {
		core.rlim_cur = core.rlim_max ? 1 : 0;
		if (setrlimit(RLIMIT_CORE, &core) == 0)
			return 0;
	}
	return fail_sys(err, REMIT_E_KERNEL, "RLIMIT_CORE");
}

int
server_open(struct server *s, struct remit_error *err)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->commands_lock, NULL);
	pthread_cond_init(&s->thread_ended, NULL);
	s->signals = (struct source)SOURCE_INIT;
	s->wake = (struct source)SOURCE_INIT;
	s->signal_fd = -1;
	raise_open_files(s);
	metrics_open(&s->metrics);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "eventfd");
	if (forbid_core_dumps(err) < 0 || loop_open(&s->loop, err) < 0 ||
	    open_signals(s, err) < 0 ||
	    loop_add(&s->loop, &s->wake, s->wake_fd, EPOLLIN, server_on_wake, s,
		     err) < 0)
		return -1;
	s->second.ring = server_on_second;
	s->second.owner = s;
	return 0;
}

void
server_add_routes(struct server *s, struct route_table *table)
{
	table->next = s->tables;
	s->tables = table;
}

/* ---- connections ---- */

/* Which connections may be closed for newer ones: first (3, 2) those without a
   key, then (1) idle ones and those after their last reply. 0: never. */
static int
is_expendable(const struct conn *c)
{
	if (!c->key)
		return c->step == CONN_ANSWER ? 2 : 3;
	return conn_is_idle(c) || c->step == CONN_LINGER ? 1 : 0;
}

/* Closes the connections of the key with the most connections first, and of
   these the oldest. */
static bool
evicts_before(const struct conn *a, const struct conn *b)
{
	int x = is_expendable(a), y = is_expendable(b);

	if (x != y)
		return x > y;
	if (a->key && a->key->conns != b->key->conns)
		return a->key->conns > b->key->conns;
	return a->step_us < b->step_us;
}

/* Returns NULL if all are in use. */
static struct conn *
find_expendable(const struct server *s)
{
	struct conn *found = NULL;

	for (struct conn *c = s->conns; c; c = c->next)
		if (is_expendable(c) && (!found || evicts_before(c, found)))
			found = c;
	return found;
}

static bool
server_evict(struct server *s)
{
	struct conn *c = find_expendable(s);

	if (c)
		conn_close(c);
	return c;
}

bool
server_evict_for_key(const struct conn *kept)
{
	struct conn *found = NULL;

	for (struct conn *c = kept->server->conns; c; c = c->next)
		if (c != kept && c->key == kept->key && is_expendable(c) &&
		    (!found || evicts_before(c, found)))
			found = c;
	if (found)
		conn_close(found);
	return found;
}

/* Returns -1 if no connection can be accepted for now. */
static int
accept_one(struct listener *l)
{
	struct server *s = l->server;
	bool is_full = s->conn_count >= s->conns_max;
	int fd;

	if (is_full && !find_expendable(s)) {
		errno = EMFILE;
		return -1;
	}
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE) && server_evict(s))
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -1;
	if (is_full)
		server_evict(s);
	conn_open(s, fd, l->port);
	return 0;
}

static void
server_on_client(void *owner, uint32_t events)
{
	struct listener *l = owner;

	(void)events;
	for (int i = 0; i < ACCEPTS_MAX; i++)
		if (accept_one(l) < 0) {
			/* A full server accepts again after the next
			   server_on_second(). */
			if (errno == EMFILE || errno == ENFILE ||
			    errno == ENOBUFS || errno == ENOMEM)
				loop_want(&l->server->loop, &l->source, 0);
			return;
		}
}

int
server_run(struct server *s, struct remit_error *err)
{
	int failed;

	for (size_t i = 0; i < s->listener_count; i++) {
		struct listener *l = &s->listeners[i];

		if (loop_add(&s->loop, &l->source, l->fd, EPOLLIN,
			     server_on_client, l, err) < 0)
			return -1;
	}
	s->thread = pthread_self();
	loop_set_timer(&s->loop, &s->second, loop_now_us() + SECOND_US);
	failed = loop_run(&s->loop, err);
	/* Workers may be blocked on slow clients: wakes them. */
	while (s->conns)
		conn_close(s->conns);
	request_log_report(&s->log, s->log_fd, true);
	return failed;
}

void
server_free(struct server *s)
{
	struct exchange *x;

	wait_for_threads(s);
	while ((x = pop_pending(s)))
		exchange_unref(x);
	server_stop_listening(s);
	own_fd_close(&s->signal_fd);
	own_fd_close(&s->wake_fd);
	loop_free(&s->loop);
	list_free(&s->hosts);
	list_free(&s->origins);
	metrics_free(&s->metrics);
	pthread_cond_destroy(&s->thread_ended);
	pthread_mutex_destroy(&s->commands_lock);
	pthread_mutex_destroy(&s->lock);
}

/* ---- one exchange ---- */

void
server_exchange_begun(struct exchange *x)
{
	metrics_begin(&x->server->metrics);
}

void
server_exchange_done(struct exchange *x)
{
	struct server *s = x->server;

	metrics_end(&s->metrics, x);
	request_log_add(&s->log, s->log_fd, x);
}

int
server_check_limits(const struct server *s, const struct key *k,
		    uint64_t memory_bytes, struct remit_error *err)
{
	return hosted_table_check_share(s->hosted_table, k->name, 1,
					memory_bytes, err);
}
