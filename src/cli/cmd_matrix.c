/*
 * matrix: tiers × fields, with the mechanisms that keep a field on this host.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "plan.h"
#include "site.h"

struct column {
	bool built;
	bool refused;
	struct remit_error why;
	struct policy policy;
	struct plan plan;
};

static const struct interpreter any_interpreter;

static int
fill(struct column *c, enum tier tier, const struct host *h,
     struct remit_error *err)
{
	struct plan_job job = { 0 };

	c->built = tiers[tier].built;
	if (!c->built)
		return 0;
	if (policy_init(&c->policy) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "matrix");
	/* A tier that cannot keep a limit refuses it: show it without. */
	if (tiers[tier].bare && policy_preset(&c->policy, "landlock", err) < 0)
		return -1;
	c->policy.tier = tier;
	c->refused = plan_build(&c->plan, &c->policy, &job, h, &any_interpreter,
				&c->why) < 0;
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

static void
print_json(const struct column *columns)
{
	json_t *rows = json_array();

	for (int f = 0; f < FIELD_TOTAL; f++)
		for (int t = 0; t < TIER_COUNT; t++) {
			const struct column *c = &columns[t];
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
	json_dumpf(rows, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(rows);
}

static void
print_cell(const struct column *c, int f)
{
	uint64_t set = c->plan.rows[f].mechanisms;
	const char *comma = "";

	if (c->refused) {
		printf("refused");
		return;
	}
	if (!c->plan.rows[f].present)
		printf("(off: nothing is promised)");
	else if (!set)
		printf("-");
	for (int m = 0; m < MECH_COUNT; m++)
		if (set & UINT64_C(1) << m) {
			printf("%s%s", comma, mechanisms[m].name);
			comma = ", ";
		}
}

static void
print_table(const struct column *columns)
{
	for (int t = 0; t < TIER_COUNT; t++) {
		printf("%s: %s%s\n", tiers[t].name, tiers[t].sentence,
		       columns[t].built ? "" : " (not built yet)");
		if (columns[t].refused)
			printf("  refused here: %s\n", columns[t].why.message);
		for (int f = 0; columns[t].built && f < FIELD_TOTAL; f++) {
			if (fields[f].setting)
				continue;
			printf("  %-24s ", fields[f].name);
			print_cell(&columns[t], f);
			putchar('\n');
		}
		putchar('\n');
	}
}

static int
run(int argc, char **argv)
{
	static struct column columns[TIER_COUNT];
	own(site) struct site site = { 0 };
	struct remit_error err;
	bool json = argc == 2 && !strcmp(argv[1], "--json");

	if (argc > 1 && !json) {
		flags_unknown(argv[1], &err);
		return cli_error(&err);
	}
	if (site_find_host(&site, &err) < 0)
		return cli_error(&err);
	for (int t = 0; t < TIER_COUNT; t++)
		if (fill(&columns[t], (enum tier)t, &site.host, &err) < 0)
			return cli_error(&err);
	if (json)
		print_json(columns);
	else
		print_table(columns);
	for (int t = 0; t < TIER_COUNT; t++) {
		plan_free(&columns[t].plan);
		policy_free(&columns[t].policy);
	}
	return 0;
}

const struct command command_matrix = {
	.name = "matrix",
	.usage = "[--json]",
	.summary = "show what keeps each field, by tier, on this machine",
	.options = "  --json              print the matrix as JSON\n",
	.run = run,
};
