#include "cli/bench_request.h"

#define ROUNDS_MAX 10000

#define AT(member) OPTION_AT(struct bench_request, member)

const struct option bench_request_rows[] = {
	{
		.name = "quick",
		.kind = OPTION_FLAG,
		.help = "measure for a few seconds, with few rounds and few "
			"peers",
		AT(quick),
	},
	{
		.name = "rounds",
		.kind = OPTION_NUMBER,
		.value = "N",
		.example = "60",
		.fallback = "60, or 6 with --quick",
		.help = "how many times each start is measured",
		.detail = "Slow programs run in fewer rounds.",
		.min = 1,
		.max = ROUNDS_MAX,
		AT(rounds),
	},
	{
		.name = "only",
		.kind = OPTION_TEXT,
		.value = "PATTERN",
		.example = "'print*'",
		.help = "measure only the sections whose heading matches this "
			"pattern",
		AT(only),
	},
	{
		.name = "python",
		.kind = OPTION_PATH,
		.value = "PATH",
		.example = "/usr/bin/python3",
		.help = "the interpreter that Remit and all peers use",
		AT(python),
	},
	{
		.name = "json",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "bench.json",
		.help = "also write all results to this file, as JSON",
		.detail = "_bench/plot.py_ of the source draws it.",
		AT(json),
	},
	{ 0 },
};
