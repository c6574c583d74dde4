/*
 * core_connection: the type Connection, a connection to a keeper for runs.
 */
#include "core.h"

#include <sys/types.h>
#include <unistd.h>

struct connection_object {
	PyObject_HEAD struct remit *remit; /* NULL: closed */
	pid_t owner;   /* the process that opened the connection */
	unsigned uses; /* current runs and sessions */
	bool closing;  /* close when the last use ends */
};

/* ---- opening and closing ---- */

static PyObject *
connection_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct remit_options opt = { 0 };
	struct remit *remit = NULL;
	struct remit_error err;
	struct connection_object *o;
	Py_ssize_t len;
	allocfunc alloc;
	int failed;

	(void)kwargs;
	/* Paths are bytes without a NUL, or None: "z#" accepts both. */
	if (!PyArg_ParseTuple(args, "z#z#p", &opt.command_path, &len,
			      &opt.keeper_path, &len, &opt.private_keeper))
		return NULL;
	Py_BEGIN_ALLOW_THREADS failed = remit_open(&remit, &opt, &err);
	Py_END_ALLOW_THREADS if (failed < 0) return core_raise(&err);
	alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	o = (struct connection_object *)alloc(type, 0);
	if (!o) {
		remit_close(remit);
		return NULL;
	}
	o->remit = remit;
	o->owner = getpid();
	return (PyObject *)o;
}

static void
connection_end(struct connection_object *o)
{
	struct remit *remit = o->remit;

	o->remit = NULL;
	if (!remit)
		return;
	Py_BEGIN_ALLOW_THREADS remit_close(remit);
	Py_END_ALLOW_THREADS
}

static void
connection_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	connection_end((struct connection_object *)self);
	release(self);
	Py_DECREF(type);
}

static PyObject *
connection_close(PyObject *self, PyObject *unused)
{
	struct connection_object *o = (struct connection_object *)self;

	(void)unused;
	/* In a forked child, the threads of runs do not exist, and the child's
	   copy of the socket would keep the parent's keeper alive. */
	if (o->owner != getpid())
		o->uses = 0;
	o->closing = true;
	if (!o->uses)
		connection_end(o);
	Py_RETURN_NONE;
}

static PyObject *
get_closed(PyObject *self, void *unused)
{
	const struct connection_object *o = (struct connection_object *)self;

	(void)unused;
	return PyBool_FromLong(o->closing || !o->remit);
}

static PyObject *
get_owner(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(((struct connection_object *)self)->owner);
}

/* ---- use ---- */

struct remit *
core_connection_use(PyObject *self)
{
	struct connection_object *o = (struct connection_object *)self;

	if (o->owner != getpid()) {
		PyErr_Format(PyExc_ValueError,
			     "this connection belongs to process %d: open "
			     "another one after a fork",
			     (int)o->owner);
		return NULL;
	}
	if (o->closing || !o->remit) {
		PyErr_SetString(PyExc_ValueError, "this connection is closed");
		return NULL;
	}
	o->uses++;
	return o->remit;
}

void
core_connection_leave(PyObject *self)
{
	struct connection_object *o = (struct connection_object *)self;

	/* connection_close() in a forked child has ended all uses. */
	if (!o->uses)
		return;
	o->uses--;
	if (o->closing && !o->uses)
		connection_end(o);
}

static int
run_over_connection(void *remit, const struct remit_job *job,
		    struct remit_result **out, struct remit_error *err)
{
	return remit_run(remit, job, out, err);
}

static PyObject *
connection_run(PyObject *self, PyObject *args)
{
	struct core_job j = { 0 };
	PyObject *answer = NULL;
	struct remit *remit;

	if (core_job_read(&j, args) == 0) {
		remit = core_connection_use(self);
		if (remit) {
			answer = core_job_perform(&j, run_over_connection,
						  remit);
			core_connection_leave(self);
		}
	}
	core_job_free(&j);
	return answer;
}

static PyMethodDef methods[] = {
	{ "run", connection_run, METH_VARARGS,
	  "run(code, policy, name, stdin, stdin_fd, argv, files, artifacts, "
	  "tools, on_output, on_question, interrupt_fd) -> Result" },
	{ "close", connection_close, METH_NOARGS,
	  "close(): close the connection when the last run has ended" },
	{ 0 },
};

static PyGetSetDef members[] = {
	{ "closed", get_closed, NULL, "whether the connection is closed",
	  NULL },
	{ "owner", get_owner, NULL, "the process that opened the connection",
	  NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_new, (void *)connection_new },
	{ Py_tp_dealloc, (void *)connection_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, members },
	{ 0 },
};

static PyType_Spec spec = {
	.name = "remit._core.Connection",
	.basicsize = sizeof(struct connection_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

PyTypeObject *core_connection_type;

int
core_connection_ready(PyObject *module)
{
	core_connection_type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!core_connection_type)
		return -1;
	Py_INCREF(core_connection_type);
	return PyModule_AddObject(module, "Connection",
				  (PyObject *)core_connection_type);
}
