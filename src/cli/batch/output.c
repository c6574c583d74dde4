#include "cli/batch/output.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cli/batch/lines.h"

/* ---- results of an earlier batch ---- */

/* Two outputs of 1 GiB with each byte escaped, and a margin. */
#define RESULT_MAX ((size_t)16 << 30)

/* The first bytes of every result. */
static const char head[] = "{\"id\":";

static void
line_key(char out[32], unsigned long long line)
{
	/* No id looks like this: ids begin with a digit, '-' or '"'. */
	snprintf(out, 32, "line %llu", line);
}

static int
no_result(const struct batch_lines *l, const char *name,
	  struct remit_error *err)
{
	fail(err, REMIT_E_INPUT,
	     "%s: line %llu is not a result of \"remit batch\", so Remit does "
	     "not add to this file",
	     name, (unsigned long long)l->number);
	return -1;
}

static int
add_line(const struct batch_lines *l, const char *name, struct batch_ids *done,
	 struct remit_error *err)
{
	json_auto_t *doc = json_loadb(buf_text(&l->line), l->line.len,
				      JSON_ALLOW_NUL, NULL);
	const json_t *line = json_object_get(doc, "line");
	const json_t *id = json_object_get(doc, "id");
	own_mem char *text = NULL;
	char number[32];
	bool is_new;

	if (!json_is_string(json_object_get(doc, "status")) ||
	    !(json_is_integer(id) || json_is_string(id)))
		return no_result(l, name, err);
	text = json_dumps(id, JSON_ENCODE_ANY);
	line_key(number, (unsigned long long)json_integer_value(line));
	if (!text || batch_ids_add(done, line ? number : text, &is_new) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "read %s", name);
	return 0;
}

/* Cut only what looks like the beginning of a result: the user may have named
   another file, which consists of one line without a newline. */
static int
cut_torn_line(const struct batch_lines *l, const char *name,
	      struct remit_error *err)
{
	size_t known = l->line.len < strlen(head) ? l->line.len : strlen(head);

	if (l->is_long || memcmp(buf_text(&l->line), head, known) != 0)
		return no_result(l, name, err);
	if (ftruncate(l->fd, (off_t)(l->end - l->line.len)) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"cut off the incomplete last line of %s", name);
	return 0;
}

/*
 * Add the ids of all results in the file to *done. A last line without its
 * newline is cut off: the batch was killed while it wrote the line. Returns -1
 * and cuts nothing if a line is not a result.
 */
static int
batch_resume_read(int fd, const char *name, struct batch_ids *done,
		  struct remit_error *err)
{
	own(batch_lines) struct batch_lines l =
		BATCH_LINES_INIT(fd, RESULT_MAX);
	enum batch_lines_answer a;

	while ((a = batch_lines_next(&l, err)) == BATCH_LINES_GIVEN) {
		if (l.is_torn)
			return cut_torn_line(&l, name, err);
		if (!batch_lines_is_blank(&l) &&
		    add_line(&l, name, done, err) < 0)
			return -1;
	}
	return a == BATCH_LINES_END ? 0 : fail_within(err, "%s", name);
}

bool
batch_resume_is_done(const struct batch_ids *done, const struct batch_job *j)
{
	char number[32];

	line_key(number, j->line);
	return batch_ids_has(done, j->is_bad ? number : j->id);
}

/* ---- the output ---- */

static int
fail_with(struct remit_error *err, const char *remedy)
{
	snprintf(err->remedy, sizeof(err->remedy), "%s", remedy);
	return -1;
}

/* A batch that reads its own results would never end, or would destroy its
   jobs. */
static int
check_other(const struct batch_output *o, const struct stat *st, int input,
	    struct remit_error *err)
{
	struct stat in;

	if (S_ISREG(st->st_mode) && fstat(input, &in) == 0 &&
	    in.st_dev == st->st_dev && in.st_ino == st->st_ino)
		return fail(err, REMIT_E_INPUT,
			    "%s: the jobs and the results are the same file",
			    o->name);
	return 0;
}

/* Handle results that the file already contains. */
static int
prepare_existing(const struct batch_output *o, const struct stat *st,
		 enum batch_output_mode mode, struct batch_ids *done,
		 struct remit_error *err)
{
	switch (mode) {
	case BATCH_OUTPUT_RESUME:
		if (S_ISREG(st->st_mode))
			return batch_resume_read(o->fd, o->name, done, err);
		return fail(err, REMIT_E_INPUT,
			    "%s: --resume needs a regular file", o->name);
	case BATCH_OUTPUT_FORCE:
		if (st->st_size && ftruncate(o->fd, 0) < 0)
			return fail_sys(err, REMIT_E_INPUT, "empty %s",
					o->name);
		return 0;
	case BATCH_OUTPUT_NEW:
		break;
	}
	if (!st->st_size)
		return 0;
	fail(err, REMIT_E_INPUT, "%s is not empty", o->name);
	return fail_with(err, "Use --resume to continue with its results, or "
			      "--force to overwrite them.");
}

static int
open_file(struct batch_output *o, const char *path, enum batch_output_mode mode,
	  struct remit_error *err)
{
	int access = mode == BATCH_OUTPUT_RESUME ? O_RDWR : O_WRONLY;

	o->name = path;
	o->fd = open(path, access | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return fail_sys(err, REMIT_E_INPUT, "open %s", path);
	if (flock(o->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return fail(err, REMIT_E_BUSY,
			    "%s: another batch is writing to it", path);
	return 0;
}

int
batch_output_open(struct batch_output *o, const char *path,
		  enum batch_output_mode mode, int input,
		  struct batch_ids *done, struct remit_error *err)
{
	own(batch_output) struct batch_output new = { .fd = 1,
						      .name = "results" };
	struct stat st;

	if (path && open_file(&new, path, mode, err) < 0)
		return -1;
	if (fstat(new.fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "%s", new.name);
	if (check_other(&new, &st, input, err) < 0 ||
	    (path && prepare_existing(&new, &st, mode, done, err) < 0))
		return -1;
	*o = (struct batch_output){ .fd = take_fd(&new.fd), .name = new.name };
	return 0;
}

/* Remove an incomplete line from the end of a regular file. */
static void
undo_partial_write(const struct batch_output *o, size_t written)
{
	off_t at = lseek(o->fd, 0, SEEK_CUR);
	struct stat st;

	if (written && at >= (off_t)written && fstat(o->fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size == at &&
	    ftruncate(o->fd, at - (off_t)written) == 0)
		lseek(o->fd, at - (off_t)written, SEEK_SET);
}

/* The output may be a non-blocking pipe. */
static int
wait_until_writable(const struct batch_output *o)
{
	struct pollfd fd = { .fd = o->fd, .events = POLLOUT };

	return poll(&fd, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

int
batch_output_write(const struct batch_output *o, const struct buf *line,
		   struct remit_error *err)
{
	size_t written = 0;

	/* A regular file accepts the whole line at once, unless the disk is
	   full. */
	while (written < line->len) {
		ssize_t n =
			write(o->fd, line->data + written, line->len - written);

		if (n >= 0) {
			written += (size_t)n;
			continue;
		}
		if (errno == EINTR ||
		    (errno == EAGAIN && wait_until_writable(o) == 0))
			continue;
		fail_sys(err, REMIT_E_KERNEL, "write to %s", o->name);
		undo_partial_write(o, written);
		return -1;
	}
	return 0;
}

void
batch_output_free(struct batch_output *o)
{
	own_fd_close(&o->fd);
	o->fd = -1;
}
