/*
 * core: what the parts of the extension `remit._core` share.
 */
#ifndef REMIT_CORE_H
#define REMIT_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

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

#endif
