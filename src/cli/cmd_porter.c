/*
 * porter: what a keeper starts where hosts can be named. Not for people.
 */
#include "porter.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"

static int
run(int argc, char **argv)
{
	if (porter_main(argc > 1 && !strcmp(argv[1], "unfiltered")) == 0)
		return 0;
	fprintf(stderr, "remit: a porter is started by a keeper only\n");
	return CLI_FAILED;
}

const struct command command_porter = {
	.name = "porter",
	.usage = "",
	.summary = "starts the network of runs; started by a keeper",
	.hidden = true,
	.run = run,
};
