/*
 * exchange_part: declarations shared by exchanges (exchange.c), connections
 * (conn.c), the server (server.c) and long work (long_work.c). For these files
 * only.
 */
#ifndef REMIT_EXCHANGE_PART_H
#define REMIT_EXCHANGE_PART_H

#include "base/text.h"
#include "serve/exchange.h"

struct exchange *exchange_new(struct server *s, struct conn *c);
/* Parses the target of the request. Returns -1 if it is malformed. */
int exchange_set_target(struct exchange *x, struct http_text target) must_check;
int exchange_set_params(struct exchange *x, const struct route_param *params,
			size_t count) must_check;
/* Queues bytes that precede the reply, such as "100 Continue". Returns -1 if
   memory is exhausted. */
int exchange_interim(struct exchange *x, const char *text) must_check;
/* Frees the body and gives its bytes back to the server's limit. */
void exchange_drop_body(struct exchange *x);
/* Detaches the exchange from its connection: the client is gone or the reply is
   sent. Later writes are discarded. */
void exchange_detach(struct exchange *x);
/* Sends the keepalive if the stream has been idle for `silent_us`. */
void exchange_keep_alive(struct exchange *x, uint64_t silent_us);

/* Charges for `bytes` more of the body, whatever it returns. BODY_OVER_SHARE:
   the bodies of its key exceed their share; BODY_OVER_ALL: all bodies exceed
   the limit. */
enum body_space server_charge_body(struct exchange *x, size_t bytes) must_check;
void server_refund_body(struct exchange *x, size_t bytes);
/* Tells the HTTP thread that there is something to send. For any thread. */
void server_notify(struct exchange *x);
/* Starts a thread with all signals blocked, which must end with
   server_thread_ended(). Returns -1 on failure. */
int server_start_thread(struct server *s, void *(*work)(void *),
			void *arg) must_check;
void server_thread_ended(struct server *s);
/* Whether the caller is the HTTP thread. */
bool server_is_http_thread(const struct server *s);

#endif
