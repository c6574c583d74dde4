/*
 * matrix: shows for each tier and field the mechanisms that enforce the field
 * on this host.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "policy/fields/field.h"
#include "serve/native/matrix.h"

static void
print_cell(const struct matrix_column *c, int f)
{
	uint64_t set = c->plan.rows[f].mechanisms;
	const char *comma = "";

	if (c->refused) {
		printf("refused");
		return;
	}
	if (!c->plan.rows[f].present)
		printf("(off: nothing is promised)");
	else if (!set)
		printf("-");
	for (int m = 0; m < MECH_COUNT; m++)
		if (set & UINT64_C(1) << m) {
			printf("%s%s", comma, mechanisms[m].name);
			comma = ", ";
		}
}

static void
print_table(const struct matrix_column *columns)
{
	for (int t = 0; t < TIER_COUNT; t++) {
		printf("%s: %s%s\n", tiers[t].name, tiers[t].sentence,
		       columns[t].built ? "" : " (not built yet)");
		if (columns[t].refused)
			printf("  refused here: %s\n", columns[t].why.message);
		for (int f = 0; columns[t].built && f < FIELD_TOTAL; f++) {
			if (fields[f].setting)
				continue;
			printf("  %-24s ", fields[f].name);
			print_cell(&columns[t], f);
			putchar('\n');
		}
		putchar('\n');
	}
}

struct wanted {
	bool json;
};

static int
matrix_command(int argc, char **argv)
{
	static struct matrix m;
	struct wanted w = { 0 };
	struct remit_error err;
	json_t *rows;
	int failed;

	if (cli_parse(&command_matrix, &w, argc, argv, &err) < 0)
		return cli_error(&err);
	failed = matrix_find(&m, &err) < 0 ? cli_error(&err) : 0;
	if (!failed && w.json) {
		rows = matrix_to_json(&m);
		json_dumpf(rows, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(rows);
	} else if (!failed) {
		print_table(m.columns);
	}
	matrix_free(&m);
	return failed;
}

static const struct option matrix_rows[] = {
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the matrix as JSON",
		OPTION_AT(struct wanted, json),
	},
	{ 0 },
};

const struct command command_matrix = {
	.options = {
		.name = "matrix",
		.usage = "[--json]",
		.summary = "show what enforces each field on this machine, by tier",
		.tables = { { .rows = matrix_rows } },
	},
	.run = matrix_command,
};
