/*
 * e2b_files: what is done with a file of a sandbox for a request, in its turn
 * with the cells.
 */
#ifndef REMIT_E2B_FILES_H
#define REMIT_E2B_FILES_H

#include "serve/e2b/files/multipart.h"
#include "serve/e2b/part.h"

/* A request that waits for files. */
struct filing {
	struct exchange *x;
	struct sandbox *sb;
	struct remit_file_task task;
	char *path, *to; /* of the task */
	struct multipart form;
	size_t next; /* file of the form */
	json_t *made;
	struct watcher *watcher; /* of a stream (serve/e2b/files/watch.c) */
	/* Called with the answer, by the worker; replies, or not yet. */
	void (*on_answer)(struct filing *f,
			  const struct remit_file_answer *answer);
	/* The same for the list of a watcher's first look. */
	void (*on_list)(struct filing *f,
			const struct remit_file_answer *answer);
	/* Called when it failed; replies. */
	void (*on_error)(struct filing *f, const struct remit_error *err);
	/* Called when it went well, after the answer: true if another task was
	   set, which is then done. */
	bool (*more)(struct filing *f);
};

/* Of the sandbox of this request. NULL: the reply is there. */
struct filing *filing_new(struct exchange *x);
/* The task's name, from a request. -1: no memory. */
int filing_set_path(struct filing *f, const char *path) must_check;
/* Do the task; the filing is the exchange's. */
void filing_begin(struct filing *f);

/* {"name", "type", "path", ...} as envd writes an entry. */
json_t *filing_entry(const struct remit_file_entry *e);

/* The routes of the filesystem service (serve/e2b/files/filesystem.c). */
void e2b_stat(struct exchange *x);
void e2b_list_dir(struct exchange *x);
void e2b_make_dir(struct exchange *x);
void e2b_move(struct exchange *x);
void e2b_remove(struct exchange *x);

#endif
