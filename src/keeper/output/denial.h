/*
 * denial: what the code of a run tried and was refused, each kind once with
 * its count.
 *
 * Facts: the call, its arguments by value, how often (source "kernel"), or the
 * host that was asked for (source "proxy"). What
 * lay in the code's memory is reported: it was read while the call waited, and
 * could have been changed before and after.
 */
#ifndef REMIT_DENIAL_H
#define REMIT_DENIAL_H

#include "base/buf.h"
#include "policy/fields/field.h"

/* Of more kinds only the sum is known. */
#define DENIALS_MAX 32
#define DENIAL_WHAT 384
#define DENIAL_FLAG 300
#define DENIAL_TEXT 256

enum denial_text {
	DENIAL_NO_TEXT,
	DENIAL_PATH,
	DENIAL_ADDRESS,
};

struct denial {
	const char *call;	/* NULL: the code itself says so, or: */
	bool by_proxy;		/* the network proxy does */
	char what[DENIAL_WHAT]; /* the call with its arguments by value */
	enum field_id field;	/* that would allow it; FIELD_TOTAL: none */
	enum denial_text kind;	/* what the text is */
	char text[DENIAL_TEXT]; /* reported, any bytes */
	char flag[DENIAL_FLAG]; /* that would allow it; "": the field's */
	const char *error;	/* reported: the name of the error, or NULL */
	uint64_t count;
};

struct denials {
	struct denial *rows;
	size_t count;
	uint64_t left_out; /* refusals without a row */
};

/* Count it with its like, or as a new row. */
void denials_add(struct denials *d, const struct denial *one);
/* The same for so many at once. */
void denials_add_many(struct denials *d, const struct denial *one,
		      uint64_t times);
void denials_free(struct denials *d);

/* [{source, syscall, what, count, field, flag, reported}]. */
int denials_write(struct buf *out, const struct denials *d) must_check;

#endif
