/*
 * list: an owned list of owned strings.
 */
#ifndef REMIT_LIST_H
#define REMIT_LIST_H

#include <stdbool.h>

#include "base/own.h"

struct list {
	char **items; /* NULL-terminated once anything was added */
	size_t count;
};

/* Adds a copy. Returns -1 with errno ENOMEM. */
int list_add(struct list *l, const char *text) must_check;
int list_copy(struct list *to, const struct list *from) must_check;
void list_free(struct list *l);
/* Whether the list contains this text. */
bool list_has(const struct list *l, const char *text);

#endif
