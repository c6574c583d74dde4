/*
 * e2b_snapshot: what a directory held at a moment, and what has changed between
 * two of them, as envd tells it.
 */
#ifndef REMIT_E2B_SNAPSHOT_H
#define REMIT_E2B_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct snapshot {
	struct snapshot_row {
		char *name; /* below the directory */
		enum remit_file_type type;
		unsigned mode;
		unsigned long long size;
		long long modified_ns;
	} *rows; /* by name */
	size_t count;
};

/* What the names of one may be together. */
#define SNAPSHOT_NAMES_MAX ((size_t)2 * 1024 * 1024)

/* Whether a list is whole, and no more than can be kept. */
bool snapshot_fits(const struct remit_file_answer *a);
/* Of the entries of a list of `directory`; -1: no memory. */
int snapshot_take(struct snapshot *out, const char *directory,
		  const struct remit_file_answer *a) must_check;
/*
 * [{"name", "type"}], a new list; NULL: no memory. A file that was made and
 * written to is both. A name that is gone was removed: where to it was moved,
 * if it was, cannot be seen.
 */
json_t *snapshot_changes(const struct snapshot *before,
			 const struct snapshot *now);
void snapshot_free(struct snapshot *s);

#endif
