/*
 * exchange_part: what exchanges (exchange.c), connections (conn.c) and the
 * server (server.c) know of each other. For these files only.
 */
#ifndef REMIT_EXCHANGE_PART_H
#define REMIT_EXCHANGE_PART_H

#include "base/text.h"
#include "serve/exchange.h"

struct exchange *exchange_new(struct server *s, struct conn *c);
/* The target of the request. -1: it is not well written. */
int exchange_set_target(struct exchange *x, struct http_text target) must_check;
int exchange_set_params(struct exchange *x, const struct route_param *params,
			size_t count) must_check;
/* Sent before the reply, as "100 Continue" is. -1: no memory. */
int exchange_interim(struct exchange *x, const char *text) must_check;
/* Its room is free for the bodies of others. */
void exchange_drop_body(struct exchange *x);
/* The client has gone, or the reply is sent: nobody writes to it any more. */
void exchange_detach(struct exchange *x);
/* Into a stream that has been silent for so long. */
void exchange_keep_alive(struct exchange *x, uint64_t silent_us);

/* The body has so many bytes more; they count, whatever the answer is.
   BODY_OVER_SHARE: its key has too many in all its bodies, BODY_OVER_ALL: the
   server has. */
enum body_space server_charge_body(struct exchange *x, size_t bytes) must_check;
void server_refund_body(struct exchange *x, size_t bytes);
/* There is something to send. From any thread. */
void server_notify(struct exchange *x);
/* A thread that takes no signals; at its end it says so. */
int server_start_thread(struct server *s, void *(*work)(void *),
			void *arg) must_check;
void server_thread_ended(struct server *s);
/* Whether this is the thread of HTTP. */
bool server_is_http_thread(const struct server *s);

#endif
