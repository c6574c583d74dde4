/*
 * completion: completion for bash, from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* The first word of each row of a command's own options. */
static void
print_options(const char *rows)
{
	while (rows && *rows) {
		if (!strncmp(rows, "  -", 3))
			printf("%.*s ", (int)strcspn(rows + 2, " "), rows + 2);
		rows += strcspn(rows, "\n");
		rows += *rows == '\n';
	}
}

static void
print_command(const struct command *c)
{
	own(buf) struct buf more = BUF_INIT(64 * 1024);

	print_options(c->options);
	if (c->more_options && c->more_options(&more) == 0)
		print_options(more.data);
}

static int
run(int argc, char **argv)
{
	own(buf) struct buf flags = BUF_INIT(64 * 1024);
	struct remit_error err;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "bash"))) {
		fail(&err, REMIT_E_INPUT, "only bash is known");
		return cli_error(&err);
	}
	if (flags_completion(&flags) < 0)
		return CLI_FAILED;
	for (char *c = flags.data; *c; c++)
		if (*c == '\n')
			*c = ' ';
	printf("_remit() {\n"
	       "  local word=${COMP_WORDS[COMP_CWORD]} words\n"
	       "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
	       "    words='");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf("%s ", (*c)->name);
	printf("--help --version'\n"
	       "  else\n"
	       "    case $word in -*) words='--help ");
	for (const struct command *const *c = commands; *c; c++)
		print_command(*c);
	printf("%s';; esac\n"
	       "  fi\n"
	       "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "  [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- "
	       "\"$word\"))\n"
	       "}\n"
	       "complete -F _remit remit\n",
	       flags.data);
	return 0;
}

const struct command command_completion = {
	.name = "completion",
	.usage = "[bash]",
	.summary = "print shell completion: eval \"$(remit completion)\"",
	.run = run,
};
