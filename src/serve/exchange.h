/*
 * exchange: one request and the reply to it.
 *
 * The HTTP thread creates it and passes it to a route's function when the
 * request is complete. A function that cannot reply at once takes a reference;
 * it may reply from any thread. The reply is exactly one of:
 *
 *	reply_json(), reply_error(), reply_bytes(), ...	complete
 *	reply_begin(), reply_piece()..., reply_end()	streamed
 *	reply_relay()					by another program
 *
 * `on_gone` is called if the client disconnects before the reply is complete.
 */
#ifndef REMIT_EXCHANGE_H
#define REMIT_EXCHANGE_H

#include <jansson.h>
#include <pthread.h>

#include "base/error.h"
#include "base/own.h"
#include "http/body.h"
#include "http/head.h"
#include "http/route.h"

struct conn;
struct key;
struct server;

#define EXCHANGE_QUERY_MAX 16

struct exchange_pair {
	char *name, *value;
};

struct exchange {
	struct server *server;
	/* ---- the request; never changed afterwards ---- */
	struct buf head; /* its bytes, including the empty line */
	struct http_head parsed;
	char method[16];
	char *path; /* still encoded, without the query */
	struct exchange_pair query[EXCHANGE_QUERY_MAX];
	bool has_bad_query; /* malformed, or with too many parameters */
	struct exchange_pair params[ROUTE_PARAMS_MAX];
	struct body body;
	json_t *json; /* for routes with BODY_JSON or BODY_MAYBE */
	const struct route *route;
	struct key *key; /* NULL: the route requires none */
	/* The key whose limits it counts against: its own key, or that of the
	   sandbox whose token it has; NULL: none. */
	struct key *payer;
	char *owner;   /* the key's name, or "" */
	uint16_t port; /* the local port; 0 for the unix socket */
	uint64_t begun_us;

	/* ---- for the HTTP thread only ---- */
	struct conn *conn;  /* NULL: disconnected, or the exchange is over */
	size_t got_bytes;   /* of the body, even if it was refused */
	size_t value_bytes; /* charged for its JSON values, in addition */
	bool is_counted;    /* counted against the per_minute of a key */

	/* ---- for all threads, protected by the lock ---- */
	pthread_mutex_t lock;
	pthread_cond_t drained;
	struct refcount refs;
	struct buf out;	   /* bytes to send */
	struct buf tail;   /* sent after `out`, without a copy */
	struct buf extras; /* further header lines of the reply */
	uint64_t sent_bytes;
	int status; /* 0: the reply has not begun */
	bool is_stream, is_chunked;
	bool is_read; /* a long body is parsed: call the route's function */
	bool is_ended;
	bool is_gone;
	bool closes;  /* the connection closes after the reply */
	int relay_fd; /* a program in a jail replies; -1: the server does */
	const char *const *relay_secrets;
	const char *keepalive; /* sent into an idle stream */
	size_t keepalive_len;
	uint64_t last_piece_us; /* when the last piece was added */
	void (*on_gone)(void *user);
	void *on_gone_user;
	void *owned; /* by the function that replies */
	void (*owned_free)(void *owned);

	/* ---- the server's list of exchanges with something to send ---- */
	struct exchange *next_pending;
	bool is_pending;
};

/* ---- the request ---- */

/* The value of a header; of several, the first. Its text is NULL if there is
   none. */
struct http_text exchange_header(const struct exchange *x, const char *name);
/* Whether the header is present and equals a word, ignoring case. */
bool exchange_header_is(const struct exchange *x, const char *name,
			const char *word);
/* A parameter from the pattern ("{id}") or from the query, decoded; NULL if it
   is missing. */
const char *exchange_param(const struct exchange *x, const char *name);
const char *exchange_query(const struct exchange *x, const char *name);

/* Whether the Content-Type is JSON, which HTML forms cannot send. */
bool exchange_is_json(const struct exchange *x);

enum body_space { BODY_FITS, BODY_OVER_SHARE, BODY_OVER_ALL };

/* The reply to a body that exceeds a limit. */
struct body_refusal {
	int status;
	const char *message;
};
extern const struct body_refusal server_body_refusals[];
/* Charges for the JSON values in the body, in addition to its bytes. */
enum body_space server_charge_values(struct exchange *x,
				     size_t values) must_check;

/* ---- lifetime ---- */

struct exchange *exchange_ref(struct exchange *x);
void exchange_unref(struct exchange *x);
/* Releases a reference after most of a long reply has been sent, or the client
   is gone; until then the reply is in memory. Not for the HTTP thread. */
void exchange_unref_sent(struct exchange *x);
/* Only waits until then. */
void exchange_wait_sent(struct exchange *x);
/* Calls gone(user) when the client disconnects before the reply is complete: in
   the HTTP thread, or immediately if it is already gone. */
void exchange_on_gone(struct exchange *x, void (*gone)(void *user), void *user);
/* Makes `thing` the exchange's: it is freed with the exchange. Call it once. */
void exchange_own(struct exchange *x, void *thing, void (*free_it)(void *));
/* Calls a function that may block in a new thread, which has a reference to the
   exchange. If no thread can be started, an error is the reply. */
void exchange_in_thread(struct exchange *x, void (*work)(struct exchange *x));
/* The same for work that needs much time or memory: of one owner's exchanges
   few do it at once, each until most of its reply is sent. The others wait. */
void exchange_in_turn(struct exchange *x, void (*work)(struct exchange *x));
/* Returns false if it should be repeated, for which it must not have replied;
   the last attempt always replies. */
typedef bool exchange_attempt(struct exchange *x, bool is_last);
/* Attempts it now, and if it should be repeated, in turn for up to ten
   seconds. */
void exchange_repeat(struct exchange *x, exchange_attempt *attempt);

/* ---- the reply ---- */

/* Adds a header; call it before the reply. A value with a newline is
   ignored. */
void reply_header(struct exchange *x, const char *name, const char *value);
/* Takes ownership of the document. NULL means that memory is exhausted. */
void reply_json(struct exchange *x, int status, json_t *document);
void reply_bytes(struct exchange *x, int status, const char *type,
		 const void *bytes, size_t len);
/* Takes ownership of `bytes`, which must end with a NUL after `len` bytes and
   are not copied. NULL means that memory is exhausted. */
void reply_owned_bytes(struct exchange *x, int status, const char *type,
		       char *bytes, size_t len);
/* Replies {"error":{"code","message","remedy","where"}} with the status for the
   code. */
void reply_error(struct exchange *x, const struct remit_error *err);
/* Like reply_error(), with the given status and code. A route may have another
   form of error (see `fail` in struct route). */
void reply_fail(struct exchange *x, int status, const char *code,
		const char *fmt, ...) printf_like(4, 5);
/* The document of reply_error(); NULL if memory is exhausted. */
json_t *reply_error_json(const struct remit_error *err);

void reply_begin(struct exchange *x, int status, const char *type);
/* Sends a piece of the stream. Blocks while the client reads slowly, except in
   the HTTP thread: there, send long data with one reply_bytes(). Returns -1 if
   the client is gone. */
int reply_piece(struct exchange *x, const void *bytes, size_t len);
void reply_end(struct exchange *x);
/* Breaks the stream: the connection closes without the end of the reply. */
void reply_abort(struct exchange *x);
/* Sets a text that is sent into an idle stream. It must be static. */
/* For routes that relay: lets the program at the other end of this socket
   reply, which is being connected. Takes ownership of it. Headers in `secrets`,
   which is static and ends with NULL, are not forwarded. */
void reply_relay(struct exchange *x, int fd, const char *const *secrets);
void reply_keepalive(struct exchange *x, const char *text);
void reply_keepalive_bytes(struct exchange *x, const char *bytes, size_t len);

#endif
