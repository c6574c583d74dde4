#include "cli/batch/result.h"

#include <stdio.h>

#include "client/result_view.h"

/* Write a result as one line that begins with the id. */
static int
write_line(struct buf *out, const struct result_heading *heading,
	   const struct remit_result *res, struct remit_error *err)
{
	if (result_view_write(res, heading, out) < 0 ||
	    buf_add(out, "\n", 1) < 0)
		return fail_memory(err, "result");
	return 0;
}

int
batch_result_of_run(struct batch_result *out, const char *id,
		    const struct remit_result *res, struct remit_error *err)
{
	int known = status_find(remit_result_status(res));
	const struct result_heading heading = { .id = id };

	/* A newer shared keeper may use statuses that are unknown here. */
	out->status = known < 0 ? STATUS_INTERNAL : (enum status)known;
	out->is_good = remit_result_exit_code(res) == 0;
	return write_line(&out->line, &heading, res, err);
}

static enum status
status_of(const struct remit_error *why)
{
	bool by_caller =
		why->code == REMIT_E_INPUT || why->code == REMIT_E_REFUSED;

	return by_caller ? STATUS_REFUSED : STATUS_INTERNAL;
}

int
batch_result_of_error(struct batch_result *out, const char *id, uint64_t line,
		      const struct remit_error *why, struct remit_error *err)
{
	enum status s = status_of(why);
	struct remit_result *res = result_view_of_error(s, why);
	struct result_heading heading = { .id = id };
	char number[24];
	int failed;

	if (!res)
		return fail_memory(err, "result");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)line);
	if (line)
		heading.line = number;
	out->status = s;
	out->is_good = false;
	failed = write_line(&out->line, &heading, res, err);
	remit_result_free(res);
	return failed;
}

void
batch_result_free(struct batch_result *r)
{
	buf_free(&r->line);
	free(r->directory);
}

/* ---- the order of results ---- */

#define BYTES_MAX ((size_t)64 * 1024 * 1024)

int
batch_sequence_init(struct batch_sequence *o, size_t capacity)
{
	*o = (struct batch_sequence){ .capacity = capacity };
	/* If results are written as they arrive, one slot is enough. */
	o->slots = calloc(capacity ? capacity : 1, sizeof(*o->slots));
	return o->slots ? 0 : -1;
}

bool
batch_sequence_has_space(const struct batch_sequence *o, uint64_t sequence)
{
	if (!o->capacity)
		return true;
	/* The first missing one never waits, since the others wait for it. */
	return sequence == o->next ||
	       (sequence - o->next < o->capacity && o->bytes < BYTES_MAX);
}

static struct batch_result *
sequence_slot(const struct batch_sequence *o, uint64_t sequence)
{
	return &o->slots[o->capacity ? sequence % o->capacity : 0];
}

void
batch_sequence_put(struct batch_sequence *o, uint64_t sequence,
		   struct batch_result *r)
{
	*sequence_slot(o, sequence) = *r;
	o->bytes += r->line.len;
	*r = (struct batch_result){ 0 };
}

bool
batch_sequence_pop(struct batch_sequence *o, struct batch_result *out)
{
	struct batch_result *r = sequence_slot(o, o->next);

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
	for (size_t i = 0; i < o->capacity; i++)
		batch_result_free(&o->slots[i]);
	free(o->slots);
	*o = (struct batch_sequence){ 0 };
}
