/*
 * worker_part: what the files of a worker know of each other: its life and end
 * (worker.c), how it is built (worker_new.c), and what is read from it until it
 * has a job (worker_handshake.c). No other file may use it.
 */
#ifndef REMIT_WORKER_PART_H
#define REMIT_WORKER_PART_H

#include "keeper/pool/worker.h"

/* Handles a missed deadline. */
void worker_on_deadline(void *owner);
/* Handles the end of the code, whether it exited or was killed. */
void worker_run_ended(struct worker *i, const struct exit_report *end);

/* Returns true while it imports modules of packages, before it gets a job. */
bool worker_is_importing(const struct worker *i);
/* Makes the refusal for a worker that died during its imports; names the
   modules. */
void worker_fail_import(const struct worker *i, struct remit_error *err);

/* Starts watching its descriptors. */
int worker_watch(struct worker *i, struct remit_error *err) must_check;
/* Reads what it reported before it died, such as the reason. */
void worker_read_last_frames(struct worker *i);
/* Sends it what all jobs of its plan have in common. */
int worker_send_task(struct worker *i, struct remit_error *err) must_check;

#endif
