/*
 * batch_ids: a set of ids. They are all that a batch remembers of each job, so
 * they are stored compactly: the text, and about two machine words.
 */
#ifndef REMIT_BATCH_IDS_H
#define REMIT_BATCH_IDS_H

#include "base/buf.h"

struct batch_ids {
	struct buf text; /* the ids, each with its NUL */
	size_t *slots;	 /* 1 + where in `text` an id begins; 0: free */
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

#define BATCH_IDS_INIT { .text = { .cap = SIZE_MAX / 2 } }

bool batch_ids_has(const struct batch_ids *s, const char *id);
/* Add an id. *is_new is false if the set already contained it. Returns -1 with
   errno ENOMEM. */
int batch_ids_add(struct batch_ids *s, const char *id, bool *is_new) must_check;
void batch_ids_free(struct batch_ids *s);

#endif
