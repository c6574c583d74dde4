#include "keeper/commit/change.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "wire/record.h"

static const char *const kind_names[] = {
	[CHANGE_CREATED] = "created",
	[CHANGE_MODIFIED] = "modified",
	[CHANGE_DELETED] = "deleted",
	[CHANGE_MODE] = "mode",
};

struct change *
changes_add(struct changes *c, const char *path, enum change_kind kind)
{
	struct change *fresh;
	size_t capacity = c->capacity ? 2 * c->capacity : 16;

	if (c->count == c->capacity) {
		fresh = realloc(c->items, capacity * sizeof(*fresh));
		if (!fresh)
			return NULL;
		c->items = fresh;
		c->capacity = capacity;
	}
	fresh = &c->items[c->count];
	*fresh = (struct change){ .path = strdup(path), .kind = kind };
	if (!fresh->path)
		return NULL;
	c->count++;
	return fresh;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path,
		      ((const struct change *)b)->path);
}

void
changes_sort(struct changes *c)
{
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_path);
}

struct change *
changes_find(const struct changes *c, const char *path, size_t len)
{
	own_mem char *whole = strndup(path, len);
	const struct change wanted = { .path = whole };

	if (!whole || !c->count)
		return NULL;
	return bsearch(&wanted, c->items, c->count, sizeof(*c->items), by_path);
}

void
changes_free(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	free(c->items);
	*c = (struct changes){ 0 };
}

/* Returns as JSON a path of the directory below `top`. The path of a directory
   ends with a slash. */
static char *
path_json(const char *top, const struct change *c)
{
	own_mem char *whole = NULL;
	json_auto_t *text = NULL;

	if (asprintf(&whole, "%s/%s%s", top, c->path,
		     c->is_directory ? "/" : "") < 0) {
		whole = NULL;
		return NULL;
	}
	text = text_to_json(whole, strlen(whole));
	return text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
}

static int
entry_text(const struct change *c, const struct plan_mount *m, char **out)
{
	own_mem char *jail = path_json(m->jail, c);
	own_mem char *host = path_json(m->host, c);
	const char *colon = c->reason && c->sys_errno ? ": " : "";
	const char *why = *colon ? strerror(c->sys_errno) : "";

	if (!jail || !host)
		return -1;
	if (c->reason)
		return asprintf(out,
				"{\"path\":%s,\"kind\":\"%s\","
				"\"reason\":\"%s%s%s\"}",
				jail, kind_names[c->kind], c->reason, colon,
				why);
	return asprintf(out, "{\"path\":%s,\"kind\":\"%s\",\"host_path\":%s}",
			jail, kind_names[c->kind], host);
}

static int
add_entry(struct buf *list, uint64_t *more, const char *text)
{
	if (!*more && buf_addf(list, "%s%s", list->len ? "," : "", text) == 0)
		return 0;
	if (!*more && errno != EFBIG)
		return -1;
	++*more;
	return 0;
}

int
change_lists_fail(struct change_lists *l, const struct plan_mount *m,
		  const char *why)
{
	json_auto_t *row = json_pack("{s:s, s:o}", "path", m->jail, "reason",
				     text_to_json(why, strlen(why)));
	own_mem char *text = row ? json_dumps(row, JSON_COMPACT) : NULL;

	return text ? add_entry(&l->skipped, &l->skipped_more, text) : -1;
}

int
change_lists_add(struct change_lists *l, const struct changes *c,
		 const struct plan_mount *m)
{
	for (size_t i = 0; i < c->count; i++) {
		bool skipped = c->items[i].reason != NULL;
		own_mem char *text = NULL;

		if (entry_text(&c->items[i], m, &text) < 0) {
			text = NULL;
			return -1;
		}
		if (add_entry(skipped ? &l->skipped : &l->written,
			      skipped ? &l->skipped_more : &l->written_more,
			      text) < 0)
			return -1;
	}
	return 0;
}

static int
write_list(struct buf *out, const char *name, const struct buf *list,
	   uint64_t more, const char *rest)
{
	own(buf) struct buf text = BUF_INIT(list->len + 128);

	if (buf_addf(&text, "[%s", buf_text(list)) < 0 ||
	    (more && buf_addf(&text, ",{\"path\":\"\",\"%s\":\"%llu more\"}",
			      rest, (unsigned long long)more) < 0) ||
	    buf_add(&text, "]", 1) < 0)
		return -1;
	return record_add(out, name, buf_text(&text));
}

int
change_lists_write(const struct change_lists *l, struct buf *out)
{
	if (write_list(out, "changes", &l->written, l->written_more, "kind") <
	    0)
		return -1;
	return write_list(out, "changes_skipped", &l->skipped, l->skipped_more,
			  "reason");
}

void
change_lists_free(struct change_lists *l)
{
	buf_free(&l->written);
	buf_free(&l->skipped);
}
