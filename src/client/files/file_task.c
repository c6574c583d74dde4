#include "client/files/file_task.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

static const char *const names[] = {
	[REMIT_FILE_READ] = "read",	[REMIT_FILE_WRITE] = "write",
	[REMIT_FILE_LIST] = "list",	[REMIT_FILE_STAT] = "stat",
	[REMIT_FILE_MAKE] = "make",	[REMIT_FILE_MOVE] = "move",
	[REMIT_FILE_REMOVE] = "remove",
};

const char *
file_task_name(enum remit_file_op op)
{
	return (size_t)op < ARRAY_LEN(names) ? names[op] : NULL;
}

static int
check_path(const char *path, const char *what, struct remit_error *err)
{
	if (!path || !*path)
		return fail(err, REMIT_E_INPUT, "%s has no name", what);
	if (strlen(path) >= PATH_MAX)
		return fail(err, REMIT_E_INPUT, "the name of %s is too long",
			    what);
	return 0;
}

int
file_task_check(const struct remit_file_task *t, struct remit_error *err)
{
	if (!file_task_name(t->op))
		return fail(err, REMIT_E_INPUT, "nothing to do with a file");
	if (check_path(t->path, "the file", err) < 0)
		return -1;
	if (t->op == REMIT_FILE_MOVE &&
	    check_path(t->to, "the place to move to", err) < 0)
		return -1;
	if (t->offset > LLONG_MAX || t->length > REMIT_FILE_READ_MAX)
		return fail(err, REMIT_E_INPUT,
			    "at most %zu bytes are read at once",
			    REMIT_FILE_READ_MAX);
	if (t->depth > REMIT_FILE_DEPTH_MAX)
		return fail(err, REMIT_E_INPUT,
			    "at most %d levels are listed at once",
			    REMIT_FILE_DEPTH_MAX);
	return 0;
}

static int
add_number(struct buf *b, const char *key, unsigned long long n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", n);
	return record_add(b, key, text);
}

static int
write_task(struct buf *b, const struct remit_file_task *t)
{
	bool writes = t->op == REMIT_FILE_WRITE;
	size_t length = t->op == REMIT_FILE_READ && t->length
				? t->length
				: REMIT_FILE_READ_MAX;

	if (record_add(b, "op", names[t->op]) < 0 ||
	    record_add(b, "path", t->path) < 0 ||
	    record_add(b, "to", t->to ? t->to : "") < 0 ||
	    add_number(b, "bytes", writes ? t->len : 0) < 0 ||
	    add_number(b, "append", t->append != 0) < 0 ||
	    add_number(b, "offset", t->offset) < 0 ||
	    add_number(b, "length", length) < 0)
		return -1;
	return add_number(b, "depth", t->depth ? t->depth : 1);
}

int
file_task_send(const struct remit_file_task *t, struct link *l,
	       struct remit_error *err)
{
	own(buf) struct buf b = BUF_INIT(frame_rules[FRAME_FILE_TASK].max);

	if (write_task(&b, t) < 0)
		return fail_sys(err, REMIT_E_INPUT, "the file's name");
	if (link_send(l, FRAME_FILE_TASK, b.data, b.len, err) < 0)
		return -1;
	if (t->op != REMIT_FILE_WRITE)
		return 0;
	return link_send_pieces(l, FRAME_FILE_DATA, t->bytes, t->len, err);
}
