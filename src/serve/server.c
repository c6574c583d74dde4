#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "e2b.h"
#include "exchange_part.h"
#include "request_log.h"

/* Connections at once; more wait in the kernel. */
#define CONNS_MAX 1024
/* Bytes of bodies at once. */
#define BODIES_MAX ((size_t)256 * 1024 * 1024)
/* How long what runs may go on after SIGTERM. */
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
server_is_here(const struct server *s)
{
	return pthread_equal(s->thread, pthread_self());
}

void
server_tell(struct exchange *x)
{
	struct server *s = x->server;
	uint64_t one = 1;
	bool is_new;

	exchange_hold(x);
	pthread_mutex_lock(&s->lock);
	is_new = !x->has_news;
	if (is_new) {
		x->has_news = true;
		x->next_news = s->news;
		s->news = x;
	}
	pthread_mutex_unlock(&s->lock);
	if (!is_new) {
		exchange_put(x);
		return;
	}
	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

static struct exchange *
take_news(struct server *s)
{
	struct exchange *x;

	pthread_mutex_lock(&s->lock);
	x = s->news;
	if (x) {
		s->news = x->next_news;
		x->has_news = false;
	}
	pthread_mutex_unlock(&s->lock);
	return x;
}

static void
on_wake(void *owner, uint32_t events)
{
	struct server *s = owner;
	struct exchange *x;
	uint64_t n;

	(void)events;
	if (read(s->wake_fd, &n, sizeof(n)) < 0)
		return; /* another round has taken it */
	while ((x = take_news(s))) {
		if (x->conn)
			conn_progress(x->conn);
		exchange_put(x);
	}
}

/* ---- memory ---- */

bool
server_has_room(struct server *s, size_t bytes)
{
	return __atomic_add_fetch(&s->body_bytes, bytes, __ATOMIC_RELAXED) <=
	       BODIES_MAX;
}

void
server_give_back(struct server *s, size_t bytes)
{
	__atomic_sub_fetch(&s->body_bytes, bytes, __ATOMIC_RELAXED);
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

static void
on_second(void *owner)
{
	struct server *s = owner;
	uint64_t now = loop_now_us();
	struct conn *next;

	for (struct conn *c = s->conns; c; c = next) {
		next = c->next;
		conn_watch(c, now);
	}
	rooms_sweep(s->rooms);
	e2b_look(s);
	for (size_t i = 0; i < s->listener_count; i++)
		loop_want(&s->loop, &s->listeners[i].source, EPOLLIN);
	if (s->is_draining) {
		close_idle(s);
		s->loop.stop = !s->conns || now >= s->drain_until_us;
	}
	loop_set_timer(&s->loop, &s->second, now + SECOND_US);
}

/* No new connections and requests; what runs goes on for a while. */
static void
on_signal(void *owner, uint32_t events)
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
	if (s->is_draining) { /* the second time: now */
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
	return loop_add(&s->loop, &s->signals, s->signal_fd, EPOLLIN, on_signal,
			s, err);
}

/* Each run has several descriptors, each connection one. */
static void
raise_files(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
}

/* Headers that clients give and the key to the certificate are in memory, and
   in no file. One byte: with none the kernel still starts who takes cores. */
static int
leave_no_core(struct remit_error *err)
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
	pthread_cond_init(&s->thread_ended, NULL);
	s->signals = (struct source)SOURCE_INIT;
	s->wake = (struct source)SOURCE_INIT;
	s->signal_fd = -1;
	raise_files();
	metrics_open(&s->metrics);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "eventfd");
	if (leave_no_core(err) < 0 || loop_open(&s->loop, err) < 0 ||
	    open_signals(s, err) < 0 ||
	    loop_add(&s->loop, &s->wake, s->wake_fd, EPOLLIN, on_wake, s, err) <
		    0)
		return -1;
	s->second.ring = on_second;
	s->second.owner = s;
	return 0;
}

void
server_hang(struct server *s, struct route_table *table)
{
	table->next = s->tables;
	s->tables = table;
}

static void
on_client(void *owner, uint32_t events)
{
	struct listener *l = owner;
	struct server *s = l->server;
	int fd;

	(void)events;
	while (s->conn_count < CONNS_MAX &&
	       (fd = accept4(l->fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		conn_open(s, fd, l->port);
	/* A full server looks again when a second has passed. */
	if (s->conn_count >= CONNS_MAX)
		loop_want(&s->loop, &l->source, 0);
}

int
server_run(struct server *s, struct remit_error *err)
{
	int failed;

	for (size_t i = 0; i < s->listener_count; i++) {
		struct listener *l = &s->listeners[i];

		if (loop_add(&s->loop, &l->source, l->fd, EPOLLIN, on_client, l,
			     err) < 0)
			return -1;
	}
	s->thread = pthread_self();
	loop_set_timer(&s->loop, &s->second, loop_now_us() + SECOND_US);
	failed = loop_run(&s->loop, err);
	/* Workers may wait for their clients: now they are gone. */
	while (s->conns)
		conn_close(s->conns);
	return failed;
}

void
server_free(struct server *s)
{
	struct exchange *x;

	wait_for_threads(s);
	while ((x = take_news(s)))
		exchange_put(x);
	server_stop_listening(s);
	own_fd_close(&s->signal_fd);
	own_fd_close(&s->wake_fd);
	loop_free(&s->loop);
	list_free(&s->hosts);
	list_free(&s->origins);
	metrics_free(&s->metrics);
	pthread_cond_destroy(&s->thread_ended);
	pthread_mutex_destroy(&s->lock);
}

/* ---- one exchange ---- */

void
server_begun(struct exchange *x)
{
	metrics_begin(&x->server->metrics);
}

void
server_done(struct exchange *x)
{
	struct server *s = x->server;

	metrics_end(&s->metrics, x);
	request_log_add(s->log_fd, x);
}

int
server_check_limits(const struct server *s, const struct key *k,
		    uint64_t memory_bytes, struct remit_error *err)
{
	if (rooms_count(s->rooms, k->name) >= k->concurrency)
		return fail(err, REMIT_E_BUSY,
			    "this key has %llu sessions and runs at once at "
			    "most",
			    (unsigned long long)k->concurrency);
	if (k->memory_bytes != POLICY_UNLIMITED &&
	    rooms_memory(s->rooms, k->name) + memory_bytes > k->memory_bytes)
		return fail(err, REMIT_E_BUSY,
			    "this key's sessions and runs have %llu bytes of "
			    "memory together at most",
			    (unsigned long long)k->memory_bytes);
	return 0;
}
