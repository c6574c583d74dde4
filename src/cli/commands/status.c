/*
 * status: shows what the shared keeper is doing.
 */
#include <jansson.h>
#include <stdio.h>

#include "base/file/path.h"
#include "cli/cli.h"

static void
print_bytes(const json_t *row)
{
	json_t *bytes = json_object_get(row, "memory_bytes");

	printf("%6.1f MiB", json_number_value(bytes) / (1 << 20));
}

static void
print_preload(const json_t *row)
{
	const json_t *list = json_object_get(row, "preload");
	if (!json_array_size(list))
		printf(" standard library");
	for (size_t i = 0; i < json_array_size(list); i++)
		printf(" %s", json_string_value(json_array_get(list, i)));
}

static long long
status_number(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static const char *
status_word(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static void
print_zygotes(const json_t *doc)
{
	const json_t *all = json_object_get(doc, "zygotes");

	if (!json_array_size(all))
		return;
	printf("\nZYGOTE     STATE     FORKS     MEMORY     PYTHON, MODULES\n");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *z = json_array_get(all, i);

		printf("%-10lld %-9s %-9lld ", status_number(z, "pid"),
		       status_word(z, "state"), status_number(z, "forks"));
		print_bytes(z);
		printf(" %s,", status_word(z, "python"));
		print_preload(z);
		printf("%s%s\n", *status_word(z, "error") ? ": " : "",
		       status_word(z, "error"));
	}
}

static void
print_pools(const json_t *doc)
{
	const json_t *all = json_object_get(doc, "pools");

	if (!json_array_size(all))
		return;
	printf("\nPOOL              WAITING   HITS      MISSES    MEMORY     "
	       "MODULES\n");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *p = json_array_get(all, i);

		printf("%-17s %3lld/%-5lld %-9lld %-9lld ",
		       status_word(p, "plan"), status_number(p, "waiting"),
		       status_number(p, "target"), status_number(p, "hits"),
		       status_number(p, "misses"));
		print_bytes(p);
		print_preload(p);
		printf("%s%s\n", *status_word(p, "error") ? ": " : "",
		       status_word(p, "error"));
	}
}

static void
print_sessions(const json_t *doc)
{
	const json_t *all = json_object_get(doc, "sessions");

	if (!json_array_size(all))
		return;
	printf("\nSESSION           STATE   CELLS     SINCE      MEMORY\n");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *s = json_array_get(all, i);

		printf("%-17s %-7s %-9lld %8.1f s ", status_word(s, "id"),
		       status_word(s, "state"), status_number(s, "cells"),
		       json_number_value(json_object_get(s, "since_s")));
		print_bytes(s);
		putchar('\n');
	}
}

static void
print_table(const json_t *doc, const char *path)
{
	const json_t *l = json_object_get(doc, "latency_us");

	printf("keeper %lld at %s, remit %s, up %.0f s, ",
	       status_number(doc, "pid"), path,
	       status_word(doc, "remit_version"),
	       json_number_value(json_object_get(doc, "uptime_s")));
	print_bytes(doc);
	printf("\n%lld running, %lld waiting, %lld runs so far",
	       status_number(doc, "running"), status_number(doc, "queued"),
	       status_number(l, "count"));
	if (status_number(l, "count"))
		printf("; latency %lld us (p95 %lld, p99 %lld)",
		       status_number(l, "p50"), status_number(l, "p95"),
		       status_number(l, "p99"));
	putchar('\n');
	print_zygotes(doc);
	print_pools(doc);
	print_sessions(doc);
}

static int
find_keeper(char *out, size_t size, struct remit_error *err)
{
	const char *named = getenv("REMIT_KEEPER");

	if (named && *named) {
		snprintf(out, size, "%s", named);
		return 0;
	}
	if (path_keeper_socket(out, size) < 0)
		return fail(err, REMIT_E_INPUT,
			    "XDG_RUNTIME_DIR is not set: set REMIT_KEEPER to "
			    "the keeper's socket");
	return 0;
}

int
cli_query_keeper(json_t **out, char *path, size_t size, struct remit_error *err)
{
	struct remit_options opt = { .keeper_path = path };
	own_mem char *text = NULL;
	struct remit *r;
	int failed;

	if (find_keeper(path, size, err) < 0 || remit_open(&r, &opt, err) < 0)
		return -1;
	failed = remit_status(r, &text, err);
	remit_close(r);
	if (failed < 0)
		return -1;
	*out = json_loads(text, 0, NULL);
	return *out ? 0
		    : fail(err, REMIT_E_PROTOCOL,
			   "the keeper's status is not valid JSON");
}

struct wanted {
	bool json;
};

static int
status_command(int argc, char **argv)
{
	struct wanted w = { 0 };
	json_auto_t *doc = NULL;
	struct remit_error err;
	char path[108];

	if (cli_parse(&command_status, &w, argc, argv, &err) < 0 ||
	    cli_query_keeper(&doc, path, sizeof(path), &err) < 0)
		return cli_error(&err);
	/* `remit logs` shows the runs. */
	json_object_del(doc, "runs");
	if (w.json) {
		json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
		putchar('\n');
	} else {
		print_table(doc, path);
	}
	return 0;
}

static const struct option status_rows[] = {
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print the status as one JSON object",
		OPTION_AT(struct wanted, json),
	},
	{ 0 },
};

const struct command command_status = {
	.options = {
		.name = "status",
		.usage = "[--json]",
		.summary = "show what the shared keeper is doing",
		.tables = { { .rows = status_rows } },
	},
	.run = status_command,
};
