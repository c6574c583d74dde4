/*
 * watcher_tree: directories of a workspace that the kernel watches with
 * inotify(7), and what happens in them as events of the client's watches.
 *
 * The code writes the workspace meanwhile, so a path may lead somewhere else at
 * any time. Directories are opened beneath the workspace, without following
 * links or crossing mounts, and watched by descriptor: whatever the code does,
 * only directories of this workspace are watched.
 */
#ifndef REMIT_WATCHER_TREE_H
#define REMIT_WATCHER_TREE_H

#include "base/list.h"
#include "wire/watch.h"

/* The maximum number of directories, if the kernel's limit allows as many. */
#define WATCHER_DIRECTORIES_MAX 4096
/* A session gets at most this part of fs.inotify.max_user_watches. */
#define WATCHER_SHARE 32
/* The maximum number of entries that one event, or the beginning of a watch,
   may have this process read. */
#define WATCHER_ENTRIES_MAX 65536

struct watched_directory {
	int number; /* of inotify's watch */
	char *path; /* in the workspace; "": the workspace */
	/* Files in it that were found and reported, although inotify may report
	   them too. */
	struct list found;
};

struct watcher_watch {
	uint32_t id; /* 0: free */
	unsigned flags;
	char *path;
};

struct watcher_tree {
	int inotify, workspace;
	size_t directories_max;
	struct list mounts; /* paths in the workspace that nothing can watch */
	struct watched_directory *directories; /* sorted by number */
	size_t count;
	size_t entries_left;
	struct watcher_watch watches[WATCHES_MAX];
	/* Returns -1 if the event cannot be sent. */
	int (*emit)(void *user, const struct watch_event *e);
	void *user;
	/* The cost of the work so far: events read and sent, and entries
	   read. */
	uint64_t cost;
	/* A directory that was moved away from this path, until the kernel
	   reports where it is now. The number is inotify's cookie. */
	char *moved_path;
	uint32_t moved;
	/* The last event of a file; it is not repeated. */
	struct {
		int number;
		uint32_t mask;
		char name[256];
	} last;
};

#define WATCHER_TREE_INIT { .inotify = -1, .workspace = -1 }

/* Call it when the members `workspace`, which it owns, `mounts`, `emit` and
   `user` are set. Returns -1 with
   errno. */
int watcher_tree_open(struct watcher_tree *t) must_check;
void watcher_tree_free(struct watcher_tree *t);

/* These return -1 if an event cannot be sent, or with errno if the kernel
   fails. */

int watcher_tree_begin(struct watcher_tree *t, uint32_t id, unsigned flags,
		       const char *path) must_check;
int watcher_tree_stop(struct watcher_tree *t, uint32_t id) must_check;
/* Ends all watches, because events are missing. */
int watcher_tree_lose(struct watcher_tree *t) must_check;
/* Reads events once. *more is false if there were none. */
int watcher_tree_read(struct watcher_tree *t, bool *more) must_check;

#endif
