/*
 * remedy: what would have to be allowed for a run to get further, each thing
 * once, with all that was refused for want of it.
 */
#ifndef REMIT_REMEDY_H
#define REMIT_REMEDY_H

#include "base/buf.h"
#include "policy/fields/field.h"

#define REMEDY_MAX  8 /* of one run */
#define REMEDY_TEXT 256
#define REMEDY_LINE 4096

struct remedy {
	const struct field *field;
	char text[REMEDY_TEXT]; /* the value of the flag; "true": a switch */
	struct buf tried;	/* for people: escaped, bounded */
	size_t more;		/* kinds that are not in `tried` */
	bool reported;		/* only the code itself says so */
};

struct remedies {
	struct remedy rows[REMEDY_MAX];
	size_t count;
};

/* From the denials of a result. Those that no flag allows are left out. */
int remedies_find(struct remedies *r, const json_t *result) must_check;
void remedies_free(struct remedies *r);

/* The flag as one would write it, escaped: `--read "/srv/a"`. */
int remedy_show(const struct remedy *r, struct buf *out) must_check;

/*
 * Whether a run with this policy and the flag would get what the flag says
 * here. If not, *err says why.
 */
int remedy_check(const struct remedy *r, const struct policy *policy,
		 struct remit_error *err) must_check;

#endif
