/*
 * worker_part: what the parts of a worker know of each other: its life and its
 * end (worker.c), its beginning (worker_new.c) and what is heard of it until it
 * has a job (worker_handshake.c). For these files only.
 */
#ifndef REMIT_WORKER_PART_H
#define REMIT_WORKER_PART_H

#include "keeper/pool/worker.h"

/* Its time is over. */
void worker_on_deadline(void *owner);
/* The code has ended, by itself or because it was killed. */
void worker_run_ended(struct worker *i, const struct exit_report *end);

/* Whether it imports modules of packages, before its job is known. */
bool worker_is_importing(const struct worker *i);
/* Its end while it imports is a refusal that names the modules. */
void worker_fail_import(const struct worker *i, struct remit_error *err);

/* Hear what it says from now on. */
int worker_watch(struct worker *i, struct remit_error *err) must_check;
/* It may have said why before it died. */
void worker_read_last_frames(struct worker *i);
/* Tell it what all of its plan have in common. */
int worker_send_task(struct worker *i, struct remit_error *err) must_check;

#endif
