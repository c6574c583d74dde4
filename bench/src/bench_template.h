/*
 * bench_template: argument lists with holes. "{name}" in a word is replaced by
 * the text of the hole; a word that consists only of "{name}" may be replaced
 * by its list.
 *
 *	{ "bwrap", "{binds}", "{python}", "-I", "-c", "{code}", NULL }
 */
#ifndef REMIT_BENCH_TEMPLATE_H
#define REMIT_BENCH_TEMPLATE_H

#include "base/error.h"
#include "base/list.h"

struct bench_hole {
	const char *name;
	const char *text;	 /* either this */
	const struct list *list; /* or this: one word per item */
};

/* Add the filled words to *out. `words` ends with NULL, `holes` with a hole
   without a name. */
int bench_template_fill(struct list *out, const char *const *words,
			const struct bench_hole *holes,
			struct remit_error *err) must_check;

#endif
