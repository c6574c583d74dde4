/*
 * instructions: what a model that writes code should know about a plan, as text
 * for its prompt. The text is made from the plan alone: it does not mention
 * promises that are not enforced, nor paths of the host.
 */
#ifndef REMIT_INSTRUCTIONS_H
#define REMIT_INSTRUCTIONS_H

#include "base/buf.h"
#include "policy/plan/plan.h"

struct instructions {
	const struct plan *plan;
	bool session;		      /* the programs are cells of a session */
	const struct list *packages;  /* packages requested by the policy */
	const struct list *installed; /* "numpy 1.26.4", or NULL if not known */
};

/* Appends the instructions. Returns -1 with errno as buf_add() does. */
int instructions_write(struct buf *out,
		       const struct instructions *in) must_check;
/* Appends the limits of tool calls; nothing in the tier static, which runs no
   code. */
int instructions_write_tools(struct buf *out,
			     const struct instructions *in) must_check;

#endif
