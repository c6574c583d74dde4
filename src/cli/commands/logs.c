/*
 * logs: shows the last runs of the shared keeper.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

static void
print_run(const json_t *run)
{
	const char *id, *status, *tier, *start;
	double ended, wall, cpu;
	char when[32] = "";
	json_int_t bytes;
	struct tm parts;
	time_t seconds;

	if (json_unpack((json_t *)run,
			"{s:s, s:F, s:s, s:s, s:s, s:I, s:F, s:F}", "run_id",
			&id, "ended", &ended, "status", &status, "tier", &tier,
			"start", &start, "code_bytes", &bytes, "wall_ms", &wall,
			"cpu_ms", &cpu) < 0)
		return;
	seconds = (time_t)ended;
	gmtime_r(&seconds, &parts);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
	printf("%-16s  %s  %-12s  %-8s  %-5s  %8lld  %9.1f  %9.1f\n", id, when,
	       status, tier, start, (long long)bytes, wall, cpu);
}

/* Print all runs, or only the one with this id. Returns how many. */
static size_t
print_runs(const json_t *runs, const char *id, bool json)
{
	size_t i, shown = 0;
	json_t *run;

	json_array_foreach(runs, i, run)
	{
		const char *own =
			json_string_value(json_object_get(run, "run_id"));

		if (id && (!own || strcmp(own, id) != 0))
			continue;
		if (!json && !shown)
			printf("%-16s  %-20s  %-12s  %-8s  %-5s  %8s  %9s  "
			       "%9s\n",
			       "RUN", "ENDED", "STATUS", "TIER", "START",
			       "CODE", "WALL MS", "CPU MS");
		shown++;
		if (!json) {
			print_run(run);
			continue;
		}
		json_dumpf(run, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
		putchar('\n');
	}
	return shown;
}

struct wanted {
	const char *run_id; /* NULL: all */
	bool json;
};

static int
logs_command(int argc, char **argv)
{
	struct wanted w = { 0 };
	struct remit_error err;
	json_auto_t *doc = NULL;
	char path[108];

	if (cli_parse(&command_logs, &w, argc, argv, &err) < 0 ||
	    cli_query_keeper(&doc, path, sizeof(path), &err) < 0)
		return cli_error(&err);
	if (print_runs(json_object_get(doc, "runs"), w.run_id, w.json) ||
	    !w.run_id)
		return 0;
	fail(&err, REMIT_E_INPUT, "the keeper at %s does not remember run %s",
	     path, w.run_id);
	return cli_error(&err);
}

static const struct option logs_rows[] = {
	{
		.kind = OPTION_TEXT,
		.value = "RUN_ID",
		.hidden = true,
		OPTION_AT(struct wanted, run_id),
	},
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print each run as one JSON object",
		OPTION_AT(struct wanted, json),
	},
	{ 0 },
};

const struct command command_logs = {
	.options = {
		.name = "logs",
		.usage = "[--json] [RUN_ID]",
		.summary = "show the last runs of the shared keeper",
		.tables = { { .rows = logs_rows } },
	},
	.run = logs_command,
};
