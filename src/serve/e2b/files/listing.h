/*
 * e2b_listing: two lists of a watched directory are compared, where it cannot
 * be watched otherwise (live.h).
 */
#ifndef REMIT_E2B_LISTING_H
#define REMIT_E2B_LISTING_H

#include "serve/e2b/part.h"

/* The contents of a directory at one time. */
struct listing {
	struct listing_row {
		char *name; /* relative to the directory */
		enum remit_file_type type;
		unsigned mode;
		unsigned long long size;
		long long modified_ns;
		/* valid as long as the list that the row was made from */
		const struct remit_file_entry *entry;
	} *rows; /* sorted by name */
	size_t count;
	size_t bytes; /* of memory, counted for all sandboxes together */
};

void listing_free(struct listing *s);
/* Whether a list is complete and small enough to keep, now that others are
   kept. */
bool listing_fits(const struct remit_file_answer *a);
/* Makes a listing from a list of `directory`. Returns -1 if memory is
   exhausted. */
int listing_make(struct listing *out, const char *directory,
		 const struct remit_file_answer *a) must_check;
/*
 * Returns the changes between two listings as a new list of {"name", "type"},
 * as envd reports them, or NULL if memory is exhausted. With a sandbox, events
 * of existing entries have the member "entry"; the list that `now` was made
 * from must still exist. A file that was created and written to has both
 * events. A missing name counts as removed: a move cannot be recognised.
 */
json_t *listing_changes(const struct listing *before, const struct listing *now,
			struct sandbox *sb);

#endif
