#include "serve/native/matrix.h"

#include "jail/probe/discover.h"
#include "policy/fields/field.h"

static int
fill_column(struct matrix_column *c, enum tier tier, const struct host *h,
	    struct remit_error *err)
{
	struct plan_job job = { 0 };

	c->built = tiers[tier].built;
	if (!c->built)
		return 0;
	if (policy_init(&c->policy) < 0)
		return fail_memory(err, "matrix");
	/* A tier that cannot enforce a limit refuses it: show it without
	   limits. */
	if (tiers[tier].bare && policy_preset(&c->policy, "landlock", err) < 0)
		return -1;
	c->policy.tier = tier;
	if (tier == TIER_WASM && discover_wasm(&c->interpreter, &c->why) < 0) {
		c->refused = true;
		return 0;
	}
	c->refused = plan_build(&c->plan, &c->policy, &job, h, &c->interpreter,
				&c->why) < 0;
	return 0;
}

int
matrix_find(struct matrix *m, struct remit_error *err)
{
	own(site) struct site site = { 0 };

	if (site_find_host(&site, err) < 0)
		return -1;
	for (int t = 0; t < TIER_COUNT; t++)
		if (fill_column(&m->columns[t], (enum tier)t, &site.host, err) <
		    0)
			return -1;
	return 0;
}

static json_t *
names_of(uint64_t set)
{
	json_t *names = json_array();

	for (int m = 0; m < MECH_COUNT; m++)
		if (set & UINT64_C(1) << m)
			json_array_append_new(names,
					      json_string(mechanisms[m].name));
	return names;
}

json_t *
matrix_to_json(const struct matrix *m)
{
	json_t *rows = json_array();

	for (int f = 0; f < FIELD_TOTAL; f++)
		for (int t = 0; t < TIER_COUNT; t++) {
			const struct matrix_column *c = &m->columns[t];
			const struct plan_row *r = &c->plan.rows[f];

			if (fields[f].setting)
				continue;
			json_array_append_new(
				rows,
				json_pack("{s:s, s:s, s:b, s:o, s:o}", "field",
					  fields[f].name, "tier", tiers[t].name,
					  "built", c->built, "possible",
					  names_of(fields[f].kept[t]), "here",
					  names_of(c->built && !c->refused
							   ? r->mechanisms
							   : 0)));
		}
	return rows;
}

void
matrix_free(struct matrix *m)
{
	for (int t = 0; t < TIER_COUNT; t++) {
		plan_free(&m->columns[t].plan);
		policy_free(&m->columns[t].policy);
		interpreter_free(&m->columns[t].interpreter);
	}
}
