/*
 * known: what the commits of a session have left on the host, so that a later
 * one does not take it for the work of others. Only the process that commits
 * reads or writes it: to the keeper it is bytes.
 */
#ifndef REMIT_KNOWN_H
#define REMIT_KNOWN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"

/* Bytes that a session keeps of it, at most. */
#define KNOWN_MAX ((size_t)8 << 20)

struct known_item {
	char *path; /* in the folder */
	int root;   /* which folder */
	size_t nth; /* in the order in which they were added */
	bool is_folder;
	bool is_gone; /* it was deleted again */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime */
};

struct known {
	struct known_item *items;
	size_t count, room;
};

/* From these bytes. What cannot be read is not known. */
int known_read(struct known *k, const void *bytes, size_t len) must_check;
int known_write(const struct known *k, struct buf *out) must_check;
void known_free(struct known *k);

/* What is there now; NULL: nothing. It can be found after sorting. */
int known_add(struct known *k, int root, const char *path,
	      const struct stat *now) must_check;
/* The newest of each path remains. */
void known_sort(struct known *k);

/* Something was left there. */
bool known_has(const struct known *k, int root, const char *path);
/* It is that: the same folder, or the same file and nobody has touched it. */
bool known_is(const struct known *k, int root, const char *path,
	      const struct stat *st);

#endif
