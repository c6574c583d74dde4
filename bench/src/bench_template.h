/*
 * bench_template: argument lists with holes. "{name}" in a word is replaced
 * by the hole's text; a word that is nothing but "{name}" by its list.
 *
 *	{ "bwrap", "{binds}", "{python}", "-I", "-c", "{code}", NULL }
 */
#ifndef REMIT_BENCH_TEMPLATE_H
#define REMIT_BENCH_TEMPLATE_H

#include "base/error.h"
#include "base/list.h"

struct bench_hole {
	const char *name;
	const char *text;	 /* one of the two */
	const struct list *list; /* becomes as many words as it has */
};

/* Add the filled words to *out. Both arrays end with NULL, or a hole without
   a name. */
int bench_template_fill(struct list *out, const char *const *words,
			const struct bench_hole *holes,
			struct remit_error *err) must_check;

#endif
