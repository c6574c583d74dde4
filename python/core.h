/*
 * core: shared by the parts of the extension `remit._core`.
 */
#ifndef REMIT_CORE_H
#define REMIT_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>

#include "remit.h"

/* Raise _core.Failure(code, errno, where, message, remedy). Returns NULL. */
PyObject *core_raise(const struct remit_error *err);

/* Returns a Python object that owns the result. On failure, frees the result
   and returns NULL with an exception. */
PyObject *core_result(struct remit_result *result);

/* Begin to use a connection; core_connection_leave() ends the use. Returns its
   handle, or NULL with an exception if it is closed. */
struct remit *core_connection_use(PyObject *connection);
void core_connection_leave(PyObject *connection);
extern PyTypeObject *core_connection_type;

/* Create the types and add them to the module. Return -1 with an exception. */
int core_connection_ready(PyObject *module);
int core_session_ready(PyObject *module);

/*
 * Python functions that the code may call. Each is called with (call,
 * arguments). `call` must be answered once, now or later and from any thread,
 * by call.reply(json) or call.fail(message). A call whose object is destroyed
 * without an answer fails.
 */
struct core_tools {
	struct remit_tool *items;
	size_t count;
	PyObject *tuple; /* the tuple of tools, which owns all texts */
};

/* Read a tuple of (name, description, schema, approval, function). Returns -1
   with an exception. */
int core_tools_read(struct core_tools *t, PyObject *tuple);
void core_tools_free(struct core_tools *t);

int core_tools_ready(PyObject *module);

/*
 * A job made from Python arguments, and its run.
 *
 * The interpreter lock is released during a run; callbacks acquire it in the
 * same thread. An exception in a callback interrupts the run, and is raised
 * when the run has ended.
 */
struct core_job {
	struct remit_job job;
	PyObject *on_output, *on_question; /* borrowed, or NULL */
	PyThreadState *state;
	bool is_main; /* only the main thread checks for signals */
	PyObject *type, *value, *traceback;
	/* Arrays that point into the caller's tuples, which live longer. */
	const char **argv;
	struct remit_file *files;
	struct core_tools tools;
};

typedef int core_run_fn(void *target, const struct remit_job *job,
			struct remit_result **out, struct remit_error *err);

/* Read (code, policy, name, stdin, stdin_fd, argv, files, artifacts, tools,
   on_output, on_question, interrupt_fd) into *j, which must be zero. Returns -1
   with an exception. */
int core_job_read(struct core_job *j, PyObject *args);
/* Run the job. Returns a Result, or NULL with an exception. */
PyObject *core_job_perform(struct core_job *j, core_run_fn *run, void *target);
void core_job_free(struct core_job *j);

#endif
