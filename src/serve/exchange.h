/*
 * exchange: one request, and the reply to it.
 *
 * The thread of HTTP makes it, and lets a route's function have it when the
 * request is whole. A function that cannot reply at once holds it; replies may
 * come from any thread. Exactly one of these is the reply:
 *
 *	reply_json(), reply_error(), reply_bytes(), ...	whole
 *	reply_begin(), reply_piece()..., reply_end()	as it comes
 *
 * A client that goes away before its reply is whole is told of by `on_gone`.
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
	/* ---- the request; nobody changes it ---- */
	struct buf head; /* its bytes, up to the empty line */
	struct http_head parsed;
	char method[16];
	char *path; /* not decoded, without the query */
	struct exchange_pair query[EXCHANGE_QUERY_MAX];
	struct exchange_pair params[ROUTE_PARAMS_MAX];
	struct body body;
	json_t *json; /* of routes with BODY_JSON or BODY_MAYBE */
	const struct route *route;
	struct key *key; /* NULL: none was asked for */
	/* Whose limits it counts for: the key, or that of the sandbox whose
	   token it has; NULL: nobody's. */
	struct key *payer;
	char *owner;   /* the key's name, or "" */
	uint16_t port; /* that it came in by; 0: the unix socket */
	uint64_t begun_us;

	/* ---- of the thread of HTTP ---- */
	struct conn *conn;  /* NULL: the client has gone, or it is over */
	size_t got_bytes;   /* of the body, also of one that was refused */
	size_t value_bytes; /* that its JSON values count for beside it */
	bool is_counted;    /* by the per_minute of a key, which bounds it */

	/* ---- of all threads, under the lock ---- */
	pthread_mutex_t lock;
	pthread_cond_t drained;
	struct refcount refs;
	struct buf out;	   /* to be sent */
	struct buf tail;   /* what is sent after that, not copied into it */
	struct buf extras; /* further header lines of the reply */
	uint64_t sent_bytes;
	int status; /* 0: nothing is said yet */
	bool is_stream, is_chunked;
	bool is_read; /* a long body is: the route's function has its turn */
	bool is_ended;
	bool is_gone;
	bool closes;	       /* the connection has no further request */
	const char *keepalive; /* sent into a stream that is silent */
	size_t keepalive_len;
	uint64_t last_piece_us; /* when the last piece came */
	void (*on_gone)(void *user);
	void *on_gone_user;
	void *owned; /* by whoever replies */
	void (*owned_free)(void *owned);

	/* ---- of the server's list of news ---- */
	struct exchange *next_pending;
	bool is_pending;
};

/* ---- the request ---- */

/* A header by its name; the first of several. */
struct http_text exchange_header(const struct exchange *x, const char *name);
/* The same, whether it is there and equal to a word, by letters' case or not.
 */
bool exchange_header_is(const struct exchange *x, const char *name,
			const char *word);
/* From the pattern ("{id}") and from the query; NULL: not there. Decoded. */
const char *exchange_param(const struct exchange *x, const char *name);
const char *exchange_query(const struct exchange *x, const char *name);

/* Whether its body says that it is JSON, which no form of a page does. */
bool exchange_is_json(const struct exchange *x);

enum body_space { BODY_FITS, BODY_OVER_SHARE, BODY_OVER_ALL };

/* How a body that does not fit is refused. */
struct body_refusal {
	int status;
	const char *message;
};
extern const struct body_refusal server_body_refusals[];
/* The body is JSON with so many values, which count beside its bytes. */
enum body_space server_charge_values(struct exchange *x,
				     size_t values) must_check;

/* ---- lifetime ---- */

struct exchange *exchange_ref(struct exchange *x);
void exchange_unref(struct exchange *x);
/* The same once a long reply is sent, or its client has gone: until then it is
   in memory. Not in the thread of HTTP. */
void exchange_unref_sent(struct exchange *x);
/* Call gone(user) in the thread of HTTP when the client leaves before the reply
   is whole; at once if it has left. */
void exchange_on_gone(struct exchange *x, void (*gone)(void *user), void *user);
/* Something that is freed with the exchange, and not sooner. Once. */
void exchange_own(struct exchange *x, void *thing, void (*free_it)(void *));
/* Do something that waits in a thread of its own, which holds the exchange.
   If there is no thread the reply is an error. */
void exchange_in_thread(struct exchange *x, void (*work)(struct exchange *x));

/* ---- the reply ---- */

/* Before the reply. A newline in the value is a defect. */
void reply_header(struct exchange *x, const char *name, const char *value);
/* Takes the document; NULL is the end of memory. */
void reply_json(struct exchange *x, int status, json_t *document);
void reply_bytes(struct exchange *x, int status, const char *type,
		 const void *bytes, size_t len);
/* The bytes, with a NUL after them, become the reply's: what is long is not
   copied. NULL is the end of memory. */
void reply_owned_bytes(struct exchange *x, int status, const char *type,
		       char *bytes, size_t len);
/* {"error":{"code","message","remedy","where"}}, with the status that fits the
   code. */
void reply_error(struct exchange *x, const struct remit_error *err);
/* The same with a status and a code of one's own. */
void reply_fail(struct exchange *x, int status, const char *code,
		const char *fmt, ...) printf_like(4, 5);
/* The error as reply_error() would write it; NULL without memory. */
json_t *reply_error_json(const struct remit_error *err);

void reply_begin(struct exchange *x, int status, const char *type);
/* Waits while the client reads slowly, but not in the thread of HTTP: there
   what is long should be one reply_bytes(). -1: the client has gone. */
int reply_piece(struct exchange *x, const void *bytes, size_t len);
void reply_end(struct exchange *x);
/* The stream breaks: the connection ends without its end. */
void reply_abort(struct exchange *x);
/* Sent into the stream when nothing else was for a while; of static text. */
void reply_keepalive(struct exchange *x, const char *text);
void reply_keepalive_bytes(struct exchange *x, const char *bytes, size_t len);

#endif
