/*
 * denial: what the code of a run tried and was refused, each kind once with
 * its count.
 *
 * Facts: the call, its arguments by value, how often (source "kernel"), or the
 * host that was asked for (source "proxy"). What
 * lay in the code's memory is reported: it was read while the call waited, and
 * could have been changed before and after.
 *
 * And what a refusal means for somebody who knows policies and not the kernel:
 * which field would allow it, and how it is shown.
 */
#ifndef REMIT_DENIAL_H
#define REMIT_DENIAL_H

#include "base/buf.h"
#include "jail/seccomp/notice.h"
#include "policy/fields/field.h"
#include "policy/plan/plan.h"

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

/* Of a call that waits for its refusal; reads its memory. */
void denial_of_notice(struct denial *out, const struct notice *n,
		      const struct policy *policy);

/*
 * Of a path that code says it was refused with this error. False if it would
 * be none of the policy's doing: a file that is missing where it may be.
 */
bool denial_of_path(struct denial *out, const char *path, int error,
		    const struct plan *plan) must_check;

#endif
