/*
 * core: what the parts of the extension `remit._core` share.
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

/* A Python object that owns the result; NULL with an exception, and then the
   result is freed. */
PyObject *core_result(struct remit_result *result);

/* The handle of a connection, for as long as it is used; NULL with an
   exception if it is closed. */
struct remit *core_connection_use(PyObject *connection);
void core_connection_leave(PyObject *connection);
extern PyTypeObject *core_connection_type;

/* Make the types and put them into the module; -1 with an exception. */
int core_connection_ready(PyObject *module);
int core_session_ready(PyObject *module);

/*
 * Functions of Python that the code may call. Each is called with
 * (call, arguments), where `call` is answered once, now or later and from any
 * thread, by call.reply(json) or call.fail(message). One that is forgotten
 * fails by itself.
 */
struct core_tools {
	struct remit_tool *items;
	size_t count;
	PyObject *tuple; /* what they were read from: it owns all texts */
};

/* From a tuple of (name, description, schema, approval, function); -1 with an
   exception. */
int core_tools_read(struct core_tools *t, PyObject *tuple);
void core_tools_free(struct core_tools *t);

int core_tools_ready(PyObject *module);

/*
 * A job from Python's arguments, and the wait for its result.
 *
 * The lock of the interpreter is not held while a run lasts; callbacks take it,
 * in the same thread. What one of them raises ends the run, and is raised when
 * that has ended.
 */
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
