/*
 * server: the HTTP API: sockets, connections, and who may ask for what.
 *
 * One thread, which runs server_run(); workers of hosted sessions tell it when
 * there is something to send.
 */
#ifndef REMIT_SERVER_H
#define REMIT_SERVER_H

#include "base/list.h"
#include "hosted/hosted.h"
#include "serve/auth/keys.h"
#include "serve/conn.h"
#include "serve/limits.h"
#include "serve/metrics.h"
#include "serve/request_log.h"

#define SERVER_LISTENERS_MAX 8

struct listener {
	struct server *server;
	struct source source;
	int fd;
	uint16_t port;	  /* 0: a unix socket */
	const char *path; /* of one, which goes with it; the caller's */
};

struct server {
	/* ---- set by whoever opens it ---- */
	struct hosted_table *hosted_table;
	struct remit *remit;
	struct artifact_store *artifacts;
	struct keys *keys;
	struct e2b *e2b;
	struct list hosts;   /* further names this server goes by */
	struct list origins; /* of other pages that may ask */
	int log_fd;	     /* -1: no log */
	struct serve_limits limits;
	unsigned key_share; /* in percent; 100 if there is a single key */
	struct mcp_http *mcp;
	struct certificate *certificate; /* NULL: no TLS at ports */
	/* At SIGHUP, by the thread of HTTP. NULL: that ends the process. */
	void (*reload)(void *owner);
	void *reload_owner;

	/* ---- its own ---- */
	struct loop loop;
	struct route_table *tables;
	struct listener listeners[SERVER_LISTENERS_MAX];
	size_t listener_count;
	struct conn *conns;
	size_t conn_count, conns_max;
	pthread_t thread; /* of HTTP */
	bool is_draining;
	uint64_t drain_until_us;
	struct timer second;
	struct source signals;
	int signal_fd;
	struct metrics metrics;
	struct request_log log;
	/* Other threads, and news from them. */
	pthread_mutex_t lock;
	pthread_cond_t thread_ended;
	unsigned threads;
	struct exchange *pending;
	struct source wake;
	int wake_fd;
	size_t body_bytes; /* of all exchanges; atomic */
};

/* After the members above are set. */
int server_open(struct server *s, struct remit_error *err) must_check;
/* The table is the caller's; it is asked before those that hang already. */
void server_add_routes(struct server *s, struct route_table *table);
/* "127.0.0.1:8000", "[::1]:0" or "unix:/path"; *port is the real one. The
   text is the caller's for as long as the server lives. */
int server_listen(struct server *s, const char *address, uint16_t *port,
		  struct remit_error *err) must_check;
void server_stop_listening(struct server *s);
/* Until SIGTERM or SIGINT, and until what runs then is done, or is late. No
   connection is left. */
int server_run(struct server *s, struct remit_error *err) must_check;
/* When no worker lives any more. */
void server_free(struct server *s);

/* -1: it is no address. */
int server_check_address(const char *address,
			 struct remit_error *err) must_check;
/* Whether an address (as for server_listen()) can be reached from this machine
   only. */
bool server_is_local(const char *address);

/* Whether a key may have one more session or run of so much memory. */
int server_check_limits(const struct server *s, const struct key *k,
			uint64_t memory_bytes,
			struct remit_error *err) must_check;

/* ---- for conn.c ---- */

/* Who may ask what, before the body is read. -1: the reply is there. */
int server_accept_head(struct exchange *x) must_check;
/* The body is there. -1: the reply is there. */
int server_accept_body(struct exchange *x) must_check;
/* Close another connection of the same key that is not in use. False: there is
   none. */
bool server_evict_for_key(const struct conn *kept);
void server_exchange_begun(struct exchange *x);
/* The reply is sent, or nobody waits for it any more. */
void server_exchange_done(struct exchange *x);

#endif
