/*
 * instructions: prints what a model should know about a policy and its tools.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/tool_command.h"

struct wanted {
	struct flags flags;
	struct tool_options tools;
	bool session;
};

static void
wanted_free(struct wanted *w)
{
	flags_free(&w->flags);
	tool_options_free(&w->tools);
}

static int
print_instructions(struct wanted *w, struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	json_auto_t *doc = NULL;
	own_mem char *text = NULL, *json = NULL;
	struct remit *remit = NULL;
	int failed;

	if (cli_policy(&w->flags, &policy, err) < 0 ||
	    tool_options_list(&w->tools, err) < 0)
		return -1;
	doc = policy_to_json(&policy);
	json = doc ? json_dumps(doc, JSON_REAL_PRECISION(15)) : NULL;
	if (!json)
		return fail_memory(err, "policy");
	struct remit_options opt = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(&policy),
	};
	if (remit_open(&remit, &opt, err) < 0)
		return -1;
	failed = remit_instructions(remit, json, w->tools.tools, w->tools.count,
				    w->session, &text, err);
	if (!failed)
		fputs(text, stdout);
	remit_close(remit);
	return failed;
}

static int
instructions_command(int argc, char **argv)
{
	own(wanted) struct wanted w = { 0 };
	struct remit_error err;

	if (cli_parse(&command_instructions, &w, argc, argv, &err) < 0 ||
	    print_instructions(&w, &err) < 0)
		return cli_error(&err);
	return 0;
}

static const struct option instructions_rows[] = {
	{
		.name = "session",
		.kind = OPTION_FLAG,
		.help = "describe cells of a session, whose variables stay, "
			"instead of programs",
		OPTION_AT(struct wanted, session),
	},
	{ 0 },
};

const struct command command_instructions = {
	.options = {
		.name = "instructions",
		.usage = "[--session] [OPTION...]",
		.summary = "print what a model should know about a policy and its tools",
		.tables = {
			{ .rows = instructions_rows },
			{ .rows = tool_option_rows,
			  OPTION_AT(struct wanted, tools),
			  .man = "*--tool* and the options that belong to it are described at *remit run*. No tool is called." },
			FLAGS_TABLE(struct wanted, flags),
		},
	},
	.run = instructions_command,
};
