/*
 * job: reads and parses the next program from the keeper. In C, because every
 * run waits for it.
 */
#include "module.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "wire/frame.h"

#define PIECE 16384

/* The bytes that were read, and how many of them were consumed. */
struct stream {
	int fd;
	struct buf data;
	size_t used;
};

/* The parts of the program that have arrived. */
struct job {
	PyObject *name, *argv, *code, *display_mode;
	size_t code_bytes;
};

static PyObject *
fail_protocol(const char *what)
{
	return PyErr_Format(PyExc_RuntimeError, "the keeper sent %s", what);
}

/* Reads until `want` bytes are available. Returns -1 with an exception. */
static int
stream_fill(struct stream *s, size_t want)
{
	buf_drop(&s->data, s->used);
	s->used = 0;
	while (s->data.len < want) {
		char part[PIECE];
		ssize_t n = read(s->fd, part, sizeof(part));

		if (n < 0 && errno == EINTR && PyErr_CheckSignals() == 0)
			continue;
		if (n == 0)
			PyErr_SetString(PyExc_EOFError, "the keeper is gone");
		else if (n < 0 && !PyErr_Occurred())
			PyErr_SetFromErrno(PyExc_OSError);
		if (n <= 0)
			return -1;
		if (buf_add(&s->data, part, (size_t)n) < 0) {
			PyErr_NoMemory();
			return -1;
		}
	}
	return 0;
}

/* Returns the payload of the next frame, which must be of this type. Valid
   until the next call. Returns NULL with an exception. */
static const char *
stream_next_frame(struct stream *s, enum frame_type type, size_t *len)
{
	const unsigned char *head;
	const char *payload;
	uint32_t n;

	if (stream_fill(s, FRAME_HEADER) < 0)
		return NULL;
	head = (const unsigned char *)s->data.data;
	memcpy(&n, head, sizeof(n));
	if (head[4] != type) {
		fail_protocol("another frame than expected");
		return NULL;
	}
	if (n > frame_rules[type].max) {
		fail_protocol("a frame that is too long");
		return NULL;
	}
	if (stream_fill(s, FRAME_HEADER + (size_t)n) < 0)
		return NULL;
	payload = s->data.data + FRAME_HEADER;
	s->used = FRAME_HEADER + n;
	*len = n;
	return payload;
}

static PyObject *
decode_text(const char *bytes)
{
	return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes),
				    "surrogateescape");
}

static int
job_read_record(struct job *j, const char *key, const char *value)
{
	PyObject *v;
	int bad = 0;

	if (!strcmp(key, "code_bytes")) {
		j->code_bytes = strtoul(value, NULL, 10);
		return 0;
	}
	v = decode_text(value);
	if (!v)
		return -1;
	if (!strcmp(key, "argv"))
		bad = PyList_Append(j->argv, v);
	if (!strcmp(key, "name") && !j->name)
		j->name = v;
	else if (!strcmp(key, "display_mode") && !j->display_mode)
		j->display_mode = v;
	else
		Py_DecRef(v);
	return bad;
}

/* Parses records: a sequence of key NUL value NUL. */
static int
job_read_records(struct job *j, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		const char *key = at;
		const char *value = key + strnlen(key, (size_t)(end - key)) + 1;
		const char *next =
			value < end ? value +
					      strnlen(value,
						      (size_t)(end - value)) +
					      1
				    : end + 1;

		if (next > end) {
			fail_protocol("half a record");
			return -1;
		}
		if (job_read_record(j, key, value) < 0)
			return -1;
		at = next;
	}
	return 0;
}

static int
job_read_code(struct job *j, struct stream *s)
{
	size_t have = 0, n;
	char *to;

	j->code = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)j->code_bytes);
	if (!j->code)
		return -1;
	to = PyBytes_AsString(j->code);
	while (have < j->code_bytes) {
		const char *part = stream_next_frame(s, FRAME_CODE, &n);

		if (!part)
			return -1;
		if (n > j->code_bytes - have) {
			fail_protocol("too much code");
			return -1;
		}
		memcpy(to + have, part, n);
		have += n;
	}
	return 0;
}

static int
job_read(struct job *j, struct stream *s)
{
	const char *records;
	size_t len;

	j->argv = PyList_New(0);
	if (!j->argv)
		return -1;
	records = stream_next_frame(s, FRAME_JOB, &len);
	if (!records || job_read_records(j, records, len) < 0)
		return -1;
	if (!j->name || !j->display_mode) {
		fail_protocol("a job without its name and mode");
		return -1;
	}
	return job_read_code(j, s);
}

/* Returns everything that was read, as bytes. */
static PyObject *
stream_rest(const struct stream *s)
{
	return PyBytes_FromStringAndSize(s->data.data, (Py_ssize_t)s->data.len);
}

PyObject *
job_receive(PyObject *self, PyObject *args)
{
	/* Large enough for one frame and the part of the next that was read
	   with it. */
	struct stream s = { .data = BUF_INIT(frame_rules[FRAME_JOB].max +
					     FRAME_HEADER + PIECE) };
	struct job j = { 0 };
	PyObject *begun, *out = NULL;

	(void)self;
	if (!PyArg_ParseTuple(args, "iS", &s.fd, &begun))
		return NULL;
	if (buf_add(&s.data, PyBytes_AsString(begun),
		    (size_t)PyBytes_Size(begun)) < 0)
		return PyErr_NoMemory();
	if (stream_fill(&s, FRAME_HEADER) < 0)
		goto end;
	if (s.data.data[4] == FRAME_FILE || s.data.data[4] == FRAME_TOOLS)
		out = stream_rest(&s);
	else if (job_read(&j, &s) == 0)
		out = Py_BuildValue("(OOOO)", j.name, j.argv, j.code,
				    j.display_mode);
end:
	Py_XDECREF(j.name);
	Py_XDECREF(j.argv);
	Py_XDECREF(j.code);
	Py_XDECREF(j.display_mode);
	buf_free(&s.data);
	return out;
}
