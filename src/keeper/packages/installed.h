/*
 * installed: which packages an interpreter has, by the directories that pip and
 * distributions leave beside them.
 */
#ifndef REMIT_INSTALLED_H
#define REMIT_INSTALLED_H

#include "policy/interpreter.h"

/* The most that are listed. */
#define INSTALLED_MAX 200

/* "name version" each, in the order of the alphabet. What cannot be read has
   none. */
int installed_list(struct list *out, const struct interpreter *in,
		   struct remit_error *err) must_check;

#endif
