#include "serve_limits.h"

#include <string.h>

#include "json_shape.h"
#include "quantity.h"
#include "room.h"
#include "route.h"
#include "tls_hello.h"

#define SERVER "server"
#define KEY    "key"

const struct serve_limit serve_limits_table[] = {
	{
		.name = "running programs",
		.scope = SERVER,
		.option = "--max-running",
		.value = LIMIT_RUNNING,
		.most = LIMIT_RUNNING,
		.offset = offsetof(struct serve_limits, running),
		.at = "further ones wait; keys take turns",
	},
	{
		.name = "open sessions",
		.scope = SERVER,
		.option = "--max-sessions",
		.value = LIMIT_SESSIONS,
		.most = LIMIT_SESSIONS,
		.offset = offsetof(struct serve_limits, sessions),
		.at = "429",
	},
	{
		.name = "sessions and runs, waiting ones included",
		.scope = SERVER,
		.option = "--max-rooms",
		.value = 512,
		.most = 4096,
		.offset = offsetof(struct serve_limits, rooms),
		.at = "429",
	},
	{
		.name = "bodies of all requests that are being read or served",
		.scope = SERVER,
		.option = "--max-body-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(256) << 20,
		.most = UINT64_C(64) << 30,
		.offset = offsetof(struct serve_limits, body_bytes),
		.at = "503; 429 for a key beyond its share",
	},
	{
		.name = "connections, and half of the open files at most",
		.scope = SERVER,
		.option = "--max-connections",
		.value = 1024,
		.most = 65536,
		.offset = offsetof(struct serve_limits, connections),
		.at = "the oldest without a key, then idle ones are closed; "
		      "429 for a key beyond its share",
	},
	{
		.name = "artifacts, those being written included",
		.scope = SERVER,
		.option = "--max-artifact-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(1) << 30,
		.most = UINT64_C(1) << 50,
		.offset = offsetof(struct serve_limits, artifact_bytes),
		.at = "the oldest of the key with the most go; a file without "
		      "space is skipped",
	},
	{
		.name = "share of one key in the limits above",
		.scope = KEY,
		.option = "--key-share",
		.unit = LIMIT_PERCENT,
		.value = 50,
		.most = 100,
		.offset = offsetof(struct serve_limits, key_share),
		.at = "as above; a single key has all",
	},
	{
		.name = "sessions and runs of a key",
		.scope = KEY,
		.member = "concurrency",
		.value = LIMIT_KEY_CONCURRENCY,
		.at = "429",
	},
	{
		.name = "requests of a key in a minute",
		.scope = KEY,
		.member = "per_minute",
		.value = LIMIT_KEY_PER_MINUTE,
		.at = "429",
	},
	{
		.name = "memory of a key's sessions and runs, by policy",
		.scope = KEY,
		.member = "memory_bytes",
		.unit = LIMIT_BYTES,
		.at = "429",
	},
	{
		.name = "`stdout_max_bytes` of a key without a policy",
		.scope = "run",
		.field = "stdout_max_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(16) << 20,
		.at = "403",
	},
	{
		.name = "`stderr_max_bytes` of a key without a policy",
		.scope = "run",
		.field = "stderr_max_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(16) << 20,
		.at = "403",
	},
	{
		.name = "`value_bytes` of a key without a policy",
		.scope = "run",
		.field = "value_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(16) << 20,
		.at = "403",
	},
	{
		.name = "`display_bytes` of a key without a policy",
		.scope = "run",
		.field = "display_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(64) << 20,
		.at = "403",
	},
	{
		.name = "`artifact_file_bytes` of a key without a policy",
		.scope = "run",
		.field = "artifact_file_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(256) << 20,
		.at = "403",
	},
	{
		.name = "`artifact_bytes` of a key without a policy",
		.scope = "run",
		.field = "artifact_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(512) << 20,
		.at = "403",
	},
	{
		.name = "`tool_bytes` of a key without a policy",
		.scope = "run",
		.field = "tool_bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(16) << 20,
		.at = "403",
	},
	{
		.name = "`artifact_files` of a key without a policy",
		.scope = "run",
		.field = "artifact_files",
		.value = 10000,
		.at = "403",
	},
	{
		.name = "requests that wait for a session",
		.scope = "session",
		.value = ROOM_QUEUE_MAX,
		.at = "429",
	},
	{
		.name = "time that artifacts are kept",
		.scope = "run",
		.unit = LIMIT_SECONDS,
		.value = LIMIT_ARTIFACT_SECONDS,
		.at = "they are removed",
	},
	{
		.name = "head of a request",
		.scope = "request",
		.unit = LIMIT_BYTES,
		.value = HEAD_MAX,
		.at = "400, the connection ends",
	},
	{
		.name = "body of a request",
		.scope = "request",
		.unit = LIMIT_BYTES,
		.value = ROUTE_JSON_BYTES,
		.at = "413, the connection ends",
	},
	{
		.name = "JSON values in a body",
		.scope = "request",
		.value = JSON_VALUES_MAX,
		.at = "413",
	},
	{ 0 },
};

static uint64_t *
value_of(struct serve_limits *l, const struct serve_limit *row)
{
	return (uint64_t *)((char *)l + row->offset);
}

void
serve_limits_init(struct serve_limits *l)
{
	for (const struct serve_limit *row = serve_limits_table; row->name;
	     row++)
		if (row->option)
			*value_of(l, row) = row->value;
}

static int
parse(const struct serve_limit *row, const char *text, uint64_t *value,
      struct remit_error *err)
{
	switch (row->unit) {
	case LIMIT_BYTES:
		return quantity_bytes(text, value, err);
	case LIMIT_COUNT:
	case LIMIT_PERCENT:
	case LIMIT_SECONDS:
		return quantity_count(text, value, err);
	}
	return -1;
}

static void
show_value(const struct serve_limit *row, uint64_t value, char *out,
	   size_t size)
{
	if (!value)
		snprintf(out, size, "none");
	else if (row->unit == LIMIT_BYTES)
		quantity_show_bytes(value, out, size);
	else
		snprintf(out, size, "%llu%s", (unsigned long long)value,
			 row->unit == LIMIT_PERCENT   ? " %"
			 : row->unit == LIMIT_SECONDS ? " s"
						      : "");
}

int
serve_limits_take(struct serve_limits *l, const struct serve_limit *row,
		  const char *text, struct remit_error *err)
{
	char most[QUANTITY_SIZE];
	uint64_t value = 0;

	if (parse(row, text, &value, err) < 0)
		return fail_within(err, "%s", row->option);
	show_value(row, row->most, most, sizeof(most));
	if (value > row->most)
		return fail(err, REMIT_E_INPUT, "%s %s: must be at most %s",
			    row->option, text, most);
	*value_of(l, row) = value;
	return 0;
}

uint64_t
serve_limits_share(uint64_t limit, unsigned percent)
{
	uint64_t share = limit / 100 * percent + limit % 100 * percent / 100;

	return percent >= 100 ? limit : share ? share : 1;
}

int
serve_limits_help(struct buf *out)
{
	static const char *const values[] = {
		[LIMIT_COUNT] = "N",
		[LIMIT_BYTES] = "SIZE",
		[LIMIT_SECONDS] = "SECONDS",
		[LIMIT_PERCENT] = "PERCENT",
	};
	char shown[QUANTITY_SIZE], option[64];

	if (buf_addf(out, "Limits (\"remit serve --limits\" has all):\n") < 0)
		return -1;
	for (const struct serve_limit *row = serve_limits_table; row->name;
	     row++) {
		if (!row->option)
			continue;
		show_value(row, row->value, shown, sizeof(shown));
		snprintf(option, sizeof(option), "%s %s", row->option,
			 values[row->unit]);
		if (buf_addf(out, "  %s%*s%s; unless given %s\n", option,
			     strlen(option) < 22 ? 22 - (int)strlen(option) : 1,
			     "", row->name, shown) < 0)
			return -1;
	}
	return 0;
}

int
serve_limits_show(FILE *out)
{
	char shown[QUANTITY_SIZE];

	fprintf(out, "| limit | of | default | set by | what happens at it |\n"
		     "|---|---|---|---|---|\n");
	for (const struct serve_limit *row = serve_limits_table; row->name;
	     row++) {
		const char *by = row->option   ? row->option
				 : row->member ? row->member
				 : row->field  ? "policy"
					       : NULL;

		show_value(row, row->value, shown, sizeof(shown));
		fprintf(out, "| %s | %s | %s | %s%s%s | %s |\n", row->name,
			row->scope, shown, by ? "`" : "", by ? by : "",
			by ? "`" : "", row->at);
	}
	return fflush(out) ? -1 : 0;
}
