/*
 * commit_state: what a commit tells the work of others by: when the session
 * began (a ctime_mark), and what its earlier commits have left on the host
 * (struct commit_state).
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
 * A moment by the clock that the kernel writes into inodes. What has been
 * changed since has a time of change (ctime) that is not before it.
 */
struct ctime_mark {
	struct timespec at;
	int64_t offset_ns; /* how the clock is set: against one that cannot be
			    */
};

/* Not after anything that is changed from now on. */
struct ctime_mark ctime_mark_now(void);

/* Not before anything that was changed until now: the kernel writes the coarse
   clock into inodes, which is behind, or a finer one, which is not. */
struct timespec ctime_mark_latest(void);
/* Whether changes from now on get a later time than this. It takes a tick of
   the coarse clock, some milliseconds. */
bool ctime_mark_is_over(const struct timespec *latest);
/* How long such a tick is. */
uint64_t ctime_mark_tick_us(void);

/* Somebody has set the clock back since: times tell nothing any more. */
bool ctime_mark_is_void(const struct ctime_mark *s);
/* Not before the mark. */
bool ctime_mark_is_since(const struct ctime_mark *s, const struct timespec *t);

/*
 * What the commits of a session have left on the host, so that a later one does
 * not take it for the work of others. Only the process that commits reads or
 * writes it: to the keeper it is bytes.
 */

/* Bytes that a session keeps of it, at most. */
#define COMMIT_STATE_MAX ((size_t)8 << 20)

struct commit_state_item {
	char *path; /* in the directory */
	int root;   /* which directory */
	size_t nth; /* in the order in which they were added */
	bool is_directory;
	bool is_gone; /* it was deleted again */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime */
};

struct commit_state {
	struct commit_state_item *items;
	size_t count, capacity;
};

/* From these bytes. What cannot be read is not known. */
int commit_state_read(struct commit_state *k, const void *bytes,
		      size_t len) must_check;
int commit_state_write(const struct commit_state *k,
		       struct buf *out) must_check;
void commit_state_free(struct commit_state *k);

/* What is there now; NULL: nothing. It can be found after sorting. */
int commit_state_add(struct commit_state *k, int root, const char *path,
		     const struct stat *now) must_check;
/* The newest of each path remains. */
void commit_state_sort(struct commit_state *k);

/* Something was left there. */
bool commit_state_has(const struct commit_state *k, int root, const char *path);
/* It is that: the same directory, or the same file and nobody has touched it.
 */
bool commit_state_is(const struct commit_state *k, int root, const char *path,
		     const struct stat *st);

#endif
