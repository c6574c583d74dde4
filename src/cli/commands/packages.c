/*
 * packages: lists and removes the packages that were installed for runs.
 */
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/report/screen.h"
#include "keeper/packages/package_layer_list.h"
#include "keeper/packages/package_layer_prune.h"
#include "policy/quantity.h"

/* How many digits of an id are shown to people. */
#define ID_SHOWN 12
/* 30 days. */
#define UNUSED_MS (UINT64_C(30) * 24 * 60 * 60 * 1000)

/* Show a size with two or three digits. */
static void
show_size(json_int_t bytes, char *out, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	double n = (double)bytes;
	size_t i = 0;

	for (; n >= 1000 && i + 1 < ARRAY_LEN(units); i++)
		n /= 1024;
	snprintf(out, size, "%.*f %s", i && n < 10 ? 1 : 0, n, units[i]);
}

static void
print_wheels(const json_t *wheels)
{
	json_t *wheel;
	size_t i;

	json_array_foreach(wheels, i, wheel)
	{
		own(buf) struct buf shown = BUF_INIT(4096);

		if (line_text_message(&shown, json_string_value(wheel), 200) ==
		    0)
			printf("%s%s", i ? " " : "", buf_text(&shown));
	}
	putchar('\n');
}

static void
print_row(const json_t *row)
{
	time_t used = (time_t)json_integer_value(json_object_get(row, "used"));
	char size[QUANTITY_SIZE], when[32] = "";
	struct tm parts;

	gmtime_r(&used, &parts);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
	show_size(json_integer_value(json_object_get(row, "size_bytes")), size,
		  sizeof(size));
	printf("%.*s  %8s  %s  ", ID_SHOWN,
	       json_string_value(json_object_get(row, "id")), size, when);
	print_wheels(json_object_get(row, "wheels"));
}

/* ---- list ---- */

struct wanted {
	bool json;
};

static int
print_all(const struct wanted *w, struct remit_error *err)
{
	json_auto_t *all = NULL;
	json_t *row;
	size_t i;

	if (package_layer_list(&all, err) < 0)
		return -1;
	if (w->json) {
		json_dumpf(all, stdout, JSON_COMPACT);
		putchar('\n');
		return 0;
	}
	if (json_array_size(all))
		printf("%-*s  %8s  %-20s  %s\n", ID_SHOWN, "ID", "SIZE",
		       "LAST USED", "PACKAGES");
	json_array_foreach(all, i, row)
	{
		print_row(row);
	}
	return 0;
}

static const struct option list_rows[] = {
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the list as JSON",
		OPTION_AT(struct wanted, json),
	},
	{ 0 },
};

static const struct command packages_list;

static int
run_list(int argc, char **argv)
{
	struct wanted w = { 0 };
	struct remit_error err;

	if (cli_parse(&packages_list, &w, argc, argv, &err) < 0 ||
	    print_all(&w, &err) < 0)
		return cli_error(&err);
	return 0;
}

static const struct command packages_list = {
	.options = {
		.name = "packages list",
		.usage = "[--json]",
		.summary = "show the packages that were installed for runs",
		.tables = { { .rows = list_rows } },
	},
	.run = run_list,
};

/* ---- prune ---- */

struct prune {
	uint64_t unused_ms; /* 0: not given */
	uint64_t max_bytes; /* 0: not given */
	bool all;
	struct list ids;
};

static void
prune_free(struct prune *p)
{
	list_free(&p->ids);
}

/* With --max-bytes alone, age does not matter. */
static int
remove_unused(const struct prune *p, struct remit_error *err)
{
	uint64_t unused_ms = p->max_bytes ? UINT64_MAX : UNUSED_MS;
	struct package_layer_prune s = {
		.unused_ms = p->all	    ? 0
			     : p->unused_ms ? p->unused_ms
					    : unused_ms,
		.max_bytes = p->max_bytes ? p->max_bytes : UINT64_MAX,
		.ids = &p->ids,
		.removes_old = !p->ids.count,
	};
	char size[QUANTITY_SIZE];

	if (package_layer_prune(&s, err) < 0)
		return -1;
	show_size((json_int_t)s.freed_bytes, size, sizeof(size));
	printf("removed %llu (%s)", (unsigned long long)s.removed, size);
	if (s.in_use)
		printf(", %llu in use", (unsigned long long)s.in_use);
	putchar('\n');
	return 0;
}

static const struct option prune_rows[] = {
	{
		.name = "unused",
		.kind = OPTION_TIME,
		.value = "TIME",
		.example = "24h",
		.fallback = "720h",
		.help = "remove packages that were not used for this time",
		OPTION_AT(struct prune, unused_ms),
	},
	{
		.name = "max-bytes",
		.kind = OPTION_BYTES,
		.value = "SIZE",
		.example = "4G",
		.help = "remove the least recently used packages, until the "
			"rest fits",
		.detail = "The most recently used packages stay.",
		OPTION_AT(struct prune, max_bytes),
	},
	{
		.name = "all",
		.kind = OPTION_FLAG,
		.help = "remove all packages that are not in use",
		OPTION_AT(struct prune, all),
	},
	{
		.kind = OPTION_LIST,
		.value = "ID",
		.help = "remove the packages with this id, or with an id that "
			"begins so",
		OPTION_AT(struct prune, ids),
	},
	{ 0 },
};

static const struct command packages_prune;

static int
run_prune(int argc, char **argv)
{
	own(prune) struct prune p = { 0 };
	struct remit_error err;

	if (cli_parse(&packages_prune, &p, argc, argv, &err) < 0 ||
	    remove_unused(&p, &err) < 0)
		return cli_error(&err);
	return 0;
}

static const struct command packages_prune = {
	.options = {
		.name = "packages prune",
		.usage = "[--unused TIME] [--max-bytes SIZE] [--all] [ID...]",
		.summary = "remove packages that were installed for runs",
		.tables = { { .rows = prune_rows } },
	},
	.run = run_prune,
};

static const struct command *const verbs[] = {
	&packages_list,
	&packages_prune,
	NULL,
};

const struct command command_packages = {
	.options = {
		.name = "packages",
		.usage = "list|prune [OPTION...]",
		.summary = "show or remove the packages that were installed "
			   "for runs",
	},
	.verbs = verbs,
};
