/*
 * commit_state: what the commits of a session have left on the host, so that a
 * later one does not take it for the work of others. Only the process that
 * commits reads or writes it: to the keeper it is bytes.
 */
#ifndef REMIT_COMMIT_STATE_H
#define REMIT_COMMIT_STATE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"

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
	size_t count, room;
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
