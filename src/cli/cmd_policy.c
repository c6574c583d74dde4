/*
 * policy: the effective policy as JSON.
 */
#include <stdio.h>

#include "cli.h"

static int
run(int argc, char **argv)
{
	own(policy) struct policy policy = { 0 };
	own(flags) struct flags fl = { 0 };
	struct remit_error err;
	json_t *doc;

	for (int i = 1; i < argc; i++) {
		enum flags_answer a = flags_take(&fl, argc, argv, &i, &err);

		if (a == FLAGS_OTHER)
			flags_unknown(argv[i], &err);
		if (a != FLAGS_TAKEN)
			return cli_error(&err);
	}
	if (cli_policy(&fl, &policy, &err) < 0)
		return cli_error(&err);
	doc = policy_to_json(&policy);
	json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(doc);
	return 0;
}

const struct command command_policy = {
	.name = "policy",
	.usage = "[OPTION...]",
	.summary = "print the effective policy as JSON",
	.takes_policy = true,
	.run = run,
};
