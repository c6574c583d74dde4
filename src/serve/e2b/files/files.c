#include "serve/e2b/files/files.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "serve/e2b/connect.h"
#include "serve/e2b/files/metadata.h"
#include "serve/e2b/files/watch.h"

/* ---- in turn with the cells ---- */

static void
filing_free(void *filing)
{
	struct filing *f = filing;

	watcher_unref(f->watcher);
	sandbox_unref(f->sb);
	multipart_free(&f->form);
	json_decref(f->made);
	json_decref(f->metadata);
	free(f->path);
	free(f->to);
	free(f);
}

struct filing *
filing_new(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	struct filing *f = sb ? calloc(1, sizeof(*f)) : NULL;

	if (f) {
		f->x = x;
		f->sb = sb;
		exchange_own(x, f, filing_free);
	} else if (sb) {
		e2b_fail(x, 500, "no memory");
		sandbox_unref(sb);
	}
	return f;
}

int
filing_set_path(struct filing *f, const char *path)
{
	free(f->path);
	f->path = e2b_path(path, &f->sb->names);
	f->task.path = f->path;
	return f->path ? 0 : -1;
}

static void
filing_on_file(void *user, const struct remit_file_answer *answer)
{
	struct filing *f = user;

	f->on_answer(f, answer);
}

static void filing_on_result(void *user, struct remit_result *res,
			     const struct remit_error *err);
static const struct hosted_events events = {
	.file = filing_on_file,
	.result = filing_on_result,
};

static void
queue_task(struct filing *f)
{
	struct hosted_loan none = { 0 };
	struct remit_error err;

	if (hosted_file(f->sb->hosted, &f->task, none, &events, f, &err) < 0)
		filing_on_result(f, NULL, &err);
}

static void
filing_on_result(void *user, struct remit_result *res,
		 const struct remit_error *err)
{
	struct filing *f = user;

	(void)res;
	if (!err && f->more && f->more(f)) {
		queue_task(f);
		return;
	}
	if (err)
		f->on_error(f, err);
	exchange_unref_sent(f->x);
}

void
filing_begin(struct filing *f)
{
	exchange_ref(f->x);
	queue_task(f);
}

/* ---- the formats of envd ---- */

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void
add_link(json_t *doc, const struct remit_file_entry *e)
{
	const char *target = e->resolved ? e->resolved
			     : e->target ? e->target
					 : "";

	json_object_set_new(doc, "symlinkTarget",
			    text_to_json(target, strlen(target)));
	/* Newer clients report a link by this, and older ones ignore it. */
	json_object_set_new(doc, "isSymlink", json_true());
}

json_t *
filing_entry(struct sandbox *sb, const struct remit_file_entry *e)
{
	/* A session that lies may send no type, or a link to a link. */
	static const char *const types[] = {
		[0] = "FILE_TYPE_UNSPECIFIED",
		[REMIT_FILE_IS_LINK] = "FILE_TYPE_UNSPECIFIED",
		[REMIT_FILE_IS_REGULAR] = "FILE_TYPE_FILE",
		[REMIT_FILE_IS_FOLDER] = "FILE_TYPE_DIRECTORY",
		[REMIT_FILE_IS_OTHER] = "FILE_TYPE_UNSPECIFIED",
	};
	static const char bits[] = "rwxrwxrwx";
	char permissions[11], size[24], time_text[48], day[32];
	time_t seconds = (time_t)(e->modified_ns / 1000000000);
	const char *name = last_part(e->path);
	bool is_link = e->type == REMIT_FILE_IS_LINK;
	/* A link has the type and the mode of what it leads to. */
	enum remit_file_type type = !is_link	  ? e->type
				    : e->resolved ? e->resolved_type
						  : REMIT_FILE_IS_OTHER;
	unsigned mode = is_link ? e->resolved_mode : e->mode;
	struct tm utc;
	json_t *doc;

	permissions[0] = e->type == REMIT_FILE_IS_FOLDER ? 'd'
			 : is_link			 ? 'L'
							 : '-';
	for (int i = 0; i < 9; i++)
		permissions[1 + i] = e->mode & (256u >> i) ? bits[i] : '-';
	permissions[10] = '\0';
	snprintf(size, sizeof(size), "%llu", e->size);
	gmtime_r(&seconds, &utc);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(time_text, sizeof(time_text), "%s.%09lldZ", day,
		 e->modified_ns % 1000000000);
	doc = json_pack("{s:o, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s}", "name",
			text_to_json(name, strlen(name)), "type", types[type],
			"path", text_to_json(e->path, strlen(e->path)), "size",
			size, "mode", (int)mode, "permissions", permissions,
			"owner", "user", "group", "user", "modifiedTime",
			time_text);
	if (doc && is_link)
		add_link(doc, e);
	if (doc)
		metadata_add(doc, sb, e);
	return doc;
}

static void
fail_file(struct filing *f, const struct remit_error *err)
{
	bool is_missing = err->sys_errno == ENOENT || err->sys_errno == ENOTDIR;
	int status = is_missing			    ? 404
		     : err->sys_errno == ENOSPC	    ? 507
		     : err->code == REMIT_E_INPUT   ? 400
		     : err->code == REMIT_E_REFUSED ? 400
		     : err->code == REMIT_E_BUSY    ? 429
						    : 502;

	e2b_fail(f->x, status, "%s", err->message);
}

/* ---- downloads ---- */

static void
send_download(struct filing *f, const struct remit_file_answer *a)
{
	bool is_whole = !a->entry_count ||
			f->task.offset + a->len >= a->entries[0].size ||
			!a->len;

	if (!f->task.offset && is_whole) {
		reply_bytes(f->x, 200, "application/octet-stream", a->bytes,
			    a->len);
		return;
	}
	if (!f->task.offset)
		reply_begin(f->x, 200, "application/octet-stream");
	if (reply_piece(f->x, a->bytes, a->len) < 0 || is_whole)
		reply_end(f->x);
	else
		f->next = 1;
	f->task.offset += a->len;
}

static bool
download_more(struct filing *f)
{
	bool more = f->next;

	f->next = 0;
	return more;
}

/* Breaks the stream if a part was already sent. */
static void
fail_download(struct filing *f, const struct remit_error *err)
{
	if (f->task.offset)
		reply_abort(f->x);
	else
		fail_file(f, err);
}

static void
get_file(struct exchange *x)
{
	const char *path = exchange_query(x, "path");
	struct filing *f = filing_new(x);

	if (!f)
		return;
	if (!path || filing_set_path(f, path) < 0) {
		e2b_fail(x, 400, "path: is missing");
		return;
	}
	/* Browsers must not render files of a program as pages of this
	   server. */
	reply_header(x, "Content-Disposition", "attachment");
	reply_header(x, "Content-Security-Policy", "sandbox");
	f->task.op = REMIT_FILE_READ;
	f->on_answer = send_download;
	f->on_error = fail_download;
	f->more = download_more;
	filing_begin(f);
}

/* ---- uploads ---- */

static bool
set_upload(struct filing *f)
{
	const struct multipart_file *file = &f->form.files[f->next];
	const char *path = exchange_query(f->x, "path");

	f->task.op = REMIT_FILE_WRITE;
	f->task.bytes = file->bytes;
	f->task.len = file->len;
	return filing_set_path(f, path ? path : file->filename) == 0;
}

static void
note_upload(struct filing *f, const struct remit_file_answer *a)
{
	const char *path = a->entry_count ? a->entries[0].path : f->path;
	const char *name = last_part(path);
	json_t *doc = json_pack(
		"{s:o, s:s, s:o}", "name", text_to_json(name, strlen(name)),
		"type", "file", "path", text_to_json(path, strlen(path)));

	if (doc && a->entry_count) {
		f->has_failed |=
			metadata_set(f->sb, &a->entries[0], f->metadata) < 0;
		metadata_add(doc, f->sb, &a->entries[0]);
	}
	json_array_append_new(f->made, doc);
}

static bool
upload_more(struct filing *f)
{
	if (f->has_failed) {
		e2b_fail(f->x, 507,
			 "this sandbox has too much metadata of files: the "
			 "file was written without it");
		return false;
	}
	if (++f->next < f->form.count && set_upload(f))
		return true;
	reply_json(f->x, 200, json_incref(f->made));
	return false;
}

/* Parses the body. Returns -1 if it is neither a form nor the bytes of a named
   file. */
static int
read_upload(struct filing *f)
{
	struct http_text type = exchange_header(f->x, "content-type");
	const struct buf *body = &f->x->body.data;
	bool is_packed = exchange_header_is(f->x, "content-encoding", "gzip");
	char boundary[80];

	if (type.len && multipart_boundary(type.text, type.len, boundary))
		return is_packed ? -1
				 : multipart_read(&f->form, buf_text(body),
						  body->len, boundary);
	if (!exchange_query(f->x, "path"))
		return -1;
	/* The session's process decompresses: a hostile body is parsed where
	   code runs anyway, and its size is bounded by the disk there. */
	f->task.gunzip = is_packed;
	f->form.files[0] = (struct multipart_file){ strdup(""), buf_text(body),
						    body->len };
	f->form.count = 1;
	return 0;
}

static void
post_file(struct exchange *x)
{
	struct filing *f = filing_new(x);

	if (!f)
		return;
	f->made = json_array();
	f->metadata = metadata_read(x);
	if (!f->metadata)
		return;
	if (read_upload(f) < 0 || !f->form.count || !set_upload(f)) {
		e2b_fail(x, 400,
			 "the body is neither a form with files nor the bytes "
			 "of a file with a given path");
		return;
	}
	f->on_answer = note_upload;
	f->on_error = fail_file;
	f->more = upload_more;
	filing_begin(f);
}

#define FILESYSTEM(name, what)                             \
	{                                                  \
		.method = "POST",                          \
		.pattern = "/filesystem.Filesystem/" name, \
		.serve = (what),                           \
		.body = BODY_JSON,                         \
		.is_open = true,                           \
		.admits = e2b_admits,                      \
		.fail = e2b_fail_text,                     \
	}

const struct route e2b_file_routes[] = {
	{
		.method = "GET",
		.pattern = "/files",
		.serve = get_file,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{
		.method = "POST",
		.pattern = "/files",
		.serve = post_file,
		.body = BODY_BYTES,
		.takes_gzip = true,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	FILESYSTEM("Stat", e2b_stat),
	FILESYSTEM("ListDir", e2b_list_dir),
	FILESYSTEM("MakeDir", e2b_make_dir),
	FILESYSTEM("Move", e2b_move),
	FILESYSTEM("Remove", e2b_remove),
	FILESYSTEM("CreateWatcher", e2b_create_watcher),
	FILESYSTEM("GetWatcherEvents", e2b_get_events),
	FILESYSTEM("RemoveWatcher", e2b_remove_watcher),
	{
		.method = "POST",
		.pattern = "/filesystem.Filesystem/WatchDir",
		.serve = e2b_watch_dir,
		.body = BODY_BYTES,
		.body_max = E2B_MESSAGE_MAX,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{ 0 },
};
