/*
 * completion: prints completion for bash, made from the tables of options.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Add the options of a command and its subcommands as words. */
static int
add_options(const struct command *c, struct buf *out)
{
	const struct command *const *verb = c->verbs;

	if (!verb)
		return options_words(&c->options, out);
	for (; *verb; verb++)
		if (options_words(&(*verb)->options, out) < 0)
			return -1;
	return 0;
}

/* Print the bash case for a command: its options, and its subcommands at the
   second word. */
static int
print_case(const struct command *c)
{
	own(buf) struct buf words = BUF_INIT(64 * 1024);

	if (add_options(c, &words) < 0)
		return -1;
	for (char *at = words.data; *at; at++)
		if (*at == '\n')
			*at = ' ';
	printf("    %s)\n      case $word in -*) words='%s';; esac\n",
	       c->options.name, words.data);
	if (c->verbs) {
		printf("      [ \"$COMP_CWORD\" != 2 ] || words+=' ");
		for (const struct command *const *v = c->verbs; *v; v++)
			printf("%s ", strrchr((*v)->options.name, ' ') + 1);
		printf("';\n");
	}
	printf("      ;;\n");
	return 0;
}

struct wanted {
	const char *shell;
};

static int
completion_command(int argc, char **argv)
{
	struct wanted w = { 0 };
	struct remit_error err;

	if (cli_parse(&command_completion, &w, argc, argv, &err) < 0)
		return cli_error(&err);
	if (w.shell && strcmp(w.shell, "bash") != 0) {
		fail(&err, REMIT_E_INPUT, "completion exists only for bash");
		return cli_error(&err);
	}
	printf("_remit() {\n"
	       "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
	       "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
	       "    words='");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf("%s ", (*c)->options.name);
	printf("--help --version'\n"
	       "  else\n"
	       "    case ${COMP_WORDS[1]} in\n");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden && print_case(*c) < 0)
			return CLI_FAILED;
	printf("    esac\n"
	       "  fi\n"
	       "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "  [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- "
	       "\"$word\"))\n"
	       "}\n"
	       "complete -F _remit remit\n");
	return 0;
}

static const struct option completion_rows[] = {
	{
		.kind = OPTION_TEXT,
		.value = "SHELL",
		.hidden = true,
		OPTION_AT(struct wanted, shell),
	},
	{ 0 },
};

const struct command command_completion = {
	.options = {
		.name = "completion",
		.usage = "[bash]",
		.summary = "print shell completion: eval \"$(remit "
			   "completion)\"",
		.tables = { { .rows = completion_rows } },
	},
	.run = completion_command,
};
