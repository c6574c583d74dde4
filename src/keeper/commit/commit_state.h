/*
 * commit_state: how a commit recognises changes by other processes: by the time
 * when the session began (struct ctime_mark), and by what its earlier commits
 * have written to the host (struct commit_state).
 */
#ifndef REMIT_COMMIT_STATE_H
#define REMIT_COMMIT_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/own.h"

/*
 * A moment in the time that the kernel writes into inodes. Everything changed
 * since then has a change time (ctime) that is not earlier.
 */
struct ctime_mark {
	struct timespec at;
	int64_t offset_ns; /* offset to a clock that cannot be set back */
};

/* Returns a mark that is not later than the ctime of any later change. */
struct ctime_mark ctime_mark_now(void);

/* Returns a time that is not earlier than the ctime of any change so far. The
   kernel writes the coarse clock into inodes, which lags, or a fine one, which
   does not. */
struct timespec ctime_mark_latest(void);
/* Returns true if changes from now on get a later ctime than this. That takes
   one tick of the coarse clock, a few milliseconds. */
bool ctime_mark_is_over(const struct timespec *latest);
/* Returns the length of a tick. */
uint64_t ctime_mark_tick_us(void);

/* Returns true if the clock was set back since the mark, so that no ctime can
   be trusted. */
bool ctime_mark_is_void(const struct ctime_mark *s);
/* Returns true if the time is not earlier than the mark. */
bool ctime_mark_is_since(const struct ctime_mark *s, const struct timespec *t);

/*
 * What the commits of a session have written to the host, so that a later
 * commit does not take it for changes by others. Only the committing process
 * reads or writes it; for the keeper it is opaque.
 */

/* The maximum that a session stores of it. */
#define COMMIT_STATE_MAX ((size_t)8 << 20)

struct commit_state_item {
	char *path; /* relative to the root directory */
	int root;   /* number of the root directory */
	size_t nth; /* position in the sequence of additions */
	bool is_directory;
	bool is_gone; /* it was deleted */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime */
};

struct commit_state {
	struct commit_state_item *items;
	size_t count, capacity;
};

/* Returns -1 if the bytes are malformed or memory is short. */
int commit_state_read(struct commit_state *k, const void *bytes,
		      size_t len) must_check;
int commit_state_write(const struct commit_state *k,
		       struct buf *out) must_check;
void commit_state_free(struct commit_state *k);

/* Adds the current state of a path; NULL: it does not exist. Call
   commit_state_sort() before a lookup. */
int commit_state_add(struct commit_state *k, int root, const char *path,
		     const struct stat *now) must_check;
/* Sorts by path, and keeps only the newest state of each. */
void commit_state_sort(struct commit_state *k);

/* Returns true if an earlier commit left something at this path. */
bool commit_state_has(const struct commit_state *k, int root, const char *path);
/* Returns true if it left this: the same directory, or the same file without
   any change since. */
bool commit_state_is(const struct commit_state *k, int root, const char *path,
		     const struct stat *st);

#endif
