#include "serve/e2b/files/snapshot.h"

#include <string.h>

#include "base/text.h"

static int
by_name(const void *a, const void *b)
{
	const struct snapshot_row *one = a, *other = b;

	return strcmp(one->name, other->name);
}

void
snapshot_free(struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].name);
	free(s->rows);
	*s = (struct snapshot){ 0 };
}

/* Without the directory's own name, if that is its beginning. */
static const char *
below(const char *directory, const char *path)
{
	size_t n = strlen(directory);

	while (n && directory[n - 1] == '/')
		n--;
	return !strncmp(path, directory, n) && path[n] == '/' ? path + n + 1
							      : path;
}

bool
snapshot_fits(const struct remit_file_answer *a)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->entry_count; i++)
		bytes += strlen(a->entries[i].path);
	return !a->truncated && bytes <= SNAPSHOT_NAMES_MAX;
}

int
snapshot_take(struct snapshot *out, const char *directory,
	      const struct remit_file_answer *a)
{
	struct snapshot s = { .rows = calloc(a->entry_count + 1,
					     sizeof(*s.rows)) };

	for (size_t i = 0; s.rows && i < a->entry_count; i++) {
		const struct remit_file_entry *e = &a->entries[i];
		char *name = strdup(below(directory, e->path));

		if (!name) {
			snapshot_free(&s);
			return -1;
		}
		s.rows[s.count++] = (struct snapshot_row){
			.name = name,
			.type = e->type,
			.mode = e->mode,
			.size = e->size,
			.modified_ns = e->modified_ns,
		};
	}
	if (!s.rows)
		return -1;
	qsort(s.rows, s.count, sizeof(*s.rows), by_name);
	*out = s;
	return 0;
}

static void
add(json_t *list, const char *name, const char *type)
{
	json_array_append_new(list, json_pack("{s:o, s:s}", "name",
					      text_to_json(name, strlen(name)),
					      "type", type));
}

static void
add_new(json_t *list, const struct snapshot_row *r)
{
	add(list, r->name, "EVENT_TYPE_CREATE");
	if (r->type == REMIT_FILE_IS_REGULAR && r->size)
		add(list, r->name, "EVENT_TYPE_WRITE");
}

/* A directory is written to when something in it comes or goes, which is told
   as that. */
static void
add_change(json_t *list, const struct snapshot_row *before,
	   const struct snapshot_row *now)
{
	if (before->type != now->type) {
		add(list, before->name, "EVENT_TYPE_REMOVE");
		add_new(list, now);
		return;
	}
	if (now->type != REMIT_FILE_IS_FOLDER &&
	    (before->size != now->size ||
	     before->modified_ns != now->modified_ns))
		add(list, now->name, "EVENT_TYPE_WRITE");
	if (before->mode != now->mode)
		add(list, now->name, "EVENT_TYPE_CHMOD");
}

json_t *
snapshot_changes(const struct snapshot *before, const struct snapshot *now)
{
	json_t *list = json_array();
	size_t b = 0, n = 0;

	while (list && (b < before->count || n < now->count)) {
		int order = b == before->count ? 1
			    : n == now->count
				    ? -1
				    : by_name(&before->rows[b], &now->rows[n]);

		if (order < 0)
			add(list, before->rows[b++].name, "EVENT_TYPE_REMOVE");
		else if (order > 0)
			add_new(list, &now->rows[n++]);
		else
			add_change(list, &before->rows[b++], &now->rows[n++]);
	}
	return list;
}
