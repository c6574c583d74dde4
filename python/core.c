/*
 * core: the extension module `remit._core`, which wraps libremit. It uses the
 * limited API, so that one binary serves every CPython from 3.9 on. Its
 * interface consists of bytes and tuples; the Python modules around it are the
 * comfortable one.
 */
#include "core.h"

/* ---- results ---- */

/* A result stays in C until a part of it is requested, since most callers need
   little. */
struct result_object {
	PyObject_HEAD struct remit_result *result;
};

static PyTypeObject *result_type;

PyObject *
core_result(struct remit_result *result)
{
	struct result_object *o =
		PyObject_New(struct result_object, result_type);

	if (!o) {
		remit_result_free(result);
		return NULL;
	}
	/* PyObject_New() makes the object own a reference to its heap type
	   (since 3.8). */
	o->result = result;
	return (PyObject *)o;
}

static void
result_dealloc(PyObject *self)
{
	PyTypeObject *own = Py_TYPE(self);

	remit_result_free(((struct result_object *)self)->result);
	PyObject_Free(self);
	Py_DECREF(own);
}

static PyObject *
get_status(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(
		remit_result_status(((struct result_object *)self)->result));
}

static PyObject *
get_output(PyObject *self, void *stream)
{
	size_t len;
	const char *bytes =
		remit_result_output(((struct result_object *)self)->result,
				    (enum remit_stream)(size_t)stream, &len);

	return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
}

/* The text is written when it is first requested. The interpreter lock is
   held. */
static PyObject *
get_json(PyObject *self, void *unused)
{
	const char *text =
		remit_result_json(((struct result_object *)self)->result);

	(void)unused;
	return text ? PyBytes_FromString(text) : PyErr_NoMemory();
}

static PyGetSetDef result_members[] = {
	{ "status", get_status, NULL, "the status of the run", NULL },
	{ "stdout", get_output, NULL, "bytes", (void *)REMIT_STDOUT },
	{ "stderr", get_output, NULL, "bytes", (void *)REMIT_STDERR },
	{ "json", get_json, NULL, "the whole result, as bytes", NULL },
	{ 0 },
};

static PyType_Slot result_slots[] = {
	{ Py_tp_dealloc, (void *)result_dealloc },
	{ Py_tp_getset, result_members },
	{ 0 },
};

static PyType_Spec result_spec = {
	.name = "remit._core.Result",
	.basicsize = sizeof(struct result_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = result_slots,
};

static int
core_result_ready(PyObject *module)
{
	result_type = (PyTypeObject *)PyType_FromSpec(&result_spec);
	if (!result_type)
		return -1;
	Py_INCREF(result_type);
	return PyModule_AddObject(module, "Result", (PyObject *)result_type);
}

/* ---- the module ---- */

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
	.m_doc = "The binding of libremit.",
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
	/* This reference is never released: the library may fail until the
	   process ends. */
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
