/*
 * file_task: checks and sends operations on files of a session, and reads the
 * session's answers.
 */
#ifndef REMIT_FILE_TASK_H
#define REMIT_FILE_TASK_H

#include "base/buf.h"
#include "wire/frame.h"
#include "wire/link.h"

/* Check a task without sending it. */
int file_task_check(const struct remit_file_task *t,
		    struct remit_error *err) must_check;
int file_task_send(const struct remit_file_task *t, struct link *l,
		   struct remit_error *err) must_check;
/* "read", "write", ... */
const char *file_task_name(enum remit_file_op op);

/*
 * An answer as it arrives.
 *
 * Bytes arrive in pieces, then records with the outcome: "errno" and a number,
 * or one entry of a directory, or "truncated". The entries of a list are in the
 * bytes; an entry begins with its "path". The code controls all of it, so it is
 * as untrusted as the content of a file.
 */
struct file_answer {
	struct buf bytes;
	struct buf records;
	bool is_done;
};

#define FILE_ANSWER_INIT                          \
	{ .bytes = BUF_INIT(REMIT_FILE_READ_MAX), \
	  .records = BUF_INIT(frame_rules[FRAME_FILE_ANSWER].max) }

/* Add a frame "file_bytes" or "file_answer". */
int file_answer_add(struct file_answer *a, const struct frame *f,
		    struct remit_error *err) must_check;
/* Call this when the answer is done. Returns the answer to the task in *out, or
   fails with the reason. */
int file_answer_finish(struct file_answer *a, const struct remit_file_task *t,
		       struct remit_file_answer **out,
		       struct remit_error *err) must_check;
void file_answer_free(struct file_answer *a);

#endif
