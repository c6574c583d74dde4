/*
 * packages: what was installed for runs, and removing it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "line_text.h"
#include "quantity.h"
#include "shelf_list.h"

/* Digits of an id that people are shown. */
#define ID_SHOWN 12
/* 30 days. */
#define UNUSED_MS (UINT64_C(30) * 24 * 60 * 60 * 1000)

/* As short as people want it: three digits say enough. */
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

static int
list(int argc, char **argv, struct remit_error *err)
{
	json_auto_t *all = NULL;
	bool json = false;
	json_t *row;
	size_t i;

	for (int k = 0; k < argc; k++) {
		if (strcmp(argv[k], "--json") != 0)
			return flags_unknown(argv[k], err);
		json = true;
	}
	if (shelf_list(&all, err) < 0)
		return -1;
	if (json) {
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

static int
read_options(struct shelf_prune *p, struct list *ids, int argc, char **argv,
	     struct remit_error *err)
{
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--all")) {
			p->unused_ms = 0;
		} else if (!strcmp(argv[i], "--unused") && i + 1 < argc) {
			if (quantity_time(argv[++i], &p->unused_ms, err) < 0)
				return fail_within(err, "--unused");
		} else if (!strcmp(argv[i], "--max-bytes") && i + 1 < argc) {
			if (quantity_bytes(argv[++i], &p->max_bytes, err) < 0)
				return fail_within(err, "--max-bytes");
			p->unused_ms = UINT64_MAX;
		} else if (argv[i][0] == '-') {
			return flags_unknown(argv[i], err);
		} else if (list_add(ids, argv[i]) < 0) {
			return fail_sys(err, REMIT_E_MEMORY, "packages");
		}
	}
	return 0;
}

static int
prune(int argc, char **argv, struct remit_error *err)
{
	own(list) struct list ids = { 0 };
	struct shelf_prune p = { .unused_ms = UNUSED_MS,
				 .max_bytes = UINT64_MAX,
				 .ids = &ids };
	char size[QUANTITY_SIZE];

	if (read_options(&p, &ids, argc, argv, err) < 0 ||
	    shelf_prune(&p, err) < 0)
		return -1;
	show_size((json_int_t)p.freed_bytes, size, sizeof(size));
	printf("removed %llu (%s)", (unsigned long long)p.removed, size);
	if (p.in_use)
		printf(", %llu in use", (unsigned long long)p.in_use);
	putchar('\n');
	return 0;
}

static int
run(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv, struct remit_error *err);
	} verbs[] = {
		{ "list", list },
		{ "prune", prune },
	};
	const char *verb = argc > 1 ? argv[1] : "list";
	struct remit_error err;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].name, verb) != 0)
			continue;
		if (verbs[i].run(argc > 1 ? argc - 2 : 0, argv + 2, &err) < 0)
			return cli_error(&err);
		return 0;
	}
	fail(&err, REMIT_E_INPUT,
	     "\"%.60s\": what to do with packages is list or prune", verb);
	return cli_error(&err);
}

const struct command command_packages = {
	.name = "packages",
	.usage = "list [--json] | prune [--unused TIME] [--max-bytes SIZE] "
		 "[--all] [ID...]",
	.summary = "show or remove the packages that were installed for runs",
	.options = "  --json              print the list as JSON\n"
		   "  --unused TIME       remove what was not used for so long "
		   "(default: 720h)\n"
		   "  --max-bytes SIZE    remove what was used longest ago, "
		   "until the rest fits\n"
		   "  --all               remove all that is not in use\n",
	.run = run,
};
