/*
 * core_result: a result that stays in C until somebody asks for a part of it,
 * since most callers ask for little.
 */
#include "core.h"

struct object {
	PyObject_HEAD struct remit_result *result;
};

static PyTypeObject *type;

PyObject *
core_result(struct remit_result *result)
{
	struct object *o = PyObject_New(struct object, type);

	if (!o) {
		remit_result_free(result);
		return NULL;
	}
	/* An object of a heap type holds its type; before 3.8 it did not, and
	   PyObject_New() does so by itself since. */
	o->result = result;
	return (PyObject *)o;
}

static void
dealloc(PyObject *self)
{
	PyTypeObject *own = Py_TYPE(self);

	remit_result_free(((struct object *)self)->result);
	PyObject_Free(self);
	Py_DECREF(own);
}

static PyObject *
get_status(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(
		remit_result_status(((struct object *)self)->result));
}

static PyObject *
get_output(PyObject *self, void *stream)
{
	size_t len;
	const char *bytes =
		remit_result_output(((struct object *)self)->result,
				    (enum remit_stream)(size_t)stream, &len);

	return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
}

/* Written when first asked for; the lock of the interpreter is held. */
static PyObject *
get_json(PyObject *self, void *unused)
{
	const char *text = remit_result_json(((struct object *)self)->result);

	(void)unused;
	return text ? PyBytes_FromString(text) : PyErr_NoMemory();
}

static PyGetSetDef members[] = {
	{ "status", get_status, NULL, "the word", NULL },
	{ "stdout", get_output, NULL, "bytes", (void *)REMIT_STDOUT },
	{ "stderr", get_output, NULL, "bytes", (void *)REMIT_STDERR },
	{ "json", get_json, NULL, "the whole result, as bytes", NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_dealloc, (void *)dealloc },
	{ Py_tp_getset, members },
	{ 0 },
};

static PyType_Spec spec = {
	.name = "remit._core.Result",
	.basicsize = sizeof(struct object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int
core_result_ready(PyObject *module)
{
	type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!type)
		return -1;
	Py_INCREF(type);
	return PyModule_AddObject(module, "Result", (PyObject *)type);
}
