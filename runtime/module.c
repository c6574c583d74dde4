/*
 * module: `_remit`, the part of the runtime that is C because it makes system
 * calls: one binary for every CPython from 3.9 on (limited API).
 */
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <string.h>

#include "lock.h"

/* lock(): lock this process down, or raise OSError with the step's name. */
static PyObject *
module_lock(PyObject *self, PyObject *unused)
{
	struct step_report report;

	(void)self;
	(void)unused;
	if (lock_down(&report) < 0)
		return PyErr_Format(
			PyExc_OSError, "lock-down step \"%s\" failed: %s",
			steps[report.step].name, strerror(report.sys_errno));
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "lock", module_lock, METH_NOARGS,
	  "lock()\n--\n\nLock this process down by the keeper's order." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_remit",
	.m_doc = "What the runner needs from C.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__remit(void);

PyMODINIT_FUNC
PyInit__remit(void)
{
	return PyModule_Create(&definition);
}
