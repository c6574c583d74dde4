/*
 * change: what a run has changed in a directory of mode rw, path by path, and
 * what was done with each change.
 */
#ifndef REMIT_CHANGE_H
#define REMIT_CHANGE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "policy/plan/plan.h"

enum change_kind {
	CHANGE_CREATED,
	CHANGE_MODIFIED,
	CHANGE_DELETED,
	CHANGE_MODE, /* of a directory; the mode of a file is written with the
			file */
};

struct change {
	char *path; /* relative to the root directory */
	enum change_kind kind;
	bool is_directory; /* is or was a directory */
	bool had;	   /* the host has something at this path: */
	struct stat seen;  /* its state */
	struct stat in; /* the directory that contains it, unless that is new */
	mode_t mode;	/* the mode to be set */
	struct stat placed; /* the file that was put in place */
	const char *reason; /* why it is not written, or NULL */
	int sys_errno;	    /* errno for the reason, or 0 */
};

struct changes {
	struct change *items;
	size_t count, capacity;
};

/* Adds a change. Returns NULL if memory is short. Copies the path. */
struct change *changes_add(struct changes *c, const char *path,
			   enum change_kind kind);
/* Sorts by path, so that a directory comes before its contents. */
void changes_sort(struct changes *c);
/* Finds the change of a path with `len` bytes. Sort before. */
struct change *changes_find(const struct changes *c, const char *path,
			    size_t len);
void changes_free(struct changes *c);

/* The two lists of the result, for all directories. When a list is full, it
   ends with the number of changes left out. */
struct change_lists {
	struct buf written, skipped;
	uint64_t written_more, skipped_more;
};

#define CHANGE_LISTS_INIT                     \
	{                                     \
		.written = BUF_INIT(1 << 20), \
		.skipped = BUF_INIT(1 << 18), \
	}

/* Adds a directory that could not be compared. */
int change_lists_fail(struct change_lists *l, const struct plan_mount *m,
		      const char *why) must_check;
int change_lists_add(struct change_lists *l, const struct changes *c,
		     const struct plan_mount *m) must_check;
/* Writes the records "changes" and "changes_skipped", each a JSON list. */
int change_lists_write(const struct change_lists *l,
		       struct buf *out) must_check;
void change_lists_free(struct change_lists *l);

#endif
