/*
 * proxy: what a keeper starts for a run that names hosts. Not for people.
 */
#include "proxy.h"

#include <stdio.h>

#include "cli.h"

static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (proxy_main() == 0)
		return 0;
	fprintf(stderr, "remit: a proxy is started by a keeper only\n");
	return CLI_FAILED;
}

const struct command command_proxy = {
	.name = "proxy",
	.usage = "",
	.summary = "the network of one run; started by a keeper",
	.hidden = true,
	.run = run,
};
