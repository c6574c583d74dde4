#include "cli/batch/count.h"

void
batch_count_add(struct batch_count *c, const struct batch_result *r)
{
	c->by_status[r->status]++;
	c->written++;
	c->good += r->is_good;
}

bool
batch_count_all_ran(const struct batch_count *c)
{
	return !c->by_status[STATUS_REFUSED] && !c->by_status[STATUS_BUSY] &&
	       !c->by_status[STATUS_INTERNAL];
}

double
batch_count_rate(const struct batch_count *c, uint64_t wall_ms)
{
	return (double)c->written * 1000 / (double)(wall_ms ? wall_ms : 1);
}

int
batch_count_show(const struct batch_count *c, uint64_t wall_ms, struct buf *out)
{
	double rate = batch_count_rate(c, wall_ms);
	const char *before = ": ";

	if (buf_addf(out, "%llu job%s", (unsigned long long)c->written,
		     c->written == 1 ? "" : "s") < 0)
		return -1;
	for (int i = 0; i < STATUS_COUNT; i++) {
		if (!c->by_status[i])
			continue;
		if (buf_addf(out, "%s%llu %s", before,
			     (unsigned long long)c->by_status[i],
			     statuses[i].name) < 0)
			return -1;
		before = ", ";
	}
	if (c->skipped && buf_addf(out, ", %llu done before",
				   (unsigned long long)c->skipped) < 0)
		return -1;
	return buf_addf(out, " in %.1f s, %.*f/s", (double)wall_ms / 1000,
			rate < 10 ? 1 : 0, rate);
}
