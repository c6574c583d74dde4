/*
 * policy_json: policy documents.
 */
#include "policy/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file/io.h"
#include "policy/fields/field.h"
#include "policy/json_place.h"

#define MAX_DOCUMENT (1024 * 1024)
#define MAX_DEPTH    8

/* The text, and its name in error messages. */
struct document {
	const char *text;
	size_t len;
	char source[128];
};

static int
fail_at(const struct document *d, unsigned line, struct remit_error *err)
{
	if (line)
		return fail_within(err, "%s:%u", d->source, line);
	return fail_within(err, "%s", d->source);
}

static int
fail_at_key(const struct document *d, const char *key, struct remit_error *err)
{
	return fail_at(d, json_place_line(d->text, d->len, key), err);
}

static const struct field *
find_exact(const char *name)
{
	for (int i = 0; i < FIELD_TOTAL; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int
unknown_field(const char *key, struct remit_error *err)
{
	const char *near = field_nearest(key);
	char shown[QUOTE_SIZE];

	quote(shown, key);
	if (near)
		return fail(err, REMIT_E_INPUT,
			    "unknown field %s (did you mean \"%s\"?)", shown,
			    near);
	return fail(err, REMIT_E_INPUT, "unknown field %s", shown);
}

static int
apply_preset(struct policy *p, json_t *value, struct remit_error *err)
{
	const char *name = json_string_value(value);

	if (!name || strlen(name) != json_string_length(value))
		return fail(err, REMIT_E_INPUT,
			    "preset: must be the name of a preset");
	return policy_preset(p, name, err);
}

static int
apply_key(struct policy *p, const char *key, json_t *value,
	  struct remit_error *err)
{
	const struct field *f = find_exact(key);

	if (!strcmp(key, "preset"))
		return 0;
	if (!f)
		return unknown_field(key, err);
	return field_set_json(p, f, value, err);
}

static int
document_apply(struct policy *p, const struct document *d, json_t *root,
	       struct remit_error *err)
{
	json_t *value = json_object_get(root, "preset");
	const char *key;

	if (value && apply_preset(p, value, err) < 0)
		return fail_at_key(d, "preset", err);
	json_object_foreach(root, key, value)
	{
		if (apply_key(p, key, value, err) < 0)
			return fail_at_key(d, key, err);
	}
	return 0;
}

static json_t *
document_decode(const struct document *d, struct remit_error *err)
{
	json_error_t why;
	json_t *root;
	char text[JSON_ERROR_TEXT_LENGTH];

	if (d->len > MAX_DOCUMENT) {
		fail(err, REMIT_E_INPUT,
		     "%s: a policy document is at most 1 MiB", d->source);
		return NULL;
	}
	if (json_place_depth(d->text, d->len) > MAX_DEPTH) {
		fail(err, REMIT_E_INPUT, "%s: the document is nested too deep",
		     d->source);
		return NULL;
	}
	root = json_loadb(d->text, d->len,
			  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (!root)
		fail(err, REMIT_E_INPUT, "%s:%d:%d: %s", d->source, why.line,
		     why.column, quote_bare(text, sizeof(text), why.text));
	return root;
}

int
policy_parse(struct policy *p, const char *text, size_t len, const char *source,
	     struct remit_error *err)
{
	struct document d = { .text = text, .len = len };
	own(policy) struct policy fresh = { 0 };
	json_auto_t *root = NULL;
	struct policy old;

	quote_bare(d.source, sizeof(d.source), source);
	root = document_decode(&d, err);
	if (!root)
		return -1;
	if (!json_is_object(root))
		return fail(err, REMIT_E_INPUT,
			    "%s: a policy must be a JSON object", d.source);
	if (policy_copy(&fresh, p) < 0)
		return fail_memory(err, d.source);
	if (document_apply(&fresh, &d, root, err) < 0)
		return -1;
	old = *p;
	*p = fresh;
	fresh = old;
	return 0;
}

static int
open_regular(const char *path, const char *shown, struct remit_error *err)
{
	/* Without O_NONBLOCK, opening a FIFO would block until it has a
	   writer. */
	own_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "policy file %s", shown);
	if (S_ISDIR(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "policy file %s: it is a directory", shown);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "policy file %s: it is not a regular file", shown);
	return take_fd(&fd);
}

static int
read_text(int fd, struct buf *out, const char *shown, struct remit_error *err)
{
	if (io_read_all(fd, out) == 0)
		return 0;
	if (errno == EFBIG)
		return fail(err, REMIT_E_INPUT,
			    "policy file %s: it is larger than 1 MiB", shown);
	return fail_sys(err, errno == ENOMEM ? REMIT_E_MEMORY : REMIT_E_INPUT,
			"policy file %s", shown);
}

int
policy_read_file(struct policy *p, const char *path, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(MAX_DOCUMENT);
	own_fd int fd = -1;
	char shown[128];

	quote_bare(shown, sizeof(shown), path);
	fd = open_regular(path, shown, err);
	if (fd < 0 || read_text(fd, &text, shown, err) < 0)
		return -1;
	return policy_parse(p, buf_text(&text), text.len, path, err);
}

json_t *
policy_to_json(const struct policy *p)
{
	json_t *root = json_object();

	for (int i = 0; root && i < FIELD_TOTAL; i++) {
		if (json_object_set_new(root, fields[i].name,
					field_to_json(p, &fields[i])) < 0) {
			json_decref(root);
			return NULL;
		}
	}
	return root;
}
