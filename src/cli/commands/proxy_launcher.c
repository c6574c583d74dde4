/*
 * proxy_launcher: the process that starts network proxies. Only a keeper starts
 * it.
 */
#include "proxy/proxy_launcher.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct request {
	const char *kind; /* NULL or "unfiltered" */
};

static int
proxy_launcher_command(int argc, char **argv)
{
	struct request r = { 0 };
	struct remit_error err;

	if (cli_parse(&command_proxy_launcher, &r, argc, argv, &err) < 0)
		return cli_error(&err);
	if (proxy_launcher_main(r.kind && !strcmp(r.kind, "unfiltered")) == 0)
		return 0;
	fprintf(stderr, "remit: only a keeper can start a proxy launcher\n");
	return CLI_FAILED;
}

static const struct option proxy_launcher_rows[] = {
	{
		.kind = OPTION_TEXT,
		.value = "unfiltered",
		.hidden = true,
		OPTION_AT(struct request, kind),
	},
	{ 0 },
};

const struct command command_proxy_launcher = {
	.options = {
		.name = "proxy-launcher",
		.usage = "[unfiltered]",
		.summary = "start network proxies for runs (started by a keeper)",
		.tables = { { .rows = proxy_launcher_rows } },
	},
	.hidden = true,
	.run = proxy_launcher_command,
};
