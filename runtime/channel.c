/*
 * channel: operations on the channel to the keeper that are not possible in
 * Python.
 */
#include "module.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "base/file/io.h"

#ifdef __wasi__
#include "guest/guest.h"
#else
#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#endif

/* The interval for polling how much is unread. */
#define PAUSE_NS 20000

#define PIECE 16384

#ifdef __wasi__

static int
unread_bytes(int fd)
{
	return guest_unread_bytes(fd);
}

/* The guest has a single thread. */
static void
lock_writes(void)
{
}

static void
unlock_writes(void)
{
}

#else

static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns how many bytes the keeper has not read yet. 0 for a pipe, whose queue
   cannot be queried. */
static int
unread_bytes(int fd)
{
	int bytes = 0;

	return ioctl(fd, SIOCOUTQ, &bytes) < 0 ? 0 : bytes;
}

static void
lock_writes(void)
{
	pthread_mutex_lock(&write_lock);
}

static void
unlock_writes(void)
{
	pthread_mutex_unlock(&write_lock);
}

#endif

static int
write_parts(int fd, const char *bytes, size_t len, const char *rest,
	    size_t rest_len)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (io_write_all(fd, bytes, len) < 0)
		return -1;
	while (rest_len && unread_bytes(fd))
		nanosleep(&pause, NULL);
	return io_write_all(fd, rest, rest_len);
}

/* Serialises the writes of threads. */
static int
write_in_turn(int fd, const char *bytes, size_t len, const char *rest,
	      size_t rest_len)
{
	int failed;

	lock_writes();
	failed = write_parts(fd, bytes, len, rest, rest_len);
	unlock_writes();
	return failed;
}

PyObject *
channel_put(PyObject *self, PyObject *args)
{
	PyObject *data, *more = NULL;
	Py_ssize_t len, rest_len = 0;
	char *bytes, *rest = NULL;
	int fd, failed;

	(void)self;
	if (!PyArg_ParseTuple(args, "iS|S", &fd, &data, &more) ||
	    PyBytes_AsStringAndSize(data, &bytes, &len) < 0 ||
	    (more && PyBytes_AsStringAndSize(more, &rest, &rest_len) < 0))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	failed = write_in_turn(fd, bytes, (size_t)len, rest, (size_t)rest_len);
	Py_END_ALLOW_THREADS;
	if (failed)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

PyObject *
channel_settle(PyObject *self, PyObject *channel)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	long fd = PyLong_AsLong(channel);

	(void)self;
	if (PyErr_Occurred())
		return NULL;
	while (unread_bytes((int)fd)) {
		Py_BEGIN_ALLOW_THREADS;
		nanosleep(&pause, NULL);
		Py_END_ALLOW_THREADS;
		if (PyErr_CheckSignals() < 0)
			return NULL;
	}
	Py_RETURN_NONE;
}

/* One call for writing and sleeping, so that no code runs in between: the
   keeper may need this processor. */
PyObject *
channel_part(PyObject *self, PyObject *args)
{
	struct timespec wait;
	Py_ssize_t len;
	int fd, ms, failed;
	char *bytes;
	PyObject *data;

	(void)self;
	if (!PyArg_ParseTuple(args, "iSi", &fd, &data, &ms) ||
	    PyBytes_AsStringAndSize(data, &bytes, &len) < 0)
		return NULL;
	wait = (struct timespec){ ms / 1000, ms % 1000 * 1000000L };
	Py_BEGIN_ALLOW_THREADS;
	failed = write_in_turn(fd, bytes, (size_t)len, NULL, 0);
	while (!failed && ms && nanosleep(&wait, &wait) < 0 && errno == EINTR)
		;
	Py_END_ALLOW_THREADS;
	if (failed)
		return PyErr_SetFromErrno(PyExc_OSError);
	Py_RETURN_NONE;
}

/* The descriptor that came with the last bytes, or -1. */
static int passed_fd = -1;

/* Like recvmsg(2) on the channel, with the lock of the interpreter released. */
static ssize_t
receive(int fd, char piece[PIECE])
{
	int got[PASS_MAX];
	size_t count = 0;
	ssize_t n;

	Py_BEGIN_ALLOW_THREADS;
	n = pass_recv(fd, piece, PIECE, got, &count, 0);
	Py_END_ALLOW_THREADS;
	for (size_t i = 0; i < count; i++) {
		own_fd_close(&passed_fd);
		passed_fd = got[i];
	}
	return n;
}

PyObject *
channel_read(PyObject *self, PyObject *channel)
{
	long fd = PyLong_AsLong(channel);
	char piece[PIECE];
	ssize_t n;

	(void)self;
	if (PyErr_Occurred())
		return NULL;
	while ((n = receive((int)fd, piece)) < 0 && errno == EINTR)
		if (PyErr_CheckSignals() < 0)
			return NULL;
	return n < 0 ? PyErr_SetFromErrno(PyExc_OSError)
		     : PyBytes_FromStringAndSize(piece, n);
}

PyObject *
channel_passed(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromLong(take_fd(&passed_fd));
}
