/*
 * server: the HTTP server: its sockets, connections and threads, and what each
 * request is allowed to do.
 *
 * One thread runs server_run(), called the HTTP thread below; workers of hosted
 * sessions notify it when there is something to send.
 */
#ifndef REMIT_SERVER_H
#define REMIT_SERVER_H

#include "base/list.h"
#include "hosted/hosted.h"
#include "hosted/snapshot/store.h"
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
	const char *path; /* of a unix socket, which is removed with it; the
			     caller's */
};

/* The clients that may connect to programs that listen in sandboxes. */
enum server_ports {
	PORTS_CLOSED, /* none */
	PORTS_TOKEN,  /* clients with the sandbox's token */
	/* clients that know the sandbox's id, unless its maker wants a token */
	PORTS_PUBLIC,
};

struct server {
	/* ---- set by the caller of server_open() ---- */
	struct hosted_table *hosted_table;
	struct remit *remit;
	struct artifact_store *artifacts;
	struct snapshot_store *snapshots; /* NULL: nothing is stored */
	/* Clients that want to store memory, too, get their files stored. */
	bool stores_files_only;
	enum server_ports sandbox_ports;
	struct keys *keys;
	struct e2b *e2b;
	struct list hosts;   /* further host names of this server */
	struct list origins; /* of other pages that may send requests */
	int log_fd;	     /* -1: no log */
	struct serve_limits limits;
	unsigned key_share; /* in percent; 100 for a single key */
	struct mcp_http *mcp;
	struct certificate *certificate; /* NULL: no TLS on TCP ports */
	/* Called by the HTTP thread on SIGHUP. NULL: SIGHUP ends the
	   process. */
	void (*reload)(void *owner);
	void *reload_owner;

	/* ---- private ---- */
	struct loop loop;
	struct route_table *tables;
	struct listener listeners[SERVER_LISTENERS_MAX];
	size_t listener_count;
	struct conn *conns;
	size_t conn_count, conns_max;
	pthread_t thread; /* the HTTP thread */
	bool is_draining;
	uint64_t drain_until_us;
	struct timer second;
	struct source signals;
	int signal_fd;
	struct metrics metrics;
	struct request_log log;
	/* Other threads, and exchanges in which they have something to send. */
	pthread_mutex_t lock;
	pthread_cond_t thread_ended;
	unsigned threads;
	struct long_work *long_work; /* work that runs or waits, oldest first */
	/* Commands of all sessions, latest first, and their receivers. */
	pthread_mutex_t commands_lock;
	struct command *commands;
	struct exchange *pending;
	struct source wake;
	int wake_fd;
	size_t body_bytes; /* of all request bodies; atomic */
};

/* Call it when the members above are set. Returns -1 with an error. */
int server_open(struct server *s, struct remit_error *err) must_check;
/* Adds a table of routes, which must outlive the server. It is searched before
   those that were added earlier. */
void server_add_routes(struct server *s, struct route_table *table);
/* Listens at "127.0.0.1:8000", "[::1]:0" or "unix:/path", and sets *port to the
   actual port. `address` must outlive the server. */
int server_listen(struct server *s, const char *address, uint16_t *port,
		  struct remit_error *err) must_check;
void server_stop_listening(struct server *s);
/* Serves until SIGTERM or SIGINT, then until the running requests are done or
   the time for that is over. It closes all connections. */
int server_run(struct server *s, struct remit_error *err) must_check;
/* Call it when all workers have ended. */
void server_free(struct server *s);

/* Returns -1 with an error if it is not an address. */
int server_check_address(const char *address,
			 struct remit_error *err) must_check;
/* Whether an address (see server_listen()) is reachable from this machine
   only. */
bool server_is_local(const char *address);

/* Whether a key may have another session or run with this much memory. Returns
   -1 with an error if not. */
int server_check_limits(const struct server *s, const struct key *k,
			uint64_t memory_bytes,
			struct remit_error *err) must_check;

/* ---- for conn.c ---- */

/* Checks a request before its body is read. Returns -1 after it has sent a
   refusal. */
int server_accept_head(struct exchange *x) must_check;
/* Checks and parses the complete body. Returns -1 after it has sent a
   refusal. */
int server_accept_body(struct exchange *x) must_check;
/* Closes another connection of the same key that is not in use. Returns false
   if there is none. */
bool server_evict_for_key(const struct conn *kept);
void server_exchange_begun(struct exchange *x);
/* The reply has been sent, or the client has disconnected. */
void server_exchange_done(struct exchange *x);

#endif
