#include "serve/limits.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "hosted/hosted.h"
#include "http/forward.h"
#include "http/route.h"
#include "http/tls_hello.h"
#include "policy/quantity.h"
#include "serve/auth/keys.h"
#include "serve/mcp_clients.h"
#include "wire/watch.h"

#define SERVER "server"
#define KEY    "key"

/* Enough bytes for a value as text, or for a short phrase. */
#define SHOWN_SIZE 128

/* The maximum number of limits with an option. */
#define OPTIONS_MAX 16

const struct serve_limit serve_limits_table[] = {
	{
		.name = "running programs",
		.scope = SERVER,
		.option = "--max-running",
		.value = LIMIT_RUNNING,
		.most = LIMIT_RUNNING,
		.offset = offsetof(struct serve_limits, running),
		.at = "programs wait in line; keys take turns",
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
		.name = "sessions and runs, including waiting ones",
		.scope = SERVER,
		.option = "--max-rooms",
		.value = 512,
		.most = 4096,
		.offset = offsetof(struct serve_limits, hosted),
		.at = "429",
	},
	{
		.name = "memory of running programs and open sessions with "
			"their results, by policy",
		.scope = SERVER,
		.option = "--max-memory",
		.unit = LIMIT_BYTES,
		.shown = "the memory of the machine that nothing else needs; "
			 "for a single key, 4 times the machine's",
		.most = UINT64_C(1) << 50,
		.offset = offsetof(struct serve_limits, memory_bytes),
		.at = "programs wait, sessions: 429; a program that can never "
		      "fit: 422",
	},
	{
		.name = "results being sent, as JSON",
		.scope = SERVER,
		.option = "--max-result-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(1) << 30,
		.most = UINT64_C(1) << 50,
		.offset = offsetof(struct serve_limits, result_bytes),
		.at = "results wait; one that can never fit: 422",
	},
	{
		.name = "bodies of all requests being read or served",
		.scope = SERVER,
		.option = "--max-body-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(256) << 20,
		.most = UINT64_C(64) << 30,
		.offset = offsetof(struct serve_limits, body_bytes),
		.at = "503; 429 for a key beyond its share",
	},
	{
		.name = "connections, but at most half of the allowed open "
			"files",
		.scope = SERVER,
		.option = "--max-connections",
		.value = 1024,
		.most = 65536,
		.offset = offsetof(struct serve_limits, connections),
		.at = "closes the oldest without a key, then idle ones; 429 "
		      "for a key beyond its share",
	},
	{
		.name = "connections to ports inside sandboxes",
		.scope = SERVER,
		.option = "--max-port-connections",
		.value = 256,
		.most = 65536,
		.offset = offsetof(struct serve_limits, port_connections),
		.at = "429",
	},
	{
		.name = "artifacts, including those being written",
		.scope = SERVER,
		.option = "--max-artifact-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(1) << 30,
		.most = UINT64_C(1) << 50,
		.offset = offsetof(struct serve_limits, artifact_bytes),
		.at = "removes the oldest of the key with the most; skips a "
		      "file that still does not fit",
	},
	{
		.name = "snapshots and paused sandboxes on disk, with equal "
			"files of a key counted once",
		.scope = SERVER,
		.option = "--max-snapshot-bytes",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(8) << 30,
		.most = UINT64_C(1) << 50,
		.offset = offsetof(struct serve_limits, snapshot_bytes),
		.at = "507; the sandbox continues",
	},
	{
		.name = "memory of the lists of files being stored or restored",
		.scope = SERVER,
		.unit = LIMIT_BYTES,
		.value = LIMIT_LIST_BYTES,
		.at = "507; the sandbox continues",
	},
	{
		.name = "memory of lists of watched folders outside workspaces",
		.scope = SERVER,
		.unit = LIMIT_BYTES,
		.value = LIMIT_LISTINGS_BYTES,
		.at = "`resource_exhausted`",
	},
	{
		.name = "installations of packages",
		.scope = SERVER,
		.value = LIMIT_INSTALLERS,
		.at = "installations wait; keys take turns, and each of "
		      "several keys gets at most two at once",
	},
	{
		.name = "packages kept on disk",
		.scope = "user",
		.unit = LIMIT_BYTES,
		.value = LIMIT_PACKAGE_BYTES,
		.at = "removes the least recently used of the key with the "
		      "most",
	},
	{
		.name = "jails, including warm ones",
		.scope = "keeper",
		.value = LIMIT_JAILS,
		.at = "removes warm ones",
	},
	{
		.name = "policies with warm jails, each with at most one "
			"zygote",
		.scope = "keeper",
		.value = LIMIT_POOLS,
		.at = "removes the least recently used of the key with the "
		      "most",
	},
	{
		.name = "memory of waiting jails with modules of packages, by "
			"policy",
		.scope = "keeper",
		.unit = LIMIT_BYTES,
		.value = LIMIT_FOREIGN_BYTES,
		.at = "keeps fewer waiting",
	},
	{
		.name = "memory of zygotes after their imports",
		.scope = "keeper",
		.unit = LIMIT_BYTES,
		.value = LIMIT_ZYGOTE_BYTES,
		.at = "ends the least recently used of the key with the most",
	},
	{
		.name = "zygotes that import preloaded modules, each with at "
			"most 2 GiB",
		.scope = "keeper",
		.value = LIMIT_IMPORTS,
		.at = "others wait",
	},
	{
		.name = "runs waiting for a jail",
		.scope = "keeper",
		.value = LIMIT_QUEUE,
		.at = "`busy`",
	},
	{
		.name = "share of one key in the server's limits above",
		.scope = KEY,
		.option = "--key-share",
		.unit = LIMIT_PERCENT,
		.value = 50,
		.most = 100,
		.offset = offsetof(struct serve_limits, key_share),
		.at = "as above; a single key may use everything",
	},
	{
		.name = "sessions and runs of a key",
		.scope = KEY,
		.member = "concurrency",
		.value = LIMIT_KEY_CONCURRENCY,
		.at = "429",
	},
	{
		.name = "requests of a key per minute",
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
		.name = "snapshots and paused sandboxes of a key",
		.scope = KEY,
		.option = "--max-snapshots",
		.value = 64,
		.most = 4096,
		.offset = offsetof(struct serve_limits, snapshots),
		.at = "507; the sandbox continues",
	},
	{
		.name = "how long snapshots and paused sandboxes are kept",
		.scope = KEY,
		.option = "--keep-snapshots",
		.unit = LIMIT_SECONDS,
		.value = UINT64_C(30) * 86400,
		.most = UINT64_C(3650) * 86400,
		.offset = offsetof(struct serve_limits, snapshot_seconds),
		.at = "removes them",
	},
	{
		.name = "MCP clients with a session",
		.scope = KEY,
		.value = MCP_CLIENTS_MAX,
		.at = "removes the least recently used",
	},
	{
		.name = "keys in the file",
		.scope = SERVER,
		.value = KEYS_MAX,
		.at = "the server does not start",
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
		.name = "`package_bytes` of a key without a policy",
		.scope = "run",
		.field = "package_bytes",
		.unit = LIMIT_BYTES,
		.value = LIMIT_KEY_PACKAGE_BYTES,
		.at = "403",
	},
	{
		.name = "requests waiting for a session",
		.scope = "session",
		.value = HOSTED_QUEUE_MAX,
		.at = "429",
	},
	{
		.name = "input that its commands have not read",
		.scope = "session",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(1) << 20,
		.at = "`resource_exhausted`",
	},
	{
		.name = "connections to the ports of a sandbox",
		.scope = "session",
		.value = LIMIT_PORT_CONNECTIONS,
		.at = "429",
	},
	{
		.name = "how long no bytes may pass on such a connection",
		.scope = "session",
		.option = "--port-idle",
		.unit = LIMIT_SECONDS,
		.value = 300,
		.most = 86400,
		.offset = offsetof(struct serve_limits, port_idle_seconds),
		.at = "502, or the connection closes",
	},
	{
		.name = "watched folders of a session, and 4096 with the "
			"folders in them",
		.scope = "session",
		.value = WATCHES_MAX,
		.at = "`resource_exhausted`",
	},
	{
		.name = "events that wait for a client that polls a watched "
			"folder",
		.scope = "session",
		.unit = LIMIT_BYTES,
		.value = UINT64_C(256) << 10,
		.at = "`resource_exhausted`: the watcher ends",
	},
	{
		.name = "how long artifacts are kept",
		.scope = "run",
		.unit = LIMIT_SECONDS,
		.value = LIMIT_ARTIFACT_SECONDS,
		.at = "removes them",
	},
	{
		.name = "head of a request",
		.scope = "request",
		.unit = LIMIT_BYTES,
		.value = HEAD_MAX,
		.at = "400 and the connection closes",
	},
	{
		.name = "body of a request",
		.scope = "request",
		.unit = LIMIT_BYTES,
		.value = ROUTE_JSON_BYTES,
		.at = "413 and the connection closes",
	},
	{
		.name = "headers of a request to a port of a sandbox, with 16 "
			"words in `Connection`",
		.scope = "request",
		.value = FORWARD_HEADERS_MAX,
		.at = "400",
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

/* Estimates of memory: a byte of a body (as text, as JSON, decoded, and as a
   frame to the keeper), a connection (head, TLS buffers, unsent bytes), a
   session (unread input of commands, one more message, space that the buffer
   has in reserve, and events of watched folders), the server, and the keeper
   with the jails that wait without preloaded modules. */
#define BODY_FACTOR   4
#define CONN_BYTES    (UINT64_C(256) << 10)
#define SESSION_BYTES (UINT64_C(12) << 20)
#define SERVER_BYTES  (UINT64_C(128) << 20)
#define KEEPER_BYTES  (UINT64_C(512) << 20)

/* The memory of one installer: see installer_policy(). */
#define INSTALLER_BYTES ((UINT64_C(1) << 30) + 2 * LIMIT_KEY_PACKAGE_BYTES)

/* A single key may use this many times the machine's memory. */
#define SINGLE_KEY_FACTOR 4
/* 1/16 of the machine's memory is left to its system. */
#define SYSTEM_PART 16

/* The memory of the server itself. */
static uint64_t
own_bytes(const struct serve_limits *l)
{
	uint64_t bytes = number_add(number_mul(l->connections, CONN_BYTES),
				    number_mul(l->sessions, SESSION_BYTES));

	return number_add(bytes, SERVER_BYTES + LIMIT_LIST_BYTES +
					 LIMIT_LISTINGS_BYTES);
}

struct serve_sum
serve_limits_sum(const struct serve_limits *l)
{
	struct serve_sum s = {
		.program_bytes = l->memory_bytes,
		.result_bytes = l->result_bytes,
		.body_bytes = number_mul(l->body_bytes, BODY_FACTOR),
		.own_bytes = own_bytes(l),
		.keeper_bytes = KEEPER_BYTES,
		.preload_bytes = LIMIT_ZYGOTE_BYTES + LIMIT_FOREIGN_BYTES,
		.import_bytes = LIMIT_IMPORTS * LIMIT_IMPORT_BYTES,
		.artifact_bytes = l->artifact_bytes,
		.package_bytes = LIMIT_PACKAGE_BYTES,
		.snapshot_bytes = l->snapshot_bytes,
		.install_bytes = LIMIT_INSTALLERS * INSTALLER_BYTES,
	};

	s.memory_bytes = number_add(number_add(s.program_bytes, s.result_bytes),
				    number_add(s.body_bytes, s.own_bytes));
	s.memory_bytes = number_add(s.memory_bytes, s.keeper_bytes);
	s.disk_bytes = number_add(s.artifact_bytes, s.package_bytes);
	s.disk_bytes = number_add(s.disk_bytes, s.snapshot_bytes);
	return s;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void
serve_limits_settle(struct serve_limits *l, const struct serve_setting *s)
{
	uint64_t machine = s->machine_bytes, others, least;
	uint64_t program =
		s->program_bytes < machine ? s->program_bytes : machine;

	if (l->memory_bytes)
		return;
	if (!s->is_shared) {
		l->memory_bytes = larger(number_mul(machine, SINGLE_KEY_FACTOR),
					 number_mul(program, LIMIT_RUNNING));
		return;
	}
	others = number_add(serve_limits_sum(l).memory_bytes,
			    machine / SYSTEM_PART);
	least = number_mul(program, 100) / l->key_share + 1;
	l->memory_bytes =
		larger(machine > others ? machine - others : 0, least);
}

static void
show_value(const struct serve_limit *row, uint64_t value, char *out,
	   size_t size)
{
	if (row->shown && value == row->value)
		snprintf(out, size, "%s", row->shown);
	else if (!value)
		snprintf(out, size, "none");
	else if (row->unit == LIMIT_BYTES)
		quantity_show_bytes(value, out, size);
	else
		snprintf(out, size, "%llu%s", (unsigned long long)value,
			 row->unit == LIMIT_PERCENT   ? " %"
			 : row->unit == LIMIT_SECONDS ? " s"
						      : "");
}

uint64_t
serve_limits_share(uint64_t limit, unsigned percent)
{
	uint64_t share = limit / 100 * percent + limit % 100 * percent / 100;

	return percent >= 100 ? limit : share ? share : 1;
}

/* Texts for a row of options, converted from the table. */
struct option_text {
	char fallback[SHOWN_SIZE];
	char detail[SHOWN_SIZE + 16];
};

static struct option
make_option(const struct serve_limit *row, struct option_text *text)
{
	static const struct {
		const char *value, *example;
	} units[] = {
		[LIMIT_COUNT] = { "N", "16" },
		[LIMIT_BYTES] = { "SIZE", "1G" },
		[LIMIT_SECONDS] = { "SECONDS", "60" },
		[LIMIT_PERCENT] = { "PERCENT", "50" },
	};

	show_value(row, row->value, text->fallback, sizeof(text->fallback));
	snprintf(text->detail, sizeof(text->detail), "At the limit: %s.",
		 row->at);
	return (struct option){
		.name = row->option + strlen("--"),
		.kind = row->unit == LIMIT_BYTES ? OPTION_BYTES : OPTION_NUMBER,
		.value = units[row->unit].value,
		.example = units[row->unit].example,
		.fallback = text->fallback,
		.help = row->name,
		.detail = text->detail,
		.min = 1,
		.max = row->most,
		.offset = row->offset,
	};
}

const struct option *
serve_limits_options(void)
{
	static struct option rows[OPTIONS_MAX + 1];
	static struct option_text texts[OPTIONS_MAX];
	size_t n = 0;

	if (rows[0].name)
		return rows;
	for (const struct serve_limit *row = serve_limits_table; row->name;
	     row++) {
		if (!row->option || n == OPTIONS_MAX)
			continue;
		rows[n] = make_option(row, &texts[n]);
		n++;
	}
	rows[0].title = "Limits (\"remit serve --limits\" prints all)";
	return rows;
}

static void
show_sum(const struct serve_sum *s, uint64_t machine_bytes, FILE *out)
{
	struct {
		const char *text;
		uint64_t bytes;
	} parts[] = {
		{ "\nMemory: at most ", s->memory_bytes },
		{ " (programs ", s->program_bytes },
		{ ", results ", s->result_bytes },
		{ ", bodies ", s->body_bytes },
		{ ", the server itself ", s->own_bytes },
		{ ", its keeper ", s->keeper_bytes },
		{ "); this machine has ", machine_bytes },
		{ ".\nInstallers of packages may take ", s->install_bytes },
		{ " more while they work, what policies preload ",
		  s->preload_bytes },
		{ ", and zygotes ", s->import_bytes },
		{ " while they import.\nDisk: at most ", s->disk_bytes },
		{ " (artifacts ", s->artifact_bytes },
		{ ", packages ", s->package_bytes },
		{ ", snapshots ", s->snapshot_bytes },
	};
	char shown[QUANTITY_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		quantity_show_bytes(parts[i].bytes, shown, sizeof(shown));
		fprintf(out, "%s%s", parts[i].text, shown);
	}
	fprintf(out, "), logs and audit files not counted.\n");
}

int
serve_limits_show(const struct serve_limits *l, uint64_t machine_bytes,
		  FILE *out)
{
	struct serve_sum sum = serve_limits_sum(l);
	char shown[SHOWN_SIZE];

	fprintf(out, "| limit | applies to | default | set by | at the limit "
		     "|\n|---|---|---|---|---|\n");
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
	show_sum(&sum, machine_bytes, out);
	return fflush(out) ? -1 : 0;
}
