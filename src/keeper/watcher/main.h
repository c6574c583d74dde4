/*
 * watcher_main: the process that watches directories of one session's workspace
 * for its client (wire/watch.h).
 *
 * It is a separate process because the code writes the workspace meanwhile: it
 * can make more changes than a client can read, and can hold a lock on a
 * directory while the watcher waits for it. The keeper only starts and kills
 * it. The client's connection leads to it directly.
 *
 * It is not in the jail, whose code may not use inotify: a jail shows
 * directories of the host, in which inotify reports what other processes do.
 * The watcher has a descriptor of the workspace alone, is locked down by a
 * separate filter (FILTER_WATCHER), and runs as the code's user, so that the
 * kernel counts its watches for that user.
 */
#ifndef REMIT_WATCHER_H
#define REMIT_WATCHER_H

#include <sys/types.h>

#include "policy/plan/plan.h"

struct watcher_params {
	const struct plan *plan;
	uint32_t uid; /* of the code, on the host; used by root */
	int workspace;
	int client;
	pid_t keeper;
};

/* Runs in a child of the keeper. */
void watcher_main(const struct watcher_params *p) __attribute__((noreturn));

#endif
