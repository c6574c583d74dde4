/*
 * bench: becomes remit-bench. The benchmark is a program of its own, so that
 * nothing of it is part of the program that is the keeper.
 */
#include <limits.h>
#include <stdio.h>

#include "base/file/path.h"
#include "cli/bench_request.h"
#include "cli/cli.h"

static int
bench_command(int argc, char **argv)
{
	static const char *const places[] = { "remit-bench",
					      "../libexec/remit-bench" };
	struct bench_request request = { 0 };
	own_mem char *own = NULL;
	char path[PATH_MAX];
	struct remit_error err;

	/* The benchmark reads them itself. Only here is it known which other
	   command has an option. */
	if (cli_parse(&command_bench, &request, argc, argv, &err) < 0 ||
	    path_own_dir(&own, &err) < 0)
		return cli_error(&err);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%s/%s", own, places[i]);
		execv(path, argv);
		if (errno != ENOENT) {
			fail_sys(&err, REMIT_E_KERNEL, "start %s", path);
			return cli_error(&err);
		}
	}
	fail_refused(&err, "",
		     "The Debian package \"remit\", the wheel and \"make "
		     "install\" have it: install Remit again from one of them.",
		     "the benchmark is not installed: there is neither "
		     "%s/remit-bench nor %s/../libexec/remit-bench",
		     own, own);
	return cli_error(&err);
}

const struct command command_bench = {
	.options = {
		.name = "bench",
		.usage = "[OPTION...]",
		.summary = "measure Remit, bare Python and other sandboxes",
		.tables = { { .rows = bench_request_rows } },
	},
	.run = bench_command,
};
