#include "cli/batch/ids.h"

#include <string.h>

#include "base/digest.h"

/* Returns the slot of an id, or the free slot where it belongs. Ids that were
   chosen to collide only cost time, since texts are compared. */
static size_t
ids_find(const struct batch_ids *s, const char *id)
{
	struct hash h = HASH_INIT;
	size_t at;

	hash_text(&h, id);
	at = (size_t)h.value & (s->capacity - 1);
	while (s->slots[at] && strcmp(s->text.data + s->slots[at] - 1, id) != 0)
		at = (at + 1) & (s->capacity - 1);
	return at;
}

/* At most half full, so that a free slot is near. */
static int
ids_grow(struct batch_ids *s)
{
	struct batch_ids more = { .text = s->text };

	if (s->count < s->capacity / 2)
		return 0;
	more.capacity = s->capacity ? 2 * s->capacity : 64;
	more.count = s->count;
	more.slots = calloc(more.capacity, sizeof(*more.slots));
	if (!more.slots)
		return -1;
	for (size_t i = 0; i < s->capacity; i++)
		if (s->slots[i])
			more.slots[ids_find(&more, s->text.data + s->slots[i] -
							   1)] = s->slots[i];
	free(s->slots);
	*s = more;
	return 0;
}

bool
batch_ids_has(const struct batch_ids *s, const char *id)
{
	return s->capacity && s->slots[ids_find(s, id)];
}

int
batch_ids_add(struct batch_ids *s, const char *id, bool *is_new)
{
	size_t begin = s->text.len, at;

	if (ids_grow(s) < 0)
		return -1;
	at = ids_find(s, id);
	*is_new = !s->slots[at];
	if (!*is_new)
		return 0;
	if (buf_add(&s->text, id, strlen(id) + 1) < 0)
		return -1;
	s->slots[at] = begin + 1;
	s->count++;
	return 0;
}

void
batch_ids_free(struct batch_ids *s)
{
	buf_free(&s->text);
	free(s->slots);
	*s = (struct batch_ids)BATCH_IDS_INIT;
}
