#include "keeper/audit/journal.h"

void
journal_add(struct journal *j, const struct journal_run *run)
{
	j->runs[j->count++ % JOURNAL_RUNS] = *run;
}

static json_t *
run_to_json(const struct journal_run *r)
{
	return json_pack("{s:s, s:f, s:s, s:s, s:s, s:I, s:f, s:f}", "run_id",
			 r->id, "ended", (double)r->ended_ms / 1e3, "status",
			 statuses[r->status].name, "tier", tiers[r->tier].name,
			 "start", r->warm ? "warm" : "cold", "code_bytes",
			 (json_int_t)r->code_bytes, "wall_ms",
			 (double)r->wall_us / 1e3, "cpu_ms",
			 (double)r->cpu_us / 1e3);
}

json_t *
journal_to_json(const struct journal *j)
{
	uint64_t first = j->count > JOURNAL_RUNS ? j->count - JOURNAL_RUNS : 0;
	json_t *all = json_array();

	for (uint64_t i = first; i < j->count; i++)
		json_array_append_new(all,
				      run_to_json(&j->runs[i % JOURNAL_RUNS]));
	return all;
}
