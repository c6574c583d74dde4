/*
 * bench: executes remit-bench. The benchmark is a separate program, so that the
 * program of the keeper contains no part of it.
 */
#include <limits.h>
#include <stdio.h>

#include "base/file/path.h"
#include "cli/bench_request.h"
#include "cli/cli.h"

static int
exec_bench(int argc, char **argv)
{
	static const char *const places[] = { "remit-bench",
					      "../libexec/remit-bench" };
	struct bench_request request = { 0 };
	own_mem char *own = NULL;
	char path[PATH_MAX];
	struct remit_error err;

	/* remit-bench parses the options again. They are checked here too,
	   since only this program knows which other command has an option. */
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
		     "Install Remit from the Debian package \"remit\", the "
		     "wheel or \"make install\": these contain it.",
		     "the benchmark is not installed: neither %s/remit-bench "
		     "nor %s/../libexec/remit-bench exists",
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
	.run = exec_bench,
};
