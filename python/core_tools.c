/*
 * core_tools: Python functions that the code may call, and the type Call.
 */
#include "core.h"

#include <stdlib.h>

struct call_object {
	PyObject_HEAD struct remit_tool_call
		*call; /* NULL: the call was answered */
};

static PyTypeObject *type;

/* ---- a call ---- */

static struct remit_tool_call *
call_claim(PyObject *self)
{
	struct call_object *o = (struct call_object *)self;
	struct remit_tool_call *call = o->call;

	o->call = NULL;
	if (!call)
		PyErr_SetString(PyExc_ValueError,
				"this call was already answered");
	return call;
}

static PyObject *
call_reply(PyObject *self, PyObject *args)
{
	struct remit_tool_call *call;
	const char *json;
	Py_ssize_t len;

	if (!PyArg_ParseTuple(args, "y#", &json, &len))
		return NULL;
	call = call_claim(self);
	if (!call)
		return NULL;
	remit_tool_reply(call, json, (size_t)len);
	Py_RETURN_NONE;
}

static PyObject *
call_fail(PyObject *self, PyObject *args)
{
	struct remit_tool_call *call;
	const char *message;

	if (!PyArg_ParseTuple(args, "y", &message))
		return NULL;
	call = call_claim(self);
	if (!call)
		return NULL;
	remit_tool_fail(call, message);
	Py_RETURN_NONE;
}

static void
call_dealloc(PyObject *self)
{
	struct call_object *o = (struct call_object *)self;
	PyTypeObject *own = Py_TYPE(self);

	if (o->call)
		remit_tool_fail(o->call, "the host did not answer");
	PyObject_Free(self);
	Py_DECREF(own);
}

/* The thread that waits for the run has released the interpreter lock. */
static void
on_call(void *user, struct remit_tool_call *call, const char *arguments,
	size_t len)
{
	PyGILState_STATE state = PyGILState_Ensure();
	struct call_object *o = PyObject_New(struct call_object, type);
	PyObject *answer = NULL;

	if (o) {
		o->call = call;
		answer = PyObject_CallFunction(user, "Oy#", o, arguments,
					       (Py_ssize_t)len);
		/* The Python function reports its errors through the call, so
		   an exception here is unexpected. */
		if (!answer)
			PyErr_WriteUnraisable(user);
		Py_XDECREF(answer);
		Py_DECREF(o);
	} else {
		PyErr_Clear();
		remit_tool_fail(call, "no memory");
	}
	PyGILState_Release(state);
}

/* ---- the list ---- */

int
core_tools_read(struct core_tools *t, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple);
	int approval;

	t->items = calloc((size_t)n + 1, sizeof(*t->items));
	if (!t->items) {
		PyErr_NoMemory();
		return -1;
	}
	Py_INCREF(tuple);
	t->tuple = tuple;
	for (Py_ssize_t i = 0; i < n; i++) {
		struct remit_tool *tool = &t->items[i];

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "yyyiO",
				      &tool->name, &tool->description,
				      &tool->schema_json, &approval,
				      (PyObject **)&tool->user))
			return -1;
		tool->approval = (enum remit_approval)approval;
		tool->call = on_call;
	}
	t->count = (size_t)n;
	return 0;
}

void
core_tools_free(struct core_tools *t)
{
	free(t->items);
	Py_XDECREF(t->tuple);
	*t = (struct core_tools){ 0 };
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
	{ "reply", call_reply, METH_VARARGS, "reply(json)" },
	{ "fail", call_fail, METH_VARARGS, "fail(message)" },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_dealloc, (void *)call_dealloc },
	{ Py_tp_methods, methods },
	{ 0 },
};

static PyType_Spec spec = {
	.name = "remit._core.Call",
	.basicsize = sizeof(struct call_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int
core_tools_ready(PyObject *module)
{
	type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!type)
		return -1;
	Py_INCREF(type);
	return PyModule_AddObject(module, "Call", (PyObject *)type);
}
