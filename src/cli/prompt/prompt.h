/*
 * prompt: asks the user at the terminal for permissions: after a run, whether
 * to allow what was denied, once or always; and during a run, whether the
 * waiting program may call a tool or reach a host.
 */
#ifndef REMIT_PROMPT_H
#define REMIT_PROMPT_H

#include "policy/fields/flags.h"

/* The most additional runs that answers can lead to. */
#define PROMPT_ROUNDS_MAX 16

struct prompt {
	int tty;
	int signals;	      /* readable when the user wants to stop */
	const char *file;     /* where "always" is written, or NULL */
	const char *no_file;  /* why there is none */
	struct list answered; /* flags that the user has answered */
	unsigned rounds;
};

#define PROMPT_INIT { .tty = -1, .signals = -1 }

/* Call this before the run. Fails without a terminal. */
int prompt_open(struct prompt *a, const struct flags *fl,
		struct remit_error *err) must_check;

/*
 * Ask for each permission that the denials of the result call for and that the
 * user was not asked for before. Adds what the user allows to the policy.
 * Returns true if the program should run again.
 */
bool prompt_for_denials(struct prompt *a, const json_t *result,
			struct policy *policy);
/* Record that the user was asked for a host during the run, so that the
   question is not repeated afterwards. With `always`, also write the host into
   the policy file. */
void prompt_note_host(struct prompt *a, const char *host, bool always);
void prompt_free(struct prompt *a);

/* Ask the user during a run. The answer is no without a terminal, at the end of
   its input, or once `signals` (readable when the user wants to stop) is
   readable. "Always" is offered only if there is a `file` to write the
   permission to; it may be NULL. */
enum remit_answer question_prompt(const struct remit_question *q,
				  const char *file, int signals);

#endif
