/*
 * prompt: after a run that was refused something, ask the user at the terminal
 * whether it may be allowed, and whether for this once or always; and while the
 * program waits, whether it may do something.
 */
#ifndef REMIT_PROMPT_H
#define REMIT_PROMPT_H

#include "policy/fields/flags.h"

/* Runs that questions can lead to, the first one not counted. */
#define PROMPT_ROUNDS_MAX 16

struct prompt {
	int tty;
	int signals;	      /* readable: the user wants to stop */
	const char *file;     /* where "always" is written, or NULL */
	const char *no_file;  /* why there is none */
	struct list answered; /* flags that had an answer */
	unsigned rounds;
};

#define PROMPT_INIT { .tty = -1, .signals = -1 }

/* Before the run: without a terminal nobody could answer. */
int prompt_open(struct prompt *a, const struct flags *fl,
		struct remit_error *err) must_check;

/*
 * A question for each thing that would have to be allowed and was not asked
 * for before. What is allowed is in the policy afterwards. True: run again.
 */
bool prompt_for_denials(struct prompt *a, const json_t *result,
			struct policy *policy);
/* While the program ran: what was asked for a host is not asked again, and
   "always" is written. */
void prompt_note_host(struct prompt *a, const char *host, bool always);
void prompt_free(struct prompt *a);

/* Without a terminal, at a signal and at its end the answer is no. `signals`
   is readable when the user wants to stop. "Always" is an answer only if there
   is a file that it would be written to, or NULL. */
enum remit_answer question_prompt(const struct remit_question *q,
				  const char *file, int signals);

#endif
