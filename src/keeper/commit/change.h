/*
 * change: what a run has changed in a directory of mode rw, path by path, and
 * what became of it.
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
	CHANGE_MODE, /* of a directory; a file's is written with the file */
};

struct change {
	char *path; /* in the directory */
	enum change_kind kind;
	bool is_directory;  /* what is there now, or was deleted */
	bool had;	    /* the host has something there: */
	struct stat seen;   /* this */
	struct stat in;	    /* the directory it is in, unless that is new */
	mode_t mode;	    /* that it shall have */
	struct stat placed; /* the file that was put there */
	const char *reason; /* why it is not written, or NULL */
	int sys_errno;	    /* and the kernel's, or 0 */
};

struct changes {
	struct change *items;
	size_t count, capacity;
};

/* A new one, or NULL without memory. The path is copied. */
struct change *changes_add(struct changes *c, const char *path,
			   enum change_kind kind);
/* Directories come before what is in them. */
void changes_sort(struct changes *c);
/* That of a path, after sorting; the path ends after `len` bytes. */
struct change *changes_find(const struct changes *c, const char *path,
			    size_t len);
void changes_free(struct changes *c);

/* The two lists of the result, over all directories; each ends with how many
   more there are when there is no more room. */
struct change_lists {
	struct buf written, skipped;
	uint64_t written_more, skipped_more;
};

#define CHANGE_LISTS_INIT                     \
	{                                     \
		.written = BUF_INIT(1 << 20), \
		.skipped = BUF_INIT(1 << 18), \
	}

/* A directory of which nothing is known. */
int change_lists_fail(struct change_lists *l, const struct plan_mount *m,
		      const char *why) must_check;
int change_lists_add(struct change_lists *l, const struct changes *c,
		     const struct plan_mount *m) must_check;
/* Records: "changes" and "changes_skipped", each a JSON list. */
int change_lists_write(const struct change_lists *l,
		       struct buf *out) must_check;
void change_lists_free(struct change_lists *l);

#endif
