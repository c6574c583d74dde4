#include "serve/e2b/files/listing.h"

#include <stdatomic.h>
#include <string.h>

#include "base/text.h"
#include "serve/e2b/files/files.h"
#include "serve/limits.h"

/* The maximum size of the names in one listing. */
#define LISTING_NAMES_MAX ((size_t)2 * 1024 * 1024)

static int
by_name(const void *a, const void *b)
{
	const struct listing_row *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* The memory that all listings of this process use. */
static _Atomic size_t listed_bytes;

void
listing_free(struct listing *s)
{
	listed_bytes -= s->bytes;
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].name);
	free(s->rows);
	*s = (struct listing){ 0 };
}

/* Returns the path without the directory's name at its beginning. */
static const char *
name_below(const char *directory, const char *path)
{
	size_t n = strlen(directory);

	while (n && directory[n - 1] == '/')
		n--;
	return !strncmp(path, directory, n) && path[n] == '/' ? path + n + 1
							      : path;
}

static size_t
count_bytes(const struct remit_file_answer *a)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->entry_count; i++)
		bytes += strlen(a->entries[i].path);
	return bytes;
}

/* With what the allocator needs for each name. */
static size_t
memory_of(const struct remit_file_answer *a)
{
	return count_bytes(a) +
	       a->entry_count * (sizeof(struct listing_row) + 32);
}

bool
listing_fits(const struct remit_file_answer *a)
{
	return !a->truncated && count_bytes(a) <= LISTING_NAMES_MAX &&
	       listed_bytes + memory_of(a) <= LIMIT_LISTINGS_BYTES;
}

int
listing_make(struct listing *out, const char *directory,
	     const struct remit_file_answer *a)
{
	struct listing s = { .rows = calloc(a->entry_count + 1,
					    sizeof(*s.rows)),
			     .bytes = memory_of(a) };

	listed_bytes += s.bytes;
	for (size_t i = 0; s.rows && i < a->entry_count; i++) {
		const struct remit_file_entry *e = &a->entries[i];
		char *name = strdup(name_below(directory, e->path));

		if (!name) {
			listing_free(&s);
			return -1;
		}
		s.rows[s.count++] = (struct listing_row){
			.name = name,
			.type = e->type,
			.mode = e->mode,
			.size = e->size,
			.modified_ns = e->modified_ns,
			.entry = e,
		};
	}
	if (!s.rows) {
		listing_free(&s);
		return -1;
	}
	qsort(s.rows, s.count, sizeof(*s.rows), by_name);
	*out = s;
	return 0;
}

/* What has changed between two listings of a watched directory. */
struct changes {
	json_t *list;
	struct sandbox *sb; /* not NULL: events describe the entry */
};

static void
add_removed(struct changes *c, const struct listing_row *r)
{
	json_array_append_new(c->list,
			      json_pack("{s:o, s:s}", "name",
					text_to_json(r->name, strlen(r->name)),
					"type", "EVENT_TYPE_REMOVE"));
}

static void
add_event(struct changes *c, const struct listing_row *r, const char *type)
{
	json_t *event =
		json_pack("{s:o, s:s}", "name",
			  text_to_json(r->name, strlen(r->name)), "type", type);

	if (event && c->sb)
		json_object_set_new(event, "entry",
				    filing_entry(c->sb, r->entry));
	json_array_append_new(c->list, event);
}

static void
add_created(struct changes *c, const struct listing_row *r)
{
	add_event(c, r, "EVENT_TYPE_CREATE");
	if (r->type == REMIT_FILE_IS_REGULAR && r->size)
		add_event(c, r, "EVENT_TYPE_WRITE");
}

/* Adds the events for a changed entry. A directory changes when an entry in it
   is added or removed, which has its own event. */
static void
add_change(struct changes *c, const struct listing_row *before,
	   const struct listing_row *now)
{
	if (before->type != now->type) {
		add_removed(c, before);
		add_created(c, now);
		return;
	}
	if (now->type != REMIT_FILE_IS_FOLDER &&
	    (before->size != now->size ||
	     before->modified_ns != now->modified_ns))
		add_event(c, now, "EVENT_TYPE_WRITE");
	if (before->mode != now->mode)
		add_event(c, now, "EVENT_TYPE_CHMOD");
}

json_t *
listing_changes(const struct listing *before, const struct listing *now,
		struct sandbox *sb)
{
	struct changes c = { .list = json_array(), .sb = sb };
	size_t b = 0, n = 0;

	while (c.list && (b < before->count || n < now->count)) {
		int difference = b == before->count ? 1
				 : n == now->count  ? -1
						    : by_name(&before->rows[b],
							      &now->rows[n]);

		if (difference < 0)
			add_removed(&c, &before->rows[b++]);
		else if (difference > 0)
			add_created(&c, &now->rows[n++]);
		else
			add_change(&c, &before->rows[b++], &now->rows[n++]);
	}
	return c.list;
}
