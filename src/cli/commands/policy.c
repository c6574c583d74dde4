/*
 * policy: prints the effective policy as JSON, or the table of all fields.
 */
#include <stdio.h>

#include "cli/cli.h"

static int
print_document(json_t *doc)
{
	struct remit_error err;

	if (!doc) {
		fail_memory(&err, "policy");
		return cli_error(&err);
	}
	json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(doc);
	return 0;
}

struct wanted {
	struct flags flags;
	bool fields;
};

static void
wanted_free(struct wanted *w)
{
	flags_free(&w->flags);
}

static int
policy_command(int argc, char **argv)
{
	own(policy) struct policy policy = { 0 };
	own(wanted) struct wanted w = { 0 };
	struct remit_error err;

	if (cli_parse(&command_policy, &w, argc, argv, &err) < 0)
		return cli_error(&err);
	if (w.fields)
		return print_document(field_table_to_json());
	if (cli_policy(&w.flags, &policy, &err) < 0)
		return cli_error(&err);
	return print_document(policy_to_json(&policy));
}

static const struct option policy_rows[] = {
	{
		.name = "fields",
		.kind = OPTION_FLAG,
		.help = "print the table of all fields as JSON instead",
		.detail = "Each field has its name, flag, type, range, default "
			  "and a sentence.",
		OPTION_AT(struct wanted, fields),
	},
	{ 0 },
};

const struct command command_policy = {
	.options = {
		.name = "policy",
		.usage = "[--fields|OPTION...]",
		.summary = "print the effective policy as JSON",
		.tables = {
			{ .rows = policy_rows },
			FLAGS_TABLE(struct wanted, flags),
		},
	},
	.run = policy_command,
};
