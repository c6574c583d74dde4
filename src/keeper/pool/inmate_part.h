/*
 * inmate_part: what the parts of an inmate know of each other: its life and its
 * end (inmate.c), its beginning (inmate_new.c) and what is heard of it until it
 * has a job (inmate_hear.c). For these files only.
 */
#ifndef REMIT_INMATE_PART_H
#define REMIT_INMATE_PART_H

#include "keeper/pool/inmate.h"

/* Its time is over. */
void inmate_on_patience(void *owner);
/* The code has ended, by itself or because it was killed. */
void inmate_run_ended(struct inmate *i, const struct exit_report *end);

/* Whether it imports modules of packages, before its job is known. */
bool inmate_is_importing(const struct inmate *i);
/* Its end while it imports is a refusal that names the modules. */
void inmate_fail_import(const struct inmate *i, struct remit_error *err);

/* Hear what it says from now on. */
int inmate_watch(struct inmate *i, struct remit_error *err) must_check;
/* It may have said why before it died. */
void inmate_hear_last_words(struct inmate *i);
/* Tell it what all of its plan have in common. */
int inmate_send_task(struct inmate *i, struct remit_error *err) must_check;

#endif
