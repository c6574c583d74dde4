/*
 * e2b_filesystem: envd's service for files and directories, as unary calls of
 * the Connect protocol.
 */
#include <string.h>

#include "serve/e2b/connect.h"
#include "serve/e2b/files/files.h"
#include "serve/e2b/files/metadata.h"

static void
fail_call(struct filing *f, const struct remit_error *err)
{
	connect_fail(f->x, connect_code(err), err->message);
}

static void
reply_entry(struct filing *f, const struct remit_file_answer *a)
{
	if (!a->entry_count)
		connect_fail(f->x, "internal", "the answer is missing");
	else
		reply_json(f->x, 200,
			   json_pack("{s:o}", "entry",
				     filing_entry(f->sb, &a->entries[0])));
}

/* Returns NULL after it has sent an error. */
static struct filing *
begin_call(struct exchange *x, enum remit_file_op op, const char *member)
{
	const char *path = e2b_request_text(x->json, member);
	struct filing *f = filing_new(x);

	if (!f)
		return NULL;
	if (!path || filing_set_path(f, path) < 0) {
		connect_fail(x, "invalid_argument", "path: must be a string");
		return NULL;
	}
	f->task.op = op;
	f->on_answer = reply_entry;
	f->on_error = fail_call;
	return f;
}

void
e2b_stat(struct exchange *x)
{
	struct filing *f = begin_call(x, REMIT_FILE_STAT, "path");

	if (f)
		filing_begin(f);
}

void
e2b_make_dir(struct exchange *x)
{
	struct filing *f = begin_call(x, REMIT_FILE_MAKE, "path");

	if (f)
		filing_begin(f);
}

static void
reply_list(struct filing *f, const struct remit_file_answer *a)
{
	json_t *list = json_array();

	if (a->truncated) {
		json_decref(list);
		connect_fail(f->x, "resource_exhausted",
			     "too many entries for one answer: list folders "
			     "below it");
		return;
	}
	for (size_t i = 0; i < a->entry_count; i++)
		json_array_append_new(list,
				      filing_entry(f->sb, &a->entries[i]));
	reply_json(f->x, 200, json_pack("{s:o}", "entries", list));
}

void
e2b_list_dir(struct exchange *x)
{
	const json_t *depth = json_object_get(x->json, "depth");
	struct filing *f = begin_call(x, REMIT_FILE_LIST, "path");

	if (!f)
		return;
	f->task.depth = (unsigned)json_integer_value(depth);
	f->on_answer = reply_list;
	filing_begin(f);
}

/* ---- moves: the reply describes the new name ---- */

static void
ignore_answer(struct filing *f, const struct remit_file_answer *a)
{
	(void)f;
	(void)a;
}

static bool
stat_destination(struct filing *f)
{
	if (f->task.op != REMIT_FILE_MOVE)
		return false;
	f->task = (struct remit_file_task){ .op = REMIT_FILE_STAT,
					    .path = f->to };
	f->on_answer = reply_entry;
	return true;
}

void
e2b_move(struct exchange *x)
{
	const char *to = e2b_request_text(x->json, "destination");
	struct filing *f = begin_call(x, REMIT_FILE_MOVE, "source");

	if (!f)
		return;
	f->to = to ? e2b_path(to, &f->sb->names) : NULL;
	if (!f->to) {
		connect_fail(x, "invalid_argument",
			     "destination: must be a string");
		return;
	}
	f->task.to = f->to;
	f->on_answer = ignore_answer;
	f->more = stat_destination;
	filing_begin(f);
}

/* ---- removals: a missing file counts as removed ---- */

static void
reply_removed(struct filing *f, const struct remit_file_answer *a)
{
	(void)a;
	metadata_forget(f->sb, f->path);
	reply_json(f->x, 200, json_object());
}

static void
fail_removal(struct filing *f, const struct remit_error *err)
{
	if (err->sys_errno == ENOENT)
		reply_removed(f, NULL);
	else
		fail_call(f, err);
}

void
e2b_remove(struct exchange *x)
{
	struct filing *f = begin_call(x, REMIT_FILE_REMOVE, "path");

	if (!f)
		return;
	f->on_answer = reply_removed;
	f->on_error = fail_removal;
	filing_begin(f);
}
