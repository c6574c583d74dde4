/*
 * file_task: what is to be done with a file of a session, checked and sent.
 */
#ifndef REMIT_FILE_TASK_H
#define REMIT_FILE_TASK_H

#include "wire/link.h"

/* Whether it makes sense; nothing is sent. */
int file_task_check(const struct remit_file_task *t,
		    struct remit_error *err) must_check;
int file_task_send(const struct remit_file_task *t, struct link *l,
		   struct remit_error *err) must_check;
/* "read", "write", ... */
const char *file_task_name(enum remit_file_op op);

#endif
