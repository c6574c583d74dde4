#include "client/files/file_task.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "wire/record.h"

static const char *const op_names[] = {
	[REMIT_FILE_READ] = "read",	[REMIT_FILE_WRITE] = "write",
	[REMIT_FILE_LIST] = "list",	[REMIT_FILE_STAT] = "stat",
	[REMIT_FILE_MAKE] = "make",	[REMIT_FILE_MOVE] = "move",
	[REMIT_FILE_REMOVE] = "remove", [REMIT_FILE_LINK] = "link",
	[REMIT_FILE_SET] = "set",
};

const char *
file_task_name(enum remit_file_op op)
{
	return (size_t)op < ARRAY_LEN(op_names) ? op_names[op] : NULL;
}

static int
check_path(const char *path, const char *what, struct remit_error *err)
{
	if (!path || !*path)
		return fail(err, REMIT_E_INPUT, "the name of %s is empty",
			    what);
	if (strlen(path) >= PATH_MAX)
		return fail(err, REMIT_E_INPUT, "the name of %s is too long",
			    what);
	return 0;
}

int
file_task_check(const struct remit_file_task *t, struct remit_error *err)
{
	if (!file_task_name(t->op))
		return fail(err, REMIT_E_INPUT, "unknown file operation");
	if (check_path(t->path, "the file", err) < 0)
		return -1;
	if (t->op == REMIT_FILE_MOVE &&
	    check_path(t->to, "the target of the move", err) < 0)
		return -1;
	if (t->op == REMIT_FILE_LINK &&
	    check_path(t->to, "what the link leads to", err) < 0)
		return -1;
	if (t->modified_ns < 0)
		return fail(err, REMIT_E_INPUT, "the time is before 1970");
	if (t->offset > LLONG_MAX || t->length > REMIT_FILE_READ_MAX)
		return fail(err, REMIT_E_INPUT,
			    "at most %zu bytes can be read at once",
			    REMIT_FILE_READ_MAX);
	if (t->depth > REMIT_FILE_DEPTH_MAX)
		return fail(err, REMIT_E_INPUT,
			    "at most %d levels can be listed at once",
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

	if (record_add(b, "op", op_names[t->op]) < 0 ||
	    record_add(b, "path", t->path) < 0 ||
	    record_add(b, "to", t->to ? t->to : "") < 0 ||
	    add_number(b, "bytes", writes ? t->len : 0) < 0 ||
	    add_number(b, "append", t->append != 0) < 0 ||
	    add_number(b, "gunzip", t->gunzip != 0) < 0 ||
	    add_number(b, "offset", t->offset) < 0 ||
	    add_number(b, "length", length) < 0 ||
	    add_number(b, "mode", t->mode & 0777) < 0 ||
	    add_number(b, "modified", (unsigned long long)t->modified_ns) < 0)
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

/* ---- the answer ---- */

/* The answer for the caller, and the memory that it points into. */
struct answer_storage {
	struct remit_file_answer answer;
	struct file_answer from;
	struct remit_file_entry *entries;
	size_t capacity; /* of `entries` */
};

void
file_answer_free(struct file_answer *a)
{
	buf_free(&a->bytes);
	buf_free(&a->records);
}

void
remit_file_answer_free(struct remit_file_answer *a)
{
	struct answer_storage *g = (struct answer_storage *)a;

	if (!g)
		return;
	file_answer_free(&g->from);
	free(g->entries);
	free(g);
}

int
file_answer_add(struct file_answer *a, const struct frame *f,
		struct remit_error *err)
{
	struct buf *to = f->type == FRAME_FILE_BYTES ? &a->bytes : &a->records;

	a->is_done = f->type == FRAME_FILE_ANSWER;
	if (buf_add(to, f->payload, f->len) < 0)
		return fail_sys(err, REMIT_E_PROTOCOL,
				"store the content of a file");
	return 0;
}

/* ---- entries ---- */

static int
read_type(enum remit_file_type *to, const char *value)
{
	static const char *const types[] = {
		[REMIT_FILE_IS_REGULAR] = "file",
		[REMIT_FILE_IS_FOLDER] = "folder",
		[REMIT_FILE_IS_LINK] = "link",
		[REMIT_FILE_IS_OTHER] = "other",
	};

	for (size_t i = 1; i < ARRAY_LEN(types); i++)
		if (!strcmp(value, types[i])) {
			*to = (enum remit_file_type)i;
			return 0;
		}
	return -1;
}

/* Returns -1 for an unknown key or an invalid value. */
static int
read_attribute(struct remit_file_entry *e, const struct record *r)
{
	uint64_t number;

	if (!strcmp(r->key, "type"))
		return read_type(&e->type, r->value);
	if (!strcmp(r->key, "resolved_type"))
		return read_type(&e->resolved_type, r->value);
	if (!strcmp(r->key, "target")) {
		e->target = r->value;
		return 0;
	}
	if (!strcmp(r->key, "resolved")) {
		e->resolved = r->value;
		return 0;
	}
	if (number_parse(&number, r->value) < 0)
		return -1;
	if (!strcmp(r->key, "size"))
		e->size = number;
	else if (!strcmp(r->key, "mode"))
		e->mode = (unsigned)number & 07777;
	else if (!strcmp(r->key, "device"))
		e->device = number;
	else if (!strcmp(r->key, "inode"))
		e->inode = number;
	else if (!strcmp(r->key, "resolved_mode"))
		e->resolved_mode = (unsigned)number & 07777;
	else if (!strcmp(r->key, "modified") && number <= INT64_MAX)
		e->modified_ns = (long long)number;
	else
		return -1;
	return 0;
}

static struct remit_file_entry *
next_entry(struct answer_storage *g)
{
	if (g->answer.entry_count >= g->capacity)
		return NULL;
	return &g->entries[g->answer.entry_count++];
}

static int
read_entries(struct answer_storage *g, const struct buf *b,
	     struct remit_error *err)
{
	struct remit_file_entry *e = NULL;
	struct record r;
	size_t at = 0;

	if (record_check(buf_text(b), b->len, err) < 0)
		return -1;
	while (record_next(buf_text(b), b->len, &at, &r)) {
		if (!strcmp(r.key, "truncated")) {
			g->answer.truncated = 1;
			continue;
		}
		if (!strcmp(r.key, "path")) {
			e = next_entry(g);
			if (e)
				e->path = r.value;
		} else if (e && read_attribute(e, &r) < 0) {
			e = NULL;
		}
		if (!e)
			return fail(err, REMIT_E_PROTOCOL,
				    "malformed file reply from the session");
	}
	return 0;
}

/* ---- the complete answer ---- */

/* Fail with the reported errno. An invalid number counts as EIO. */
static int
fail_with_errno(const struct remit_file_task *t, const char *number,
		struct remit_error *err)
{
	uint64_t n;

	if (number_parse(&n, number) < 0 || !n || n >= 4096)
		n = EIO;
	errno = (int)n;
	return fail_sys(err, REMIT_E_INPUT, "%s %s", file_task_name(t->op),
			t->path);
}

static int
check_outcome(const struct file_answer *a, const struct remit_file_task *t,
	      struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(buf_text(&a->records), a->records.len, err) < 0)
		return -1;
	if (record_next(buf_text(&a->records), a->records.len, &at, &r) &&
	    !strcmp(r.key, "errno"))
		return fail_with_errno(t, r.value, err);
	return 0;
}

static int
fill_answer(struct answer_storage *g, const struct remit_file_task *t,
	    struct remit_error *err)
{
	bool lists = t->op == REMIT_FILE_LIST;

	g->capacity = lists ? REMIT_FILE_LIST_MAX : 1;
	g->entries = calloc(g->capacity, sizeof(*g->entries));
	if (!g->entries)
		return fail_memory(err, "entries");
	g->answer.entries = g->entries;
	if (!lists) {
		g->answer.bytes = buf_text(&g->from.bytes);
		g->answer.len = g->from.bytes.len;
	}
	if (lists && read_entries(g, &g->from.bytes, err) < 0)
		return -1;
	return read_entries(g, &g->from.records, err);
}

int
file_answer_finish(struct file_answer *a, const struct remit_file_task *t,
		   struct remit_file_answer **out, struct remit_error *err)
{
	struct answer_storage *g;

	if (check_outcome(a, t, err) < 0)
		return -1;
	g = calloc(1, sizeof(*g));
	if (!g)
		return fail_memory(err, "answer");
	g->from = *a;
	*a = (struct file_answer)FILE_ANSWER_INIT;
	if (fill_answer(g, t, err) < 0) {
		remit_file_answer_free(&g->answer);
		return -1;
	}
	*out = &g->answer;
	return 0;
}
