/*
 * module: `_remit` in the guest. It lacks the functions for forks and for the
 * lock-down, which the host has done before it started the guest.
 */
#include "module.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "guest/guest.h"

/* For channel.c: the host passes no descriptors. */
ssize_t
pass_recv(int socket, void *bytes, size_t len, int got[PASS_MAX], size_t *count,
	  int flags)
{
	(void)got;
	(void)flags;
	*count = 0;
	return read(socket, bytes, len);
}

/* lock(): the host has locked this process down. */
static PyObject *
module_lock(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	Py_RETURN_NONE;
}

static PyObject *
module_single_threaded(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	Py_RETURN_TRUE;
}

/* reseed(number): seed the random generators of the C library. */
static PyObject *
module_reseed(PyObject *self, PyObject *number)
{
	unsigned long long seed = PyLong_AsUnsignedLongLong(number);

	(void)self;
	if (PyErr_Occurred())
		return NULL;
	srandom((unsigned)seed);
	srand48((long)(seed >> 32));
	Py_RETURN_NONE;
}

static PyObject *step;

PyObject *
guest_step(void)
{
	return step;
}

/* on_step(function): the host has this function called for each request. */
static PyObject *
module_on_step(PyObject *self, PyObject *function)
{
	PyObject *before = step;

	(void)self;
	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "not a function");
	Py_IncRef(function);
	step = function;
	Py_XDECREF(before);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "lock", module_lock, METH_NOARGS,
	  "lock()\n--\n\nDo nothing: the host has locked this process down." },
	{ "single_threaded", module_single_threaded, METH_NOARGS,
	  "single_threaded()\n"
	  "--\n"
	  "\n"
	  "Whether this process has a single thread: it cannot have others." },
	{ "reseed", module_reseed, METH_O,
	  "reseed(number)\n--\n\nSeed the C library's generators." },
	{ "on_step", module_on_step, METH_O,
	  "on_step(function)\n"
	  "--\n"
	  "\n"
	  "Have the host call a function for each request, once this program "
	  "has returned." },
	{ "job", job_receive, METH_VARARGS,
	  "job(channel, begun)\n--\n\nReturn the next (name, arguments, "
	  "code)." },
	{ "put", channel_put, METH_VARARGS,
	  "put(channel, data, rest=b'')\n"
	  "--\n"
	  "\n"
	  "Write all of data, even if interrupted, and rest once the keeper "
	  "has read data." },
	{ "part", channel_part, METH_VARARGS,
	  "part(channel, data, milliseconds)\n"
	  "--\n"
	  "\n"
	  "Write all of data, then sleep." },
	{ "settle", channel_settle, METH_O,
	  "settle(channel)\n"
	  "--\n"
	  "\n"
	  "Wait until the keeper has read everything." },
	{ "read", channel_read, METH_O,
	  "read(channel)\n--\n\nReturn the next bytes from the keeper." },
	{ "passed", channel_passed, METH_NOARGS,
	  "passed()\n--\n\nReturn -1: the host passes no descriptors." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_remit",
	.m_doc = "System calls for the runner.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC
PyInit__remit(void)
{
	return PyModule_Create(&definition);
}
