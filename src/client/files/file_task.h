/*
 * file_task: what is to be done with a file of a session, checked and sent, and
 * the session's answer to it.
 */
#ifndef REMIT_FILE_TASK_H
#define REMIT_FILE_TASK_H

#include "base/buf.h"
#include "wire/frame.h"
#include "wire/link.h"

/* Whether it makes sense; nothing is sent. */
int file_task_check(const struct remit_file_task *t,
		    struct remit_error *err) must_check;
int file_task_send(const struct remit_file_task *t, struct link *l,
		   struct remit_error *err) must_check;
/* "read", "write", ... */
const char *file_task_name(enum remit_file_op op);

/*
 * What a session says of its files, as it arrives.
 *
 * Bytes come in pieces; then records say how it went: "errno" and a number, or
 * one entry of a directory, or "truncated". A list has its entries in the
 * bytes. An entry begins with its "path". All of it is the word of the code: it
 * is believed as little as a file's content.
 */
struct file_answer {
	struct buf bytes;
	struct buf records;
	bool is_done;
};

#define FILE_ANSWER_INIT                          \
	{ .bytes = BUF_INIT(REMIT_FILE_READ_MAX), \
	  .records = BUF_INIT(frame_rules[FRAME_FILE_ANSWER].max) }

/* "file_bytes" or "file_answer". */
int file_answer_add(struct file_answer *a, const struct frame *f,
		    struct remit_error *err) must_check;
/* Once it is done: the answer to this task, or why it was not done. */
int file_answer_finish(struct file_answer *a, const struct remit_file_task *t,
		       struct remit_file_answer **out,
		       struct remit_error *err) must_check;
void file_answer_free(struct file_answer *a);

#endif
