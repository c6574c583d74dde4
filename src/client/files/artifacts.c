#include "client/files/artifacts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/file/io.h"
#include "base/file/path.h"
#include "base/text.h"
#include "client/files/content_type.h"
#include "wire/record.h"

/* initial-exec avoids a function of the dynamic linker, on which a wheel must
   not depend. */
static _Thread_local const struct artifacts_gate *gate
	__attribute__((tls_model("initial-exec")));

void
artifacts_use_gate(const struct artifacts_gate *given)
{
	gate = given;
}

int
artifacts_open(struct artifacts *a, const char *directory,
	       struct remit_error *err)
{
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: make %s",
				directory);
	a->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->directory < 0)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: open %s",
				directory);
	a->host_path = realpath(directory, NULL);
	if (!a->host_path)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: %s", directory);
	a->made = json_array();
	a->skipped = json_array();
	return a->made && a->skipped ? 0 : fail_memory(err, "artifacts");
}

/* ---- one file ---- */

static void
discard_file(struct artifacts *a)
{
	if (a->file >= 0)
		unlinkat(a->parent, a->temporary, 0);
	own_fd_close(&a->file);
	own_fd_close(&a->parent);
	a->file = a->parent = -1;
	free(a->path);
	a->path = NULL;
}

/* Record the file as skipped. The run itself does not fail. */
static int
skip_file(struct artifacts *a, const char *reason, struct remit_error *err)
{
	json_t *row =
		json_pack("{s:s, s:s}", "path", a->path, "reason", reason);

	discard_file(a);
	return json_array_append_new(a->skipped, row) < 0
		       ? fail_memory(err, "artifacts")
		       : 0;
}

static int
skip_sys(struct artifacts *a, struct remit_error *err)
{
	char reason[128];

	if (errno == EEXIST)
		return skip_file(a, "a file of this name exists already", err);
	snprintf(reason, sizeof(reason), "writing failed: %.90s",
		 strerror(errno));
	return skip_file(a, reason, err);
}

static int
create_temporary(struct artifacts *a)
{
	uint64_t noise = 0;
	const char *name;

	a->parent = beneath_make_parent(a->directory, a->path, 0700, &name);
	if (a->parent < 0 || getrandom(&noise, sizeof(noise), 0) < 0)
		return -1;
	snprintf(a->temporary, sizeof(a->temporary), ".remit-%016llx",
		 (unsigned long long)noise);
	a->file = openat(a->parent, a->temporary,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	return a->file < 0 ? -1 : 0;
}

static int
finish_file(struct artifacts *a, struct remit_error *err)
{
	char host_path[2 * PATH_MAX];
	json_t *row;
	int failed = close(a->file);

	a->file = -1;
	if (failed < 0 || renameat2(a->parent, a->temporary, a->parent,
				    path_name(a->path), RENAME_NOREPLACE) < 0) {
		int why = errno;

		unlinkat(a->parent, a->temporary, 0);
		errno = why;
		return skip_sys(a, err);
	}
	snprintf(host_path, sizeof(host_path), "%s/%s",
		 strcmp(a->host_path, "/") ? a->host_path : "", a->path);
	row = json_pack("{s:s, s:I, s:s, s:o}", "path", a->path, "size_bytes",
			(json_int_t)a->size_bytes, "content_type", a->type,
			"host_path",
			text_to_json(host_path, strlen(host_path)));
	discard_file(a);
	return json_array_append_new(a->made, row) < 0
		       ? fail_memory(err, "artifacts")
		       : 0;
}

int
artifacts_begin(struct artifacts *a, const char *payload, size_t len,
		struct remit_error *err)
{
	struct file_head h;

	/* Drop an incomplete file. */
	discard_file(a);
	if (a->directory < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "an artifact that was not requested");
	if (file_head_read(&h, payload, len, err) < 0)
		return -1;
	if (!plain_path(h.path))
		return fail(err, REMIT_E_PROTOCOL,
			    "an artifact with an invalid name");
	a->path = strdup(h.path);
	if (!a->path)
		return fail_memory(err, "artifacts");
	a->size_bytes = a->left_bytes = h.size_bytes;
	a->type = content_type(a->path, "", 0);
	if (gate && !gate->admits(gate->user, a->path, a->size_bytes))
		return skip_file(a, "no space is left for artifacts", err);
	if (create_temporary(a) < 0)
		return skip_sys(a, err);
	return a->left_bytes ? 0 : finish_file(a, err);
}

int
artifacts_add(struct artifacts *a, const char *bytes, size_t len,
	      struct remit_error *err)
{
	/* The bytes of a skipped file still arrive; ignore them. */
	if (!a->path)
		return 0;
	if (len > a->left_bytes)
		return fail(err, REMIT_E_PROTOCOL,
			    "an artifact is longer than announced");
	if (a->left_bytes == a->size_bytes)
		a->type = content_type(a->path, bytes, len);
	a->left_bytes -= len;
	if (io_write_all(a->file, bytes, len) < 0)
		return skip_sys(a, err);
	return a->left_bytes ? 0 : finish_file(a, err);
}

/* ---- all of them ---- */

static int
by_path(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return strcmp(json_string_value(json_object_get(*x, "path")),
		      json_string_value(json_object_get(*y, "path")));
}

/* Sort the rows by path, since directories have no order. */
static json_t *
sorted_rows(const json_t *rows)
{
	size_t n = json_array_size(rows);
	json_t **all = calloc(n ? n : 1, sizeof(json_t *));
	json_t *out = all ? json_array() : NULL;

	for (size_t i = 0; out && i < n; i++)
		all[i] = json_array_get(rows, i);
	if (out)
		qsort(all, n, sizeof(json_t *), by_path);
	for (size_t i = 0; out && i < n; i++)
		json_array_append(out, all[i]);
	free(all);
	return out;
}

int
artifacts_report(struct artifacts *a, json_t *result, struct remit_error *err)
{
	json_t *skipped = json_object_get(result, "artifacts_skipped");
	bool any = a && a->directory >= 0;

	if (a)
		discard_file(a);
	if (json_object_set_new(result, "artifacts",
				any ? sorted_rows(a->made) : json_array()) < 0)
		return fail_memory(err, "artifacts");
	if (any && json_array_size(a->skipped) &&
	    json_array_extend(skipped, a->skipped) < 0)
		return fail_memory(err, "artifacts");
	return 0;
}

void
artifacts_free(struct artifacts *a)
{
	discard_file(a);
	own_fd_close(&a->directory);
	a->directory = -1;
	free(a->host_path);
	a->host_path = NULL;
	json_decref(a->made);
	json_decref(a->skipped);
	a->made = a->skipped = NULL;
}
