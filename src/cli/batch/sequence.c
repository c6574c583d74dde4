#include "cli/batch/sequence.h"

#define BYTES_MAX ((size_t)64 * 1024 * 1024)

int
batch_sequence_init(struct batch_sequence *o, size_t room)
{
	*o = (struct batch_sequence){ .room = room };
	/* What comes as it comes waits in one place, for a moment. */
	o->held = calloc(room ? room : 1, sizeof(*o->held));
	return o->held ? 0 : -1;
}

bool
batch_sequence_has_room(const struct batch_sequence *o, uint64_t sequence)
{
	if (!o->room)
		return true;
	/* The first one need not wait: the others wait for it. */
	return sequence == o->next ||
	       (sequence - o->next < o->room && o->bytes < BYTES_MAX);
}

static struct batch_result *
place(const struct batch_sequence *o, uint64_t sequence)
{
	return &o->held[o->room ? sequence % o->room : 0];
}

void
batch_sequence_put(struct batch_sequence *o, uint64_t sequence,
		   struct batch_result *r)
{
	*place(o, sequence) = *r;
	o->bytes += r->line.len;
	*r = (struct batch_result){ 0 };
}

bool
batch_sequence_take(struct batch_sequence *o, struct batch_result *out)
{
	struct batch_result *r = place(o, o->next);

	if (!r->line.len)
		return false;
	*out = *r;
	*r = (struct batch_result){ 0 };
	o->bytes -= out->line.len;
	o->next++;
	return true;
}

void
batch_sequence_free(struct batch_sequence *o)
{
	for (size_t i = 0; i < o->room; i++)
		batch_result_free(&o->held[i]);
	free(o->held);
	*o = (struct batch_sequence){ 0 };
}
