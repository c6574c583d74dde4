/*
 * core_job: makes a job from Python arguments and runs it.
 */
#include "core.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- callbacks ---- */

static void
keep_exception(struct core_job *j)
{
	PyErr_Fetch(&j->type, &j->value, &j->traceback);
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct core_job *j = user;
	PyObject *answer;

	if (j->type)
		return;
	PyEval_RestoreThread(j->state);
	answer = PyObject_CallFunction(j->on_output, "iy#", (int)stream, bytes,
				       (Py_ssize_t)len);
	if (!answer)
		keep_exception(j);
	Py_XDECREF(answer);
	j->state = PyEval_SaveThread();
}

/* An exception counts as a refusal. */
static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	struct core_job *j = user;
	PyObject *answer;
	long chosen = REMIT_DENY;

	if (j->type)
		return REMIT_DENY;
	PyEval_RestoreThread(j->state);
	answer = PyObject_CallFunction(j->on_question, "yyz", q->kind,
				       q->subject, q->detail);
	if (answer)
		chosen = PyLong_AsLong(answer);
	if (PyErr_Occurred()) {
		keep_exception(j);
		chosen = REMIT_DENY;
	}
	Py_XDECREF(answer);
	j->state = PyEval_SaveThread();
	return (enum remit_answer)chosen;
}

static int
on_wait(void *user)
{
	struct core_job *j = user;

	if (!j->type && j->is_main) {
		PyEval_RestoreThread(j->state);
		if (PyErr_CheckSignals() < 0)
			keep_exception(j);
		j->state = PyEval_SaveThread();
	}
	return j->type != NULL;
}

/* ---- arguments ---- */

static int
read_argv(struct core_job *j, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple);

	j->argv = calloc((size_t)n + 1, sizeof(*j->argv));
	if (!j->argv) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		j->argv[i] = PyBytes_AsString(PyTuple_GetItem(tuple, i));
		if (!j->argv[i])
			return -1;
	}
	j->job.argv = j->argv;
	return 0;
}

static int
read_files(struct core_job *j, PyObject *tuple)
{
	Py_ssize_t n = PyTuple_Size(tuple), len, unused;

	j->files = calloc((size_t)n + 1, sizeof(*j->files));
	if (!j->files) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		struct remit_file *f = &j->files[i];

		if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "yz#z#",
				      &f->path, &f->host_path, &unused,
				      &f->bytes, &len))
			return -1;
		f->len = (size_t)len;
	}
	j->job.files = j->files;
	j->job.file_count = (size_t)n;
	return 0;
}

int
core_job_read(struct core_job *j, PyObject *args)
{
	struct remit_job *job = &j->job;
	PyObject *argv, *files, *tools;
	Py_ssize_t code_len, stdin_len, unused;

	*job = (struct remit_job)REMIT_JOB_INIT;
	if (!PyArg_ParseTuple(args, "y#zzy#iO!O!z#O!OOi", &job->code, &code_len,
			      &job->policy_json, &job->name, &job->stdin_bytes,
			      &stdin_len, &job->stdin_fd, &PyTuple_Type, &argv,
			      &PyTuple_Type, &files, &job->artifacts_dir,
			      &unused, &PyTuple_Type, &tools, &j->on_output,
			      &j->on_question, &job->interrupt_fd))
		return -1;
	job->code_len = (size_t)code_len;
	job->stdin_len = (size_t)stdin_len;
	if (j->on_output == Py_None)
		j->on_output = NULL;
	if (j->on_question == Py_None)
		j->on_question = NULL;
	if (read_argv(j, argv) < 0 || read_files(j, files) < 0 ||
	    core_tools_read(&j->tools, tools) < 0)
		return -1;
	job->tools = j->tools.items;
	job->tool_count = j->tools.count;
	return 0;
}

void
core_job_free(struct core_job *j)
{
	free(j->argv);
	free(j->files);
	core_tools_free(&j->tools);
}

/* ---- the run ---- */

PyObject *
core_job_perform(struct core_job *j, core_run_fn *run, void *target)
{
	struct remit_result *result = NULL;
	struct remit_error err;
	int failed;

	j->job.user = j;
	j->job.on_output = j->on_output ? on_output : NULL;
	j->job.on_question = j->on_question ? on_question : NULL;
	j->is_main = gettid() == getpid();
	j->job.on_wait =
		j->is_main || j->on_output || j->on_question ? on_wait : NULL;
	j->state = PyEval_SaveThread();
	failed = run(target, &j->job, &result, &err);
	PyEval_RestoreThread(j->state);
	if (!j->type)
		return failed ? core_raise(&err) : core_result(result);
	if (!failed)
		remit_result_free(result);
	PyErr_Restore(j->type, j->value, j->traceback);
	return NULL;
}
