#include "keeper/commit/commit_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the beginning of the session ---- */

/* The kernel adjusts both clocks alike, but not at the same moment. */
#define CLOCK_SLACK_NS 1000000
/* How often the clocks are read: a delay between the two readings makes the
   offset too small, so the largest one counts. */
#define CLOCK_READINGS 8

static int64_t
to_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t
clock_offset_ns(void)
{
	int64_t most = INT64_MIN;

	for (int i = 0; i < CLOCK_READINGS; i++) {
		struct timespec real, boot;
		int64_t between;

		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_BOOTTIME, &boot);
		between = to_ns(&real) - to_ns(&boot);
		if (between > most)
			most = between;
	}
	return most;
}

struct ctime_mark
ctime_mark_now(void)
{
	struct ctime_mark s = { .offset_ns = clock_offset_ns() };

	clock_gettime(CLOCK_REALTIME_COARSE, &s.at);
	return s;
}

struct timespec
ctime_mark_latest(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

bool
ctime_mark_is_over(const struct timespec *latest)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return to_ns(&now) > to_ns(latest);
}

uint64_t
ctime_mark_tick_us(void)
{
	struct timespec tick;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return (uint64_t)to_ns(&tick) / 1000;
}

bool
ctime_mark_is_void(const struct ctime_mark *s)
{
	return clock_offset_ns() < s->offset_ns - CLOCK_SLACK_NS;
}

bool
ctime_mark_is_since(const struct ctime_mark *s, const struct timespec *t)
{
	return to_ns(t) >= to_ns(&s->at);
}

/* ---- what earlier commits have left ---- */

/* Precedes each path, which ends with NUL. */
struct head {
	struct timespec changed;
	dev_t dev;
	ino_t ino;
	int root;
	unsigned len;
	bool is_directory;
};

void
commit_state_free(struct commit_state *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->items[i].path);
	free(k->items);
	*k = (struct commit_state){ 0 };
}

static struct commit_state_item *
item_add(struct commit_state *k, int root, const char *path)
{
	size_t capacity = k->capacity ? 2 * k->capacity : 64;
	struct commit_state_item *fresh;

	if (k->count == k->capacity) {
		fresh = realloc(k->items, capacity * sizeof(*fresh));
		if (!fresh)
			return NULL;
		k->items = fresh;
		k->capacity = capacity;
	}
	fresh = &k->items[k->count];
	*fresh = (struct commit_state_item){ .root = root,
					     .nth = k->count,
					     .path = strdup(path) };
	if (!fresh->path)
		return NULL;
	k->count++;
	return fresh;
}

int
commit_state_add(struct commit_state *k, int root, const char *path,
		 const struct stat *now)
{
	struct commit_state_item *i = item_add(k, root, path);

	if (!i)
		return -1;
	i->is_gone = !now;
	if (now) {
		i->is_directory = S_ISDIR(now->st_mode);
		i->dev = now->st_dev;
		i->ino = now->st_ino;
		i->changed = now->st_ctim;
	}
	return 0;
}

/* ---- sorting ---- */

static int
item_compare(const struct commit_state_item *a,
	     const struct commit_state_item *b)
{
	return a->root != b->root ? a->root - b->root
				  : strcmp(a->path, b->path);
}

static int
by_path(const void *a, const void *b)
{
	return item_compare(a, b);
}

/* Compares paths. Of equal paths, the one that was added last comes last. */
static int
by_age(const void *a, const void *b)
{
	const struct commit_state_item *one = a, *two = b;
	int c = item_compare(one, two);

	return c ? c : one->nth < two->nth ? -1 : 1;
}

void
commit_state_sort(struct commit_state *k)
{
	size_t kept = 0;

	if (k->count)
		qsort(k->items, k->count, sizeof(*k->items), by_age);
	for (size_t i = 0; i < k->count; i++) {
		bool is_old = i + 1 < k->count &&
			      item_compare(&k->items[i], &k->items[i + 1]) == 0;

		if (is_old || k->items[i].is_gone)
			free(k->items[i].path);
		else
			k->items[kept++] = k->items[i];
	}
	k->count = kept;
}

/* ---- bytes ---- */

int
commit_state_read(struct commit_state *k, const void *bytes, size_t len)
{
	const char *at = len ? bytes : "", *end = at + len;
	struct commit_state_item *i;
	struct head h;

	while ((size_t)(end - at) >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		at += sizeof(h);
		if (!h.len || h.len > (size_t)(end - at) || at[h.len - 1])
			return -1;
		i = item_add(k, h.root, at);
		if (!i)
			return -1;
		i->is_directory = h.is_directory;
		i->dev = h.dev;
		i->ino = h.ino;
		i->changed = h.changed;
		at += h.len;
	}
	return at == end ? 0 : -1;
}

int
commit_state_write(const struct commit_state *k, struct buf *out)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct commit_state_item *item = &k->items[i];
		struct head h;

		/* Clear the padding, which is written as well. */
		memset(&h, 0, sizeof(h));
		h.changed = item->changed;
		h.dev = item->dev;
		h.ino = item->ino;
		h.root = item->root;
		h.is_directory = item->is_directory;
		h.len = (unsigned)strlen(item->path) + 1;
		if (buf_add(out, &h, sizeof(h)) < 0 ||
		    buf_add(out, item->path, h.len) < 0)
			return -1;
	}
	return 0;
}

/* ---- queries ---- */

static const struct commit_state_item *
item_find(const struct commit_state *k, int root, const char *path)
{
	const struct commit_state_item wanted = {
		.root = root, .path = (char *)(uintptr_t)path
	};

	if (!k->count)
		return NULL;
	return bsearch(&wanted, k->items, k->count, sizeof(*k->items), by_path);
}

bool
commit_state_has(const struct commit_state *k, int root, const char *path)
{
	return item_find(k, root, path) != NULL;
}

bool
commit_state_is(const struct commit_state *k, int root, const char *path,
		const struct stat *st)
{
	const struct commit_state_item *i = item_find(k, root, path);

	if (!i || i->dev != st->st_dev || i->ino != st->st_ino ||
	    i->is_directory != S_ISDIR(st->st_mode))
		return false;
	return i->is_directory || (i->changed.tv_sec == st->st_ctim.tv_sec &&
				   i->changed.tv_nsec == st->st_ctim.tv_nsec);
}
