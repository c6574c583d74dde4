/*
 * ask: after a run that was refused something, ask the user at the terminal
 * whether it may be allowed, and whether for this once or always; and while the
 * program waits, whether it may do something.
 */
#ifndef REMIT_ASK_H
#define REMIT_ASK_H

#include "policy/fields/flags.h"

/* Runs that questions can lead to, the first one not counted. */
#define ASK_ROUNDS 16

struct ask {
	int tty;
	int signals;	     /* readable: the user wants to stop */
	const char *file;    /* where "always" is written, or NULL */
	const char *no_file; /* why there is none */
	struct list asked;   /* flags that had an answer */
	unsigned rounds;
};

#define ASK_INIT { .tty = -1, .signals = -1 }

/* Before the run: without a terminal nobody could answer. */
int ask_open(struct ask *a, const struct flags *fl,
	     struct remit_error *err) must_check;

/*
 * A question for each thing that would have to be allowed and was not asked
 * for before. What is allowed is in the policy afterwards. True: run again.
 */
bool ask_result(struct ask *a, const json_t *result, struct policy *policy);
/* While the program ran: what was asked for a host is not asked again, and
   "always" is written. */
void ask_note_host(struct ask *a, const char *host, bool always);
void ask_free(struct ask *a);

/* Without a terminal, at a signal and at its end the answer is no. `signals`
   is readable when the user wants to stop. "Always" is an answer only if there
   is a file that it would be written to, or NULL. */
enum remit_answer question_ask(const struct remit_question *q, const char *file,
			       int signals);

#endif
