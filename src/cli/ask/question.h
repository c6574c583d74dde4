/*
 * question: ask the user at the terminal whether the program may do something,
 * while it waits for it.
 */
#ifndef REMIT_QUESTION_H
#define REMIT_QUESTION_H

#include "base/error.h"

/* Without a terminal, at a signal and at its end the answer is no. `signals`
   is readable when the user wants to stop. "Always" is an answer only if there
   is a file that it would be written to, or NULL. */
enum remit_answer question_ask(const struct remit_question *q, const char *file,
			       int signals);

#endif
