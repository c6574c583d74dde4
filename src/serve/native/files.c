/*
 * native_files: files of a session. They are read and written between two
 * cells, by a process inside the jail, so the jail's rules apply.
 */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "client/files/content_type.h"
#include "serve/native/native.h"
#include "serve/openapi.h"
#include "serve/server.h"

/* A request for a file. */
struct file_request {
	struct exchange *x;
	struct hosted *hosted;
	struct remit_file_task task;
};

static void
file_request_free(void *given)
{
	struct file_request *w = given;

	hosted_unref(w->hosted);
	free(w);
}

/* ---- events ---- */

static int
file_error_status(const struct remit_error *err)
{
	static const struct {
		int number, status;
	} known[] = {
		{ ENOENT, 404 },    { EACCES, 403 }, { EPERM, 403 },
		{ EROFS, 403 },	    { EISDIR, 409 }, { ENOTDIR, 409 },
		{ ENOTEMPTY, 409 }, { ENOSPC, 507 }, { EDQUOT, 507 },
		{ EFBIG, 413 },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (err->code == REMIT_E_INPUT &&
		    known[i].number == err->sys_errno)
			return known[i].status;
	return 0;
}

static void
file_request_on_end(void *user, struct remit_result *res,
		    const struct remit_error *err)
{
	struct file_request *w = user;
	int status = err ? file_error_status(err) : 0;

	(void)res;
	if (status)
		reply_json(w->x, status, reply_error_json(err));
	else if (err)
		reply_error(w->x, err);
	exchange_unref_sent(w->x);
}

/* Browsers must not render files of a program as pages of this server. */
static void
file_request_on_read(void *user, const struct remit_file_answer *a)
{
	struct exchange *x = ((struct file_request *)user)->x;
	const struct remit_file_entry *file = &a->entries[0];
	unsigned long long end =
		((struct file_request *)user)->task.offset + a->len;

	if (end < file->size && !exchange_query(x, "length")) {
		reply_fail(x, 413, "input",
			   "the file has %llu bytes: read it in parts with "
			   "offset and length",
			   file->size);
		return;
	}
	reply_header(x, "Content-Disposition", "attachment");
	reply_header(x, "Content-Security-Policy", "sandbox");
	reply_bytes(x, 200, content_type(file->path, a->bytes, a->len),
		    a->bytes, a->len);
}

static json_t *
entry_json(const struct remit_file_entry *e)
{
	static const char *const types[] = {
		[REMIT_FILE_IS_REGULAR] = "file",
		[REMIT_FILE_IS_FOLDER] = "folder",
		[REMIT_FILE_IS_LINK] = "link",
		[REMIT_FILE_IS_OTHER] = "other",
	};

	return json_pack("{s:o, s:s, s:I, s:f}", "path",
			 text_to_json(e->path, strlen(e->path)), "type",
			 types[e->type], "size", (json_int_t)e->size,
			 "modified", (double)e->modified_ns / 1e9);
}

static void
file_request_on_list(void *user, const struct remit_file_answer *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->entry_count; i++)
		json_array_append_new(list, entry_json(&a->entries[i]));
	reply_json(((struct file_request *)user)->x, 200, list);
}

static void
file_request_on_written(void *user, const struct remit_file_answer *a)
{
	reply_json(((struct file_request *)user)->x, 200,
		   entry_json(&a->entries[0]));
}

static void
file_request_on_removed(void *user, const struct remit_file_answer *a)
{
	(void)a;
	reply_json(((struct file_request *)user)->x, 200, json_object());
}

/* ---- requests ---- */

/* Parses a number in the query. Returns -1 after it has sent an error. */
static int
parse_query_number(struct exchange *x, const char *name, uint64_t most,
		   uint64_t *out)
{
	const char *text = exchange_query(x, name);

	if (!text || (number_parse(out, text) == 0 && *out <= most))
		return 0;
	reply_fail(x, 400, "input", "%s: must be a number up to %llu", name,
		   (unsigned long long)most);
	return -1;
}

/* Path and bytes belong to the exchange, which has a reference until the
   end. */
static void
begin_file_request(struct exchange *x, struct remit_file_task task,
		   const struct hosted_events *events)
{
	struct hosted_loan none = { 0 };
	struct file_request *w;
	struct remit_error err;
	struct hosted *hosted;

	task.path = exchange_query(x, "path");
	if (!task.path || !*task.path) {
		reply_fail(x, 400, "input", "path: is missing");
		return;
	}
	hosted = hosted_find(x->server->hosted_table, x->owner,
			     exchange_param(x, "id"));
	if (!hosted) {
		native_unknown(x, "session");
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		hosted_unref(hosted);
		reply_fail(x, 500, "memory", "no memory");
		return;
	}
	*w = (struct file_request){ exchange_ref(x), hosted, task };
	exchange_own(x, w, file_request_free);
	if (hosted_file(hosted, &w->task, none, events, w, &err) < 0)
		file_request_on_end(w, NULL, &err);
}

static void
get_file(struct exchange *x)
{
	static const struct hosted_events reading = {
		.file = file_request_on_read, .result = file_request_on_end
	};
	static const struct hosted_events listing = {
		.file = file_request_on_list, .result = file_request_on_end
	};
	struct remit_file_task task = { .op = REMIT_FILE_READ };
	uint64_t depth = 0, offset = 0, length = 0;

	if (parse_query_number(x, "list", REMIT_FILE_DEPTH_MAX, &depth) < 0 ||
	    parse_query_number(x, "offset", INT64_MAX, &offset) < 0 ||
	    parse_query_number(x, "length", REMIT_FILE_READ_MAX, &length) < 0)
		return;
	task.offset = offset;
	task.length = length;
	if (exchange_query(x, "list")) {
		task.op = REMIT_FILE_LIST;
		task.depth = (unsigned)depth;
	}
	begin_file_request(x, task,
			   task.op == REMIT_FILE_LIST ? &listing : &reading);
}

static void
put_file(struct exchange *x)
{
	static const struct hosted_events writing = {
		.file = file_request_on_written, .result = file_request_on_end
	};
	struct remit_file_task task = {
		.op = REMIT_FILE_WRITE,
		.bytes = buf_text(&x->body.data),
		.len = x->body.data.len,
	};

	begin_file_request(x, task, &writing);
}

static void
delete_file(struct exchange *x)
{
	static const struct hosted_events removing = {
		.file = file_request_on_removed, .result = file_request_on_end
	};
	struct remit_file_task task = { .op = REMIT_FILE_REMOVE };

	begin_file_request(x, task, &removing);
}

_Static_assert(REMIT_FILE_DEPTH_MAX == 64, "as the table says");
_Static_assert(REMIT_FILE_READ_MAX == 67108864, "as the table says");

static const struct route_query names[] = {
	{ "path", NAME_NOT_EMPTY, "relative to the workspace, or absolute",
	  true },
	{ 0 },
};

static const struct route_query reads[] = {
	{ "path", NAME_NOT_EMPTY, "relative to the workspace, or absolute",
	  true },
	{ "list", UP_TO("64"), "list a folder to this depth", false },
	{ "offset", UP_TO(INT64_MAX_TEXT), "where to begin, in bytes", false },
	{ "length", UP_TO("67108864"), "how many bytes to read", false },
	{ 0 },
};

const struct route native_file_routes[] = {
	{
		.method = "GET",
		.pattern = "/v1/sessions/{id}/files",
		.serve = get_file,
		.summary = "Read a file, or list a folder",
		.queries = reads,
		.type = "*/*",
	},
	{
		.method = "PUT",
		.pattern = "/v1/sessions/{id}/files",
		.serve = put_file,
		.body = BODY_BYTES,
		.summary = "Write a file",
		.queries = names,
		.reply_schema = "FileEntry",
	},
	{
		.method = "DELETE",
		.pattern = "/v1/sessions/{id}/files",
		.serve = delete_file,
		.summary = "Remove a file or folder",
		.queries = names,
		.reply_schema = "Nothing",
	},
	{ 0 },
};
