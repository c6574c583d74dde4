/*
 * instructions: what to tell a model about a policy and its tools.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "tool_options.h"

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
parse(struct wanted *w, int argc, char **argv, struct remit_error *err)
{
	for (int i = 1; i < argc; i++) {
		enum flags_answer a;

		if (!strcmp(argv[i], "--session")) {
			w->session = true;
			continue;
		}
		if (tool_options_has(argv[i]) && i + 1 < argc) {
			if (tool_options_set(&w->tools, argv[i], argv[i + 1],
					     err) < 0)
				return -1;
			i++;
			continue;
		}
		a = flags_take(&w->flags, argc, argv, &i, err);
		if (a == FLAGS_OTHER)
			return flags_unknown(argv[i], err);
		if (a != FLAGS_TAKEN)
			return -1;
	}
	return 0;
}

static int
print(struct wanted *w, struct remit_error *err)
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
		return fail_sys(err, REMIT_E_MEMORY, "policy");
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
run(int argc, char **argv)
{
	own(wanted) struct wanted w = { 0 };
	struct remit_error err;

	if (parse(&w, argc, argv, &err) < 0 || print(&w, &err) < 0)
		return cli_error(&err);
	return 0;
}

const struct command command_instructions = {
	.name = "instructions",
	.usage = "[--session] [OPTION...]",
	.summary = "write what a model should be told of a policy and its "
		   "tools",
	.options = "  --session           for cells of a session, not for "
		   "programs\n"
		   "  --tool NAME=COMMAND a tool; with its other options as "
		   "in \"remit run\"\n",
	.takes_policy = true,
	.run = run,
};
