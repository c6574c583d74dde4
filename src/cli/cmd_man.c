/*
 * man: the part of remit-policy(5) that comes from the table. The build uses
 * it; users read the man page.
 */
#include <stdio.h>

#include "cli.h"

static int
run(int argc, char **argv)
{
	own(buf) struct buf text = BUF_INIT(1024 * 1024);

	(void)argc;
	(void)argv;
	if (flags_man(&text) < 0)
		return CLI_FAILED;
	fputs(text.data, stdout);
	return 0;
}

const struct command command_man = {
	.name = "man",
	.usage = "",
	.summary = "print the policy section of the man page",
	.hidden = true,
	.run = run,
};
