/*
 * explain: shows the plan for a policy on this machine, as a table.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "jail/blueprint.h"
#include "jail/probe/discover.h"
#include "policy/plan/plan.h"

static void
list_mechanisms(uint64_t set, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (int m = 0; m < MECH_COUNT && n < size; m++)
		if (set & UINT64_C(1) << m)
			n += (size_t)snprintf(out + n, size - n, "%s%s",
					      n ? ", " : "",
					      mechanisms[m].name);
	if (!n)
		snprintf(out, size, "-");
}

static void
print_plan(const struct plan *p)
{
	printf("tier %s: %s\npython %s (%d.%d.%d)\n\n", tiers[p->tier].name,
	       tiers[p->tier].sentence, p->interpreter->executable,
	       p->interpreter->major, p->interpreter->minor,
	       p->interpreter->micro);
	printf("%-24s %-14s %-13s %s\n", "FIELD", "VALUE", "STRENGTH",
	       "MECHANISMS");
	for (int i = 0; i < FIELD_TOTAL; i++) {
		char value[64], names[256];

		if (!p->rows[i].present)
			continue;
		field_show(p->policy, &fields[i], value, sizeof(value));
		list_mechanisms(p->rows[i].mechanisms, names, sizeof(names));
		printf("%-24s %-14s %-13s %s\n", fields[i].name, value,
		       strength_names[p->rows[i].strength], names);
		if (p->rows[i].note[0])
			printf("%-24s   %s\n", "", p->rows[i].note);
	}
}

static int
explain_policy(const struct policy *policy, bool json, struct remit_error *err)
{
	own(site) struct site site = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { 0 };
	json_t *doc;

	if (site_find_host(&site, err) < 0 ||
	    site_find_interpreter(&site, policy, err) < 0 ||
	    plan_build(&plan, policy, &job, &site.host, &site.interpreter,
		       err) < 0 ||
	    blueprint_check_paths(&plan, err) < 0)
		return -1;
	if (!json) {
		print_plan(&plan);
		return 0;
	}
	doc = plan_to_json(&plan);
	json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(doc);
	return 0;
}

struct request {
	struct flags flags;
	bool json;
};

static int
explain_command(int argc, char **argv)
{
	own(policy) struct policy policy = { 0 };
	struct request r = { 0 };
	struct remit_error err;
	int failed;

	failed = cli_parse(&command_explain, &r, argc, argv, &err) < 0 ||
		 cli_policy(&r.flags, &policy, &err) < 0 ||
		 explain_policy(&policy, r.json, &err) < 0;
	flags_free(&r.flags);
	return failed ? cli_error(&err) : 0;
}

static const struct option explain_rows[] = {
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the plan as JSON",
		OPTION_AT(struct request, json),
	},
	{ 0 },
};

const struct command command_explain = {
	.options = {
		.name = "explain",
		.usage = "[--json] [OPTION...]",
		.summary = "show what would enforce each field of a policy on this machine",
		.tables = {
			{ .rows = explain_rows },
			FLAGS_TABLE(struct request, flags),
		},
	},
	.run = explain_command,
};
