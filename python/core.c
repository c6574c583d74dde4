/*
 * core: `remit._core`, libremit as Python sees it: one binary for every
 * CPython from 3.9 on (limited API). It takes bytes and gives bytes; what is
 * comfortable is written in Python around it.
 */
#include "core_tools.h"

static PyObject *failure;

PyObject *
core_raise(const struct remit_error *err)
{
	PyObject *args = Py_BuildValue("(sisss)", remit_code_name(err->code),
				       err->sys_errno, err->where, err->message,
				       err->remedy);

	if (args) {
		PyErr_SetObject(failure, args);
		Py_DECREF(args);
	}
	return NULL;
}

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "remit._core",
	.m_doc = "libremit as Python sees it.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	failure = PyErr_NewException("remit._core.Failure", NULL, NULL);
	/* Never taken back: the library may fail until the very end. */
	Py_XINCREF(failure);
	if (!failure || PyModule_AddObject(module, "Failure", failure) < 0 ||
	    PyModule_AddStringConstant(module, "version", remit_version()) <
		    0 ||
	    core_result_ready(module) < 0 || core_tools_ready(module) < 0 ||
	    core_connection_ready(module) < 0 ||
	    core_session_ready(module) < 0) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
