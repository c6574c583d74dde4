/*
 * instructions: what a model that writes code for a plan should know, as text
 * for its prompt. Made from the plan alone: what is not enforced is not said,
 * and no path of the host is.
 */
#ifndef REMIT_INSTRUCTIONS_H
#define REMIT_INSTRUCTIONS_H

#include "base/buf.h"
#include "policy/plan/plan.h"

struct instructions {
	const struct plan *plan;
	bool session;		      /* cells of one, or programs */
	const struct list *packages;  /* that are put there for it */
	const struct list *installed; /* "numpy 1.26.4", or NULL: not known */
};

/* -1 with errno as buf_add(). */
int instructions_write(struct buf *out,
		       const struct instructions *in) must_check;
/* The limits of tool calls; nothing if no code runs that could call. */
int instructions_write_tools(struct buf *out,
			     const struct instructions *in) must_check;

#endif
