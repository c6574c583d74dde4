/*
 * native: Remit's own API under /v1, as tables of routes, and functions that
 * other APIs share with it.
 */
#ifndef REMIT_NATIVE_H
#define REMIT_NATIVE_H

#include "serve/exchange.h"
#include "serve/native/request.h"

extern const struct route native_run_routes[];
extern const struct route native_session_routes[];
extern const struct route native_command_routes[];
extern const struct route native_file_routes[];
extern const struct route native_info_routes[];

/* Returns the parsed request, checked against the limits of its key, or NULL
   after it has sent an error. */
struct request *native_request(struct exchange *x, enum request_kind kind);
/* Whether the key may have another session or run with this much memory.
   Returns -1 with an error if not. */
int native_check_limits(const struct exchange *x, uint64_t memory_bytes,
			struct remit_error *err) must_check;
/* Returns a reference to the session in the path, or NULL after it has sent an
   error. */
struct hosted *native_session(struct exchange *x);
/* Replies 404 for an id that is unknown or belongs to another key. */
void native_unknown(struct exchange *x, const char *what);

#endif
