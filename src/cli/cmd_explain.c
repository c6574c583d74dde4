/*
 * explain: the plan for a policy on this machine, as a table.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "plan.h"
#include "site.h"

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
explain(const struct policy *policy, bool json, struct remit_error *err)
{
	own(site) struct site site = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { 0 };
	json_t *doc;

	if (site_find_host(&site, err) < 0 ||
	    site_find_interpreter(&site, policy->python, err) < 0 ||
	    plan_build(&plan, policy, &job, &site.host, &site.interpreter,
		       err) < 0)
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

static int
run(int argc, char **argv)
{
	own(policy) struct policy policy = { 0 };
	own(flags) struct flags fl = { 0 };
	struct remit_error err;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		enum flags_answer a;

		if (!strcmp(argv[i], "--json")) {
			json = true;
			continue;
		}
		a = flags_take(&fl, argc, argv, &i, &err);
		if (a == FLAGS_OTHER)
			flags_unknown(argv[i], &err);
		if (a != FLAGS_TAKEN)
			return cli_error(&err);
	}
	if (cli_policy(&fl, &policy, &err) < 0 ||
	    explain(&policy, json, &err) < 0)
		return cli_error(&err);
	return 0;
}

const struct command command_explain = {
	.name = "explain",
	.usage = "[--json] [OPTION...]",
	.summary = "show what would keep each field of a policy here",
	.options = "  --json              print the plan as JSON\n",
	.takes_policy = true,
	.run = run,
};
