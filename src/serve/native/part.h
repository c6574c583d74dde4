/*
 * native_part: what the files of the native API have in common. For them only.
 */
#ifndef REMIT_NATIVE_PART_H
#define REMIT_NATIVE_PART_H

#include "serve/exchange.h"
#include "serve/native/request.h"

/* The request of an exchange, within the limits of its key. NULL: the reply is
   there. */
struct request *native_request(struct exchange *x, enum request_kind kind);
/* Whether a key may have one more session or run of so much memory. */
int native_check_limits(const struct exchange *x, uint64_t memory_bytes,
			struct remit_error *err) must_check;
/* 404 for an id that is not known, or is another key's. */
void native_unknown(struct exchange *x, const char *what);

#endif
