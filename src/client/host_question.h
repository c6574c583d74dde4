/*
 * host_question: a host that the code wants to reach and nobody has named: the
 * keeper's question, asked of the caller.
 */
#ifndef REMIT_HOST_QUESTION_H
#define REMIT_HOST_QUESTION_H

#include "wire/link.h"

/* Of the frame "question": ask, and send the answer. */
int host_question_take(const struct remit_job *job, const struct frame *f,
		       struct link *l, struct remit_error *err) must_check;

#endif
