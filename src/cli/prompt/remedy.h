/*
 * remedy: the permissions that would have let a run continue, each once, with
 * everything that was denied because it was missing.
 */
#ifndef REMIT_REMEDY_H
#define REMIT_REMEDY_H

#include "base/buf.h"
#include "policy/fields/field.h"

#define REMEDY_MAX  8 /* permissions of one run */
#define REMEDY_TEXT 256
#define REMEDY_LINE 4096

struct remedy {
	const struct field *field;
	char text[REMEDY_TEXT]; /* the value of the flag; "true" for a switch */
	struct buf tried; /* what was denied, as text for people: escaped and
			     bounded */
	size_t more;	  /* how many denials are not in `tried` */
	bool reported;	  /* a claim of the code, not a fact of the kernel */
};

struct remedies {
	struct remedy rows[REMEDY_MAX];
	size_t count;
};

/* Collect the permissions from the denials of a result. Denials that no flag
   would allow are left out. */
int remedies_find(struct remedies *r, const json_t *result) must_check;
void remedies_free(struct remedies *r);

/* Add the flag as a user would write it, escaped: `--read "/srv/a"`. */
int remedy_show(const struct remedy *r, struct buf *out) must_check;

/*
 * Check that a run with this policy and the flag would really get what the flag
 * allows. Returns -1 with the reason if not.
 */
int remedy_check(const struct remedy *r, const struct policy *policy,
		 struct remit_error *err) must_check;

#endif
