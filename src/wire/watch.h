/*
 * watch: watched directories of a session: the frames between its client and
 * the watcher, a process of the keeper (keeper/watcher/main.h).
 *
 * That something happened in a directory is a fact from the kernel. The names
 * are bytes that the code chose.
 */
#ifndef REMIT_WIRE_WATCH_H
#define REMIT_WIRE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* How many directories a client may watch at once in one session. */
#define WATCHES_MAX 16
/* The size of the longest path in a frame, with its NUL. */
#define WATCH_PATH_SIZE 4096

enum watch_op {
	WATCH_BEGIN = 1, /* answered by WATCH_BEGUN or WATCH_REFUSED */
	WATCH_STOP,	 /* answered by WATCH_STOPPED */
	/* Answered by WATCH_SYNCED, after the events of everything that
	   happened before. The id is any number. */
	WATCH_SYNC,
};

enum watch_flag {
	WATCH_RECURSIVE = 1, /* also all directories in it */
	WATCH_DESCRIBES = 2, /* events describe the file */
	WATCH_FLAGS = 3,
};

/* The payload of the frame "watch": this, and for WATCH_BEGIN a path in the
   jail, relative to the workspace or absolute. */
struct watch_request {
	uint32_t id;
	uint8_t op, flags;
	const char *path; /* not terminated */
	size_t path_len;
};

enum watch_kind {
	/* What happened to a file of the directory. The name is relative to
	   the directory; "." is the directory itself. */
	WATCH_CREATED = 1, /* or moved to this name */
	WATCH_WRITTEN,
	WATCH_REMOVED,
	WATCH_RENAMED, /* moved away from this name */
	WATCH_CHANGED, /* mode, owner or times */
	/* What happened to the watch. */
	WATCH_BEGUN, /* the name is the directory's path in the workspace */
	/* The last events of a watch: */
	WATCH_REFUSED, /* it can be listed, but not watched */
	WATCH_STOPPED,
	WATCH_LOST, /* too much happened: events are missing */
	WATCH_FULL, /* too many directories to watch */
	WATCH_GONE, /* the jail or the watcher has ended; never sent */
	WATCH_SYNCED,
	WATCH_KINDS,
};

/* What is known of a file at the time of an event. */
struct watch_entry {
	uint64_t size, device, inode;
	int64_t modified_ns;
	uint32_t mode; /* with the bits of its type */
};

/* The payload of the frame "watch_event". */
struct watch_event {
	uint32_t id;
	enum watch_kind kind;
	const char *name; /* not terminated */
	size_t name_len;
	bool has_entry;
	struct watch_entry entry;
	const char *target; /* of a symbolic link; not terminated */
	size_t target_len;
};

/* Append a payload. Return -1 if it does not fit. */
int watch_request_write(struct buf *out,
			const struct watch_request *r) must_check;
int watch_event_write(struct buf *out, const struct watch_event *e) must_check;
/* Parse a payload, which the result points into. Return -1 if it is
   malformed. */
int watch_request_read(struct watch_request *out, const char *payload,
		       size_t len) must_check;
int watch_event_read(struct watch_event *out, const char *payload,
		     size_t len) must_check;

/* Whether events of this kind are about a file. */
static inline bool
watch_is_of_file(enum watch_kind kind)
{
	return kind <= WATCH_CHANGED;
}

#endif
