/*
 * core_connection: a connection to a keeper, and runs over it. The lock of the
 * interpreter is not held while a run lasts.
 */
#include "core.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

struct object {
	PyObject_HEAD struct remit *remit; /* NULL: closed */
	pid_t owner;			   /* the process that opened it */
	unsigned runs;			   /* that last */
	bool closing;			   /* by the last of them */
};

/* ---- opening and closing ---- */

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct remit_options opt = { 0 };
	struct remit *remit = NULL;
	struct remit_error err;
	struct object *o;
	Py_ssize_t len;
	allocfunc alloc;
	int failed;

	(void)kwargs;
	/* Paths are bytes without a NUL, or None: "z#" takes both. */
	if (!PyArg_ParseTuple(args, "z#z#p", &opt.command_path, &len,
			      &opt.keeper_path, &len, &opt.private_keeper))
		return NULL;
	Py_BEGIN_ALLOW_THREADS failed = remit_open(&remit, &opt, &err);
	Py_END_ALLOW_THREADS if (failed < 0) return core_raise(&err);
	alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	o = (struct object *)alloc(type, 0);
	if (!o) {
		remit_close(remit);
		return NULL;
	}
	o->remit = remit;
	o->owner = getpid();
	return (PyObject *)o;
}

static void
end(struct object *o)
{
	struct remit *remit = o->remit;

	o->remit = NULL;
	if (!remit)
		return;
	Py_BEGIN_ALLOW_THREADS remit_close(remit);
	Py_END_ALLOW_THREADS
}

static void
dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	end((struct object *)self);
	release(self);
	Py_DECREF(type);
}

static PyObject *
connection_close(PyObject *self, PyObject *unused)
{
	struct object *o = (struct object *)self;

	(void)unused;
	/* In a forked child the threads that ran are gone, and what it has is
	   a copy that keeps the parent's keeper alive. */
	if (o->owner != getpid())
		o->runs = 0;
	o->closing = true;
	if (!o->runs)
		end(o);
	Py_RETURN_NONE;
}

static PyObject *
get_closed(PyObject *self, void *unused)
{
	const struct object *o = (struct object *)self;

	(void)unused;
	return PyBool_FromLong(o->closing || !o->remit);
}

static PyObject *
get_owner(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(((struct object *)self)->owner);
}

/* ---- a run ---- */

struct call {
	PyObject *on_output; /* borrowed, or NULL */
	PyThreadState *state;
	bool is_main; /* only there are signals looked at */
	/* What a callback or a signal handler raised. */
	PyObject *type, *value, *traceback;
};

static void
keep_exception(struct call *c)
{
	PyErr_Fetch(&c->type, &c->value, &c->traceback);
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct call *c = user;
	PyObject *answer;

	if (c->type)
		return;
	PyEval_RestoreThread(c->state);
	answer = PyObject_CallFunction(c->on_output, "iy#", (int)stream, bytes,
				       (Py_ssize_t)len);
	if (!answer)
		keep_exception(c);
	Py_XDECREF(answer);
	c->state = PyEval_SaveThread();
}

static int
on_wait(void *user)
{
	struct call *c = user;

	if (!c->type && c->is_main) {
		PyEval_RestoreThread(c->state);
		if (PyErr_CheckSignals() < 0)
			keep_exception(c);
		c->state = PyEval_SaveThread();
	}
	return c->type != NULL;
}

/* Room for what points into the tuples of the caller, which lives longer. */
struct lists {
	const char **argv;
	struct remit_file *files;
};

static int
take_argv(struct remit_job *job, struct lists *l, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple);

	if (n < 0)
		return -1;
	l->argv = calloc((size_t)n + 1, sizeof(*l->argv));
	if (!l->argv) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		l->argv[i] = PyBytes_AsString(PyTuple_GetItem(tuple, i));
		if (!l->argv[i])
			return -1;
	}
	job->argv = l->argv;
	return 0;
}

static int
take_files(struct remit_job *job, struct lists *l, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple), len, unused;

	if (n < 0)
		return -1;
	l->files = calloc((size_t)n + 1, sizeof(*l->files));
	if (!l->files) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		struct remit_file *f = &l->files[i];

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "yz#z#",
				      &f->path, &f->host_path, &unused,
				      &f->bytes, &len))
			return -1;
		f->len = (size_t)len;
	}
	job->files = l->files;
	job->file_count = (size_t)n;
	return 0;
}

static PyObject *
finish(struct call *c, int failed, struct remit_result *result,
       const struct remit_error *err)
{
	if (c->type) {
		if (!failed)
			remit_result_free(result);
		PyErr_Restore(c->type, c->value, c->traceback);
		return NULL;
	}
	return failed ? core_raise(err) : core_result(result);
}

static PyObject *
perform(struct object *o, struct remit_job *job, struct call *c)
{
	struct remit_result *result = NULL;
	struct remit_error err;
	int failed;

	job->user = c;
	job->on_output = c->on_output ? on_output : NULL;
	c->is_main = gettid() == getpid();
	job->on_wait = c->is_main || c->on_output ? on_wait : NULL;
	o->runs++;
	c->state = PyEval_SaveThread();
	failed = remit_run(o->remit, job, &result, &err);
	PyEval_RestoreThread(c->state);
	o->runs--;
	if (o->closing && !o->runs)
		end(o);
	return finish(c, failed, result, &err);
}

static PyObject *
connection_run(PyObject *self, PyObject *args)
{
	struct object *o = (struct object *)self;
	struct remit_job job = REMIT_JOB_INIT;
	struct call call = { 0 };
	struct lists lists = { 0 };
	PyObject *argv, *files, *callback, *answer = NULL;
	Py_ssize_t code_len, stdin_len, unused;

	if (!PyArg_ParseTuple(args, "y#zzy#iO!O!z#Oi", &job.code, &code_len,
			      &job.policy_json, &job.name, &job.stdin_bytes,
			      &stdin_len, &job.stdin_fd, &PyTuple_Type, &argv,
			      &PyTuple_Type, &files, &job.artifacts_dir,
			      &unused, &callback, &job.interrupt_fd))
		return NULL;
	if (o->owner != getpid())
		return PyErr_Format(PyExc_ValueError,
				    "this connection belongs to process %d: "
				    "open another one after a fork",
				    (int)o->owner);
	if (o->closing || !o->remit)
		return PyErr_Format(PyExc_ValueError,
				    "this connection is closed");
	job.code_len = (size_t)code_len;
	job.stdin_len = (size_t)stdin_len;
	call.on_output = callback == Py_None ? NULL : callback;
	if (take_argv(&job, &lists, argv) == 0 &&
	    take_files(&job, &lists, files) == 0)
		answer = perform(o, &job, &call);
	free(lists.argv);
	free(lists.files);
	return answer;
}

static PyMethodDef methods[] = {
	{ "run", connection_run, METH_VARARGS,
	  "run(code, policy, name, stdin, stdin_fd, argv, files, artifacts, "
	  "on_output, interrupt_fd) -> Result" },
	{ "close", connection_close, METH_NOARGS,
	  "close(): when the last run has ended" },
	{ 0 },
};

static PyGetSetDef members[] = {
	{ "closed", get_closed, NULL, "whether it can be used no more", NULL },
	{ "owner", get_owner, NULL, "the process that opened it", NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_new, (void *)new },
	{ Py_tp_dealloc, (void *)dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, members },
	{ 0 },
};

static PyType_Spec spec = {
	.name = "remit._core.Connection",
	.basicsize = sizeof(struct object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int
core_connection_ready(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);

	return type ? PyModule_AddObject(module, "Connection", type) : -1;
}
