/*
 * core_job: a job from Python's arguments, and the wait for its result.
 *
 * The lock of the interpreter is not held while a run lasts; callbacks take it,
 * in the same thread. What one of them raises ends the run, and is raised when
 * that has ended.
 */
#ifndef REMIT_CORE_JOB_H
#define REMIT_CORE_JOB_H

#include "core_tools.h"

#include <stdbool.h>

struct core_job {
	struct remit_job job;
	PyObject *on_output, *on_question; /* borrowed, or NULL */
	PyThreadState *state;
	bool is_main; /* only there are signals looked at */
	PyObject *type, *value, *traceback;
	/* Room for what points into the caller's tuples, which live longer. */
	const char **argv;
	struct remit_file *files;
	struct core_tools tools;
};

typedef int core_run_fn(void *target, const struct remit_job *job,
			struct remit_result **out, struct remit_error *err);

/* From (code, policy, name, stdin, stdin_fd, argv, files, artifacts, tools,
   on_output, on_question, interrupt_fd); -1 with an exception. *j is zero. */
int core_job_read(struct core_job *j, PyObject *args);
/* Run it; a Result, or NULL with an exception. */
PyObject *core_job_perform(struct core_job *j, core_run_fn *run, void *target);
void core_job_free(struct core_job *j);

#endif
