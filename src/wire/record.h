/*
 * record: the payload of small documents: key NUL value NUL, again and again.
 * So simple that the keeper can read what the jail sends without a parser.
 */
#ifndef REMIT_RECORD_H
#define REMIT_RECORD_H

#include "base/buf.h"
#include "base/error.h"

struct record {
	const char *key;
	const char *value; /* both end in NUL inside the payload */
};

/* -1 with errno as buf_add(). */
int record_add(struct buf *b, const char *key, const char *value) must_check;

/* Walk: *at starts at 0. False at the end. A payload that does not end in NUL
   breaks the protocol: see record_check(). */
bool record_next(const char *payload, size_t len, size_t *at,
		 struct record *out);
int record_check(const char *payload, size_t len,
		 struct remit_error *err) must_check;

#endif
