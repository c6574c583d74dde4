/*
 * policy: the effective policy as JSON, or the table of all fields.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int
print(json_t *doc)
{
	struct remit_error err;

	if (!doc) {
		fail(&err, REMIT_E_MEMORY, "policy: no memory");
		return cli_error(&err);
	}
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

	if (argc == 2 && !strcmp(argv[1], "--fields"))
		return print(field_table_to_json());
	for (int i = 1; i < argc; i++) {
		enum flags_answer a = flags_take(&fl, argc, argv, &i, &err);

		if (a == FLAGS_OTHER)
			flags_unknown(argv[i], &err);
		if (a != FLAGS_TAKEN)
			return cli_error(&err);
	}
	if (cli_policy(&fl, &policy, &err) < 0)
		return cli_error(&err);
	return print(policy_to_json(&policy));
}

const struct command command_policy = {
	.name = "policy",
	.usage = "[--fields | OPTION...]",
	.summary = "print the effective policy as JSON",
	.options = "  --fields            print the table of all fields as "
		   "JSON\n",
	.takes_policy = true,
	.run = run,
};
