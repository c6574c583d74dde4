/*
 * e2b_files: file tasks of a sandbox on behalf of a request, in turn with the
 * cells.
 */
#ifndef REMIT_E2B_FILES_H
#define REMIT_E2B_FILES_H

#include "serve/e2b/files/multipart.h"
#include "serve/e2b/part.h"

/* filing: a request of a client that waits for one or more file tasks. */
struct filing {
	struct exchange *x;
	struct sandbox *sb;
	struct remit_file_task task;
	char *path, *to; /* owned; used by the task */
	struct multipart form;
	size_t next; /* index of the next file in the form */
	json_t *made;
	json_t *metadata;	 /* of all uploaded files */
	bool has_failed;	 /* the metadata could not be kept */
	struct watcher *watcher; /* of a stream (see watch.c) */
	bool describes;		 /* the events of a new watcher */
	/* Called by the worker with the answer. May reply, or leave that to a
	   later task. */
	void (*on_answer)(struct filing *f,
			  const struct remit_file_answer *answer);
	/* Like on_answer, for the first list of a watcher. */
	void (*on_list)(struct filing *f,
			const struct remit_file_answer *answer);
	/* Called after a failure; must reply. */
	void (*on_error)(struct filing *f, const struct remit_error *err);
	/* Called after each success. Returns true if it has set another task,
	   which is then executed. */
	bool (*more)(struct filing *f);
};

/* Returns a filing for the sandbox of this request, or NULL after it has sent
   an error. */
struct filing *filing_new(struct exchange *x);
/* Sets the path of the task. Returns -1 if memory is exhausted. */
int filing_set_path(struct filing *f, const char *path) must_check;
/* Starts the task. The exchange owns the filing. */
void filing_begin(struct filing *f);

/* Returns {"name", "type", "path", ...} as envd writes an entry. */
json_t *filing_entry(struct sandbox *sb, const struct remit_file_entry *e);

/* The routes of the filesystem service (filesystem.c). */
void e2b_stat(struct exchange *x);
void e2b_list_dir(struct exchange *x);
void e2b_make_dir(struct exchange *x);
void e2b_move(struct exchange *x);
void e2b_remove(struct exchange *x);

#endif
