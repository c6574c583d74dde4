/*
 * native: the API of Remit's own under /v1, as tables of routes, and what its
 * files and those of other APIs do alike with a request.
 */
#ifndef REMIT_NATIVE_H
#define REMIT_NATIVE_H

#include "serve/exchange.h"
#include "serve/native/request.h"

extern const struct route native_run_routes[];
extern const struct route native_session_routes[];
extern const struct route native_file_routes[];
extern const struct route native_info_routes[];

/* The request of an exchange, within the limits of its key. NULL: the reply is
   there. */
struct request *native_request(struct exchange *x, enum request_kind kind);
/* Whether a key may have one more session or run of so much memory. */
int native_check_limits(const struct exchange *x, uint64_t memory_bytes,
			struct remit_error *err) must_check;
/* 404 for an id that is not known, or is another key's. */
void native_unknown(struct exchange *x, const char *what);

#endif
