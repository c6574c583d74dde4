/*
 * core_session: the type Session, one jail with one interpreter for many cells.
 */
#include "core.h"

#include <unistd.h>

struct session_object {
	PyObject_HEAD struct remit_session *session; /* NULL: closed */
	PyObject *connection;	 /* lives longer than the session */
	struct core_tools tools; /* live as long as the session */
	pid_t owner;
	bool running;
};

/* ---- opening and ending ---- */

/* Release everything but the session, which is closed already. */
static void
session_release(struct session_object *o)
{
	if (o->connection)
		core_connection_leave(o->connection);
	Py_CLEAR(o->connection);
	core_tools_free(&o->tools);
}

static void
session_end(struct session_object *o)
{
	struct remit_session *session = o->session;

	o->session = NULL;
	if (session) {
		Py_BEGIN_ALLOW_THREADS remit_session_drop(session);
		Py_END_ALLOW_THREADS
	}
	session_release(o);
}

static int
open_session(struct session_object *o, struct remit *remit,
	     struct remit_session_options *opt)
{
	struct remit_error err;
	int failed;

	opt->tools = o->tools.items;
	opt->tool_count = o->tools.count;
	Py_BEGIN_ALLOW_THREADS failed =
		remit_session_open(remit, opt, &o->session, &err);
	Py_END_ALLOW_THREADS if (failed < 0) core_raise(&err);
	return failed;
}

/* Allocate an object without a session, which uses the connection. */
static struct session_object *
session_alloc(PyTypeObject *type, PyObject *connection, struct remit **remit)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct session_object *o = (struct session_object *)alloc(type, 0);

	if (!o)
		return NULL;
	o->owner = getpid();
	*remit = core_connection_use(connection);
	if (*remit) {
		Py_INCREF(connection);
		o->connection = connection;
		return o;
	}
	Py_DECREF(o);
	return NULL;
}

static PyObject *
session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct remit_session_options opt = { 0 };
	PyObject *connection, *tools;
	struct remit *remit;
	struct session_object *o;
	Py_ssize_t unused;

	(void)kwargs;
	if (!PyArg_ParseTuple(args, "O!zz#O!p", core_connection_type,
			      &connection, &opt.policy_json, &opt.artifacts_dir,
			      &unused, &PyTuple_Type, &tools, &opt.forkable))
		return NULL;
	o = session_alloc(type, connection, &remit);
	if (o && core_tools_read(&o->tools, tools) == 0 &&
	    open_session(o, remit, &opt) == 0)
		return (PyObject *)o;
	Py_XDECREF(o);
	return NULL;
}

static void
session_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	session_end((struct session_object *)self);
	release(self);
	Py_DECREF(type);
}

/* ---- use ---- */

/* Get the object for an operation of its session. Raises if the session is
   closed, busy, or belongs to another process. */
static struct session_object *
session_enter(PyObject *self)
{
	struct session_object *o = (struct session_object *)self;

	if (o->owner != getpid())
		PyErr_Format(PyExc_ValueError,
			     "this sandbox belongs to process %d: open another "
			     "one after a fork",
			     (int)o->owner);
	else if (!o->session)
		PyErr_SetString(PyExc_ValueError, "this sandbox is closed");
	else if (o->running)
		core_raise(&(struct remit_error){
			.code = REMIT_E_BUSY,
			.message = "this sandbox is already running a cell" });
	else
		return o;
	return NULL;
}

static int
run_in_session(void *session, const struct remit_job *job,
	       struct remit_result **out, struct remit_error *err)
{
	return remit_session_run(session, job, out, err);
}

static PyObject *
session_run(PyObject *self, PyObject *args)
{
	struct session_object *o = session_enter(self);
	struct core_job j = { 0 };
	PyObject *answer = NULL;

	if (!o)
		return NULL;
	if (core_job_read(&j, args) == 0) {
		o->running = true;
		answer = core_job_perform(&j, run_in_session, o->session);
		o->running = false;
	}
	core_job_free(&j);
	return answer;
}

/* Can be called from any thread, while another one waits for a cell. */
static PyObject *
session_interrupt(PyObject *self, PyObject *unused)
{
	struct session_object *o = (struct session_object *)self;

	(void)unused;
	if (o->session && o->owner == getpid())
		remit_session_interrupt(o->session);
	Py_RETURN_NONE;
}

static PyObject *
session_reset(PyObject *self, PyObject *unused)
{
	struct session_object *o = session_enter(self);
	struct remit_error err;
	int failed;

	(void)unused;
	if (!o)
		return NULL;
	o->running = true;
	Py_BEGIN_ALLOW_THREADS failed = remit_session_reset(o->session, &err);
	Py_END_ALLOW_THREADS o->running = false;
	if (failed < 0)
		return core_raise(&err);
	Py_RETURN_NONE;
}

static PyObject *
session_commit(PyObject *self, PyObject *unused)
{
	struct session_object *o = session_enter(self);
	struct remit_result *result = NULL;
	struct remit_error err;
	int failed;

	(void)unused;
	if (!o)
		return NULL;
	o->running = true;
	Py_BEGIN_ALLOW_THREADS failed =
		remit_session_commit(o->session, &result, &err);
	Py_END_ALLOW_THREADS o->running = false;
	return failed < 0 ? core_raise(&err) : core_result(result);
}

/* The branch has the same tools. */
static int
fork_session(struct session_object *o, struct session_object *branch,
	     const char *artifacts)
{
	struct remit_error err;
	int failed;

	Py_INCREF(o->tools.tuple);
	branch->tools.tuple = o->tools.tuple;
	o->running = true;
	Py_BEGIN_ALLOW_THREADS failed = remit_session_fork(
		o->session, artifacts, &branch->session, &err);
	Py_END_ALLOW_THREADS o->running = false;
	if (failed < 0)
		core_raise(&err);
	return failed;
}

static PyObject *
session_fork(PyObject *self, PyObject *args)
{
	struct session_object *o = session_enter(self), *branch;
	const char *artifacts;
	struct remit *unused;
	Py_ssize_t len;

	if (!o || !PyArg_ParseTuple(args, "z#", &artifacts, &len))
		return NULL;
	branch = session_alloc(Py_TYPE(self), o->connection, &unused);
	if (branch && fork_session(o, branch, artifacts) == 0)
		return (PyObject *)branch;
	Py_XDECREF(branch);
	return NULL;
}

static PyObject *
session_close(PyObject *self, PyObject *unused)
{
	struct session_object *o = session_enter(self);
	struct remit_session *session;
	struct remit_result *result = NULL;
	struct remit_error err;
	int failed;

	(void)unused;
	if (!o)
		return NULL;
	/* remit_session_close() frees the session, even if it fails. */
	session = o->session;
	o->session = NULL;
	Py_BEGIN_ALLOW_THREADS failed =
		remit_session_close(session, &result, &err);
	Py_END_ALLOW_THREADS session_release(o);
	return failed < 0 ? core_raise(&err) : core_result(result);
}

/* A forked child drops only its copy, which does not affect the parent. */
static PyObject *
session_drop(PyObject *self, PyObject *unused)
{
	struct session_object *o = (struct session_object *)self;

	(void)unused;
	if (o->owner == getpid() && o->running)
		return (PyObject *)session_enter(
			self); /* raises an exception */
	session_end(o);
	Py_RETURN_NONE;
}

static PyObject *
get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct session_object *)self)->session);
}

static PyMethodDef methods[] = {
	{ "run", session_run, METH_VARARGS,
	  "run(...) -> Result, with the arguments of Connection.run()" },
	{ "interrupt", session_interrupt, METH_NOARGS, "interrupt()" },
	{ "reset", session_reset, METH_NOARGS, "reset()" },
	{ "commit", session_commit, METH_NOARGS, "commit() -> Result" },
	{ "fork", session_fork, METH_VARARGS, "fork(artifacts) -> Session" },
	{ "close", session_close, METH_NOARGS, "close() -> Result" },
	{ "drop", session_drop, METH_NOARGS, "drop()" },
	{ 0 },
};

static PyGetSetDef members[] = {
	{ "closed", get_closed, NULL, "whether the session is closed", NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_new, (void *)session_new },
	{ Py_tp_dealloc, (void *)session_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, members },
	{ 0 },
};

static PyType_Spec spec = {
	.name = "remit._core.Session",
	.basicsize = sizeof(struct session_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int
core_session_ready(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);

	return type ? PyModule_AddObject(module, "Session", type) : -1;
}
