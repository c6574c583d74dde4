/*
 * denial: what the code of a run tried and was refused. Each kind is one row
 * with its count.
 *
 * Facts are the call, its arguments by value and the count (source "kernel"),
 * the requested host (source "proxy"), or the requested package (source
 * "keeper"). What was read from the code's memory
 * is marked as reported: the code could have changed it before and after the
 * call was checked.
 *
 * A row also gives the meaning of a refusal in terms of the policy: which field
 * would allow it, and how to set that field.
 */
#ifndef REMIT_DENIAL_H
#define REMIT_DENIAL_H

#include "base/buf.h"
#include "jail/seccomp/notice.h"
#include "policy/fields/field.h"
#include "policy/plan/plan.h"

/* A result lists at most this many kinds of denials, and counts the others. */
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
	const char *call;	/* NULL: reported by the code, or */
	bool by_proxy;		/* reported by the network proxy */
	bool by_keeper;		/* a request that the keeper refused */
	char what[DENIAL_WHAT]; /* the call with its arguments by value */
	/* the field that would allow it; FIELD_TOTAL: none */
	enum field_id field;
	enum denial_text kind;	/* how to interpret `text` */
	char text[DENIAL_TEXT]; /* reported, any bytes */
	char flag[DENIAL_FLAG]; /* the option that would allow it; "": the
				   field's option */
	const char *error;	/* reported: the name of the error, or NULL */
	uint64_t count;
};

struct denials {
	struct denial *rows;
	size_t count;
	uint64_t left_out; /* number of refusals without a row */
};

/* Adds one to the count of an equal row, or adds a row. */
void denials_add(struct denials *d, const struct denial *one);
/* Like denials_add(), for several equal refusals at once. */
void denials_add_many(struct denials *d, const struct denial *one,
		      uint64_t times);
void denials_free(struct denials *d);

/* [{source, syscall, what, count, field, flag, reported}]. */
int denials_write(struct buf *out, const struct denials *d) must_check;

/* Describes a call that waits for its refusal; reads the caller's memory. */
void denial_of_notice(struct denial *out, const struct notice *n,
		      const struct policy *policy);

/*
 * Describes a path for which the code reports this error. Returns false if the
 * policy is not the reason, for example if a file is missing where it could
 * exist.
 */
bool denial_of_path(struct denial *out, const char *path, int error,
		    const struct plan *plan) must_check;
/*
 * Describes a file of a writable directory that the code could not execute with
 * this error, although its mode allows that. Returns false if
 * workspace_execution would not allow it, or does so already.
 */
bool denial_of_execution(struct denial *out, const char *path, int error,
			 const struct plan *plan) must_check;
/* Returns why a jail does not have a path that no policy can add, and what to
   do instead; NULL for other paths. */
const char *denial_path_reason(const char *path, const struct plan *plan);

#endif
