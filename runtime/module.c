#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "jail/lock/join.h"
#include "jail/lock/lock.h"
#include "jail/seccomp/filter.h"

/* One more than the largest signal. */
#define SIGNALS 65
/* The limit of writable memory while a zygote imports modules. */
#define IMPORT_BYTES ((rlim_t)2 << 30)

/* lock(): lock this process down, or raise OSError with the name of the
   step. */
static PyObject *
module_lock(PyObject *self, PyObject *unused)
{
	struct step_report report;
	struct lock_params params;

	(void)self;
	(void)unused;
	if (lock_params_read(&params, &report) < 0 ||
	    lock_down(&params, &report) < 0)
		return PyErr_Format(
			PyExc_OSError, "lock-down step \"%s\" failed: %s",
			steps[report.step].name, strerror(report.sys_errno));
	Py_RETURN_NONE;
}

/* The Landlock ruleset for modules that a zygote imports, or -1. */
static int import_scope = -1;
static bool is_filtered;

static PyObject *
module_filter(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	/* First, because the filter forbids creating a ruleset. */
	if (lock_scope_make(&import_scope) < 0 ||
	    filter_load(FILTER_ZYGOTE) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	is_filtered = true;
	Py_RETURN_NONE;
}

/* The results that a scoped process leaves in the zygote's memory. */
static struct {
	PyObject *result; /* NULL: an exception is set */
	struct sigaction handlers[SIGNALS];
	bool done;
} scoped;

/* Sets the limit of the child; the zygote's is unchanged. */
static int
limit_memory(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) < 0)
		return -1;
	if (limit.rlim_max > IMPORT_BYTES)
		limit.rlim_max = IMPORT_BYTES;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit);
}

static void __attribute__((noinline))
call_scoped(PyObject *function, pid_t zygote)
{
	if (enter_die_with(zygote) < 0 || limit_memory() < 0 ||
	    lock_scope(import_scope) < 0 ||
	    (is_filtered && filter_load(FILTER_IMPORT) < 0))
		return;
	scoped.result = PyObject_CallObject(function, NULL);
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, NULL, &scoped.handlers[i]);
	scoped.done = true;
}

/* Ends the zygote as the child ended: the modules crashed or exited. */
static void __attribute__((noreturn))
exit_like(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	_exit(1);
}

/* scoped(function): call the function in a child that shares all memory with
   this process, which waits (vfork(2)). The child cannot start processes or
   signal others. */
static PyObject *
module_scoped(PyObject *self, PyObject *function)
{
	pid_t child, own = getpid();
	int status = 0;

	(void)self;
	scoped.done = false;
	child = vfork(); /* NOLINT */
	if (child == 0) {
		call_scoped(function, own); /* NOLINT */
		_exit(0);
	}
	if (child < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!scoped.done)
		exit_like(status);
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, &scoped.handlers[i], NULL);
	if (import_scope >= 0)
		close(import_scope);
	import_scope = -1;
	return scoped.result;
}

static PyObject *
module_single_threaded(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(join_is_single_threaded());
}

static int
send_answer(const struct join_answer *a)
{
	return send(JOIN_CONTROL_FD, a, sizeof(*a), MSG_NOSIGNAL) == sizeof(*a)
		       ? 0
		       : -1;
}

static PyObject *
module_unfit(PyObject *self, PyObject *text)
{
	struct join_answer a = { .kind = JOIN_UNFIT };
	PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");

	(void)self;
	if (!bytes)
		return NULL;
	strncpy(a.text, PyBytes_AsString(bytes), sizeof(a.text) - 1);
	Py_DecRef(bytes);
	if (send_answer(&a) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

/* collapse(place): make a huge page of the 2 MiB at place << 21, if they are
   anonymous memory. Returns whether that worked. */
static PyObject *
module_collapse(PyObject *self, PyObject *place)
{
	size_t at = PyLong_AsSize_t(place);

	(void)self;
	if (PyErr_Occurred())
		return NULL;
	return PyBool_FromLong(huge_collapse(at << HUGE_PAGE_BITS));
}

static PyObject *
module_collapse_text(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromSize_t(huge_text((const void *)PyLong_AsLong));
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

/* Does what the interpreter does in the child of a fork. Safe here, because
   there is only one thread. */
static PyObject *
module_after_fork(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	PyOS_BeforeFork();
	PyOS_AfterFork_Child();
	Py_RETURN_NONE;
}

/* Receives the next command. Returns 1, 0 if the keeper is gone, -1 if the
   message is invalid. */
static int
recv_command(struct join_command *cmd, int fds[JOIN_FDS])
{
	int got[PASS_MAX];
	size_t count;
	ssize_t len;

	do
		len = pass_recv(JOIN_CONTROL_FD, cmd, sizeof(*cmd), got, &count,
				0);
	while (len < 0 && errno == EINTR);
	if (len == 0)
		return 0;
	if (len != sizeof(*cmd) || cmd->magic != LOCK_MAGIC)
		return -1;
	return pass_place(got, count, cmd->has, fds, JOIN_FDS) < 0 ? -1 : 1;
}

/* Occupies low descriptor numbers, so that received descriptors get higher
   numbers than those with a meaning in a jail. */
static int
fill_low_numbers(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd < JOIN_FIRST_FD - 1);
	return fd < 0 ? -1 : 0;
}

/* Forks into a jail and answers the keeper. Returns the pid in the zygote, and
   0 in the child. */
static pid_t
serve_one(const struct join_command *cmd, const int fds[JOIN_FDS])
{
	struct join_answer a = { .kind = JOIN_FORKED };
	pid_t pid;

	PyOS_BeforeFork();
	pid = join_fork(cmd, fds, &a.report);
	if (pid == 0) {
		PyOS_AfterFork_Child();
		return 0;
	}
	PyOS_AfterFork_Parent();
	a.pid = pid;
	if (pid < 0)
		a.kind = JOIN_FAILED;
	/* Answer before closing the channel: the answer explains why it
	   closes. */
	if (send_answer(&a) < 0)
		_exit(0);
	for (int i = 0; i < JOIN_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return pid;
}

/* serve(): handle commands until the keeper is gone. Returns in each child. */
static PyObject *
module_serve(PyObject *self, PyObject *unused)
{
	struct join_answer ready = { .kind = JOIN_READY, .pid = LOCK_MAGIC };
	struct join_command cmd;
	int fds[JOIN_FDS];

	(void)self;
	(void)unused;
	if (fill_low_numbers() < 0 || send_answer(&ready) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	while (recv_command(&cmd, fds) > 0)
		if (serve_one(&cmd, fds) == 0)
			Py_RETURN_NONE;
	_exit(0);
}

/* branch(command): fork into the jail that the keeper has built for the branch.
   Returns None in the child, and in the parent a struct step_report to send to
   the keeper. */
static PyObject *
module_branch(PyObject *self, PyObject *bytes)
{
	struct step_report report = { .step = STEP_READY };
	struct join_command cmd;
	int fds[JOIN_FDS];
	pid_t pid;

	(void)self;
	if (PyBytes_Size(bytes) != sizeof(cmd))
		return PyErr_Format(PyExc_ValueError, "not a command");
	memcpy(&cmd, PyBytes_AsString(bytes), sizeof(cmd));
	if (cmd.magic != LOCK_MAGIC || !cmd.params.branch)
		return PyErr_Format(PyExc_ValueError, "not a command");
	join_injected(&cmd, fds);
	PyOS_BeforeFork();
	pid = join_fork(&cmd, fds, &report);
	if (pid == 0) {
		PyOS_AfterFork_Child();
		Py_RETURN_NONE;
	}
	PyOS_AfterFork_Parent();
	if (pid > 0)
		report = (struct step_report){ .step = STEP_READY };
	return PyBytes_FromStringAndSize((const char *)&report, sizeof(report));
}

static PyMethodDef methods[] = {
	{ "lock", module_lock, METH_NOARGS,
	  "lock()\n--\n\nLock this process down with the keeper's "
	  "parameters." },
	{ "filter", module_filter, METH_NOARGS,
	  "filter()\n--\n\nLoad the filter of a zygote." },
	{ "scoped", module_scoped, METH_O,
	  "scoped(function)\n"
	  "--\n"
	  "\n"
	  "Call a function in a child that cannot start processes or signal "
	  "others." },
	{ "single_threaded", module_single_threaded, METH_NOARGS,
	  "single_threaded()\n"
	  "--\n"
	  "\n"
	  "Whether this process has a single thread." },
	{ "unfit", module_unfit, METH_O,
	  "unfit(text)\n--\n\nReport to the keeper why this process cannot be "
	  "a zygote." },
	{ "collapse", module_collapse, METH_O,
	  "collapse(place)\n--\n\nMake a huge page at place << 21." },
	{ "collapse_text", module_collapse_text, METH_NOARGS,
	  "collapse_text()\n--\n\nPut the interpreter's program text into "
	  "huge pages." },
	{ "reseed", module_reseed, METH_O,
	  "reseed(number)\n--\n\nSeed the C library's generators." },
	{ "after_fork", module_after_fork, METH_NOARGS,
	  "after_fork()\n--\n\nDo what the interpreter does in the child of a "
	  "fork." },
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
	  "passed()\n--\n\nTake the descriptor that came with them, or -1." },
	{ "branch", module_branch, METH_O,
	  "branch(command)\n--\n\nFork into the jail of a branch." },
	{ "serve", module_serve, METH_NOARGS,
	  "serve()\n--\n\nFork into jails; returns in each child." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_remit",
	.m_doc = "System calls for the runner.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__remit(void);

PyMODINIT_FUNC
PyInit__remit(void)
{
	return PyModule_Create(&definition);
}
