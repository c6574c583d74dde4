/*
 * mcp: serves Python as tools to a client of the Model Context Protocol, over
 * standard input and output.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/path.h"
#include "cli/cli.h"
#include "mcp/mcp.h"

/* ---- --install ---- */

/* --install prints the configuration for a client of the Model Context
   Protocol, with which the client starts "remit mcp" with the same options. */
static const char *const mcp_install_clients[] = {
	"claude",
	"cursor",
	"vscode",
	NULL,
};

/* In the order of mcp_install_clients. */
static const struct {
	const char *file;  /* where the configuration belongs */
	const char *outer; /* the member that contains all servers */
	bool has_type;	   /* it requires the member "type" */
} clients[] = {
	{ "claude_desktop_config.json of Claude Desktop, or .mcp.json in a "
	  "project for Claude Code",
	  "mcpServers", false },
	{ "~/.cursor/mcp.json, or .cursor/mcp.json in a project", "mcpServers",
	  false },
	{ ".vscode/mcp.json in a project", "servers", true },
};

/* Returns the arguments without --install; NULL if one is not UTF-8, which JSON
   cannot contain. */
static json_t *
arguments_without_install(int argc, char **argv)
{
	json_t *list = json_pack("[s]", "mcp");
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--install"))
			i++;
		else if (strncmp(argv[i], "--install=", 10) != 0)
			failed |= json_array_append_new(list,
							json_string(argv[i]));
	}
	if (!failed)
		return list;
	json_decref(list);
	return NULL;
}

/* Print the configuration for a client, counted from 1. argv is that of the
   command. */
static int
mcp_install_print(unsigned client, int argc, char **argv,
		  struct remit_error *err)
{
	own_mem char *directory = NULL, *text = NULL, *command = NULL;
	json_auto_t *args = arguments_without_install(argc, argv);
	json_auto_t *doc = NULL;
	unsigned i = client - 1;

	if (!args)
		return fail(err, REMIT_E_INPUT,
			    "--install: an option is not UTF-8");
	if (path_own_dir(&directory, err) < 0)
		return -1;
	if (asprintf(&command, "%s/remit", directory) < 0)
		command = NULL;
	doc = json_pack("{s:{s:{s:s*, s:s*, s:O}}}", clients[i].outer, "remit",
			"type", clients[i].has_type ? "stdio" : NULL, "command",
			command, "args", args);
	text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	if (!text || !command)
		return fail_memory(err, "configuration");
	fprintf(stderr, "remit: add this to %s\n", clients[i].file);
	puts(text);
	return 0;
}

/* ---- the frontend ---- */

#define HOSTED_TABLE_MAX 64
#define ARTIFACTS_MS	 (3600 * 1000)
#define ARTIFACTS_MAX	 ((uint64_t)512 * 1024 * 1024)
#define SWEEP_MS	 1000
#define PATIENCE_MS	 5000
#define READ_PIECE	 (64 * 1024)

struct frontend {
	struct flags flags;
	unsigned install; /* an index of mcp_install_clients from 1, or 0 */
	struct policy policy;
	struct remit *remit;
	struct artifact_store *store;
	struct hosted_table *hosted_table;
	struct mcp *mcp;
	struct mcp_peer *peer;
	struct buf line;
	bool too_long; /* drop the line up to its end */
};

/* ---- messages out ---- */

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;

/* Write one line. Errors are ignored: when the client is gone, input ends too,
   and the server with it. */
static void
write_message(const char *json, size_t len)
{
	pthread_mutex_lock(&out_lock);
	if (fwrite(json, 1, len, stdout) == len)
		fputc('\n', stdout);
	fflush(stdout);
	pthread_mutex_unlock(&out_lock);
}

static void
on_send(void *user, const char *json, size_t len)
{
	(void)user;
	write_message(json, len);
}

static void
on_end(void *user, const char *json, size_t len, int code)
{
	(void)user;
	(void)code;
	if (json)
		write_message(json, len);
}

static const struct mcp_sink sink = { .send = on_send, .end = on_end };

/* ---- signals ---- */

static int stop_pipe[2] = { -1, -1 };

/* Installed without SA_RESTART, so that a client that does not read cannot
   block the end. */
static void
on_signal(int number)
{
	(void)number;
	if (write(stop_pipe[1], "", 1) < 0)
		_exit(CLI_FAILED);
}

static int
watch_signals(struct remit_error *err)
{
	struct sigaction leave = { .sa_handler = on_signal };

	signal(SIGPIPE, SIG_IGN);
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	sigaction(SIGTERM, &leave, NULL);
	sigaction(SIGINT, &leave, NULL);
	sigaction(SIGHUP, &leave, NULL);
	return 0;
}

/* ---- messages in ---- */

static void
handle_line(struct frontend *d)
{
	const char *text = buf_text(&d->line);
	size_t len = d->line.len;

	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	if (len)
		mcp_receive(d->peer, text, len, &sink);
	/* Free the buffer: it may have grown large. */
	buf_free(&d->line);
	d->line = (struct buf)BUF_INIT(MCP_MESSAGE_MAX + 1);
}

static void
append_to_line(struct frontend *d, const char *bytes, size_t len)
{
	/* Once the limit is exceeded, the rest of the line is dropped. */
	if (d->too_long)
		return;
	if (buf_add(&d->line, bytes, len) == 0 &&
	    d->line.len <= MCP_MESSAGE_MAX)
		return;
	d->too_long = true;
}

static void
refuse_line(struct frontend *d)
{
	struct mcp_fault fault = { 0 };
	own_mem char *text = NULL;

	mcp_fail(&fault, MCP_E_REQUEST,
		 "a message must not have more than %zu bytes",
		 MCP_MESSAGE_MAX);
	text = mcp_write_error(NULL, &fault);
	if (text)
		write_message(text, strlen(text));
	buf_free(&d->line);
	d->line = (struct buf)BUF_INIT(MCP_MESSAGE_MAX + 1);
	d->too_long = false;
}

static void
handle_bytes(struct frontend *d, const char *bytes, size_t len)
{
	while (len) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;

		append_to_line(d, bytes, n);
		if (!end)
			return;
		if (d->too_long)
			refuse_line(d);
		else
			handle_line(d);
		bytes += n + 1;
		len -= n + 1;
	}
}

static int
serve_client(struct frontend *d, struct remit_error *err)
{
	struct pollfd in[] = { { .fd = 0, .events = POLLIN },
			       { .fd = stop_pipe[0], .events = POLLIN } };
	char piece[READ_PIECE];
	ssize_t n = 1;

	while (n && !in[1].revents) {
		int ready = poll(in, ARRAY_LEN(in), SWEEP_MS);

		if (ready < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
		hosted_table_sweep(d->hosted_table);
		if (ready <= 0 || !in[0].revents)
			continue;
		n = read(0, piece, sizeof(piece));
		if (n < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "read");
		if (n > 0)
			handle_bytes(d, piece, (size_t)n);
		n = n < 0 ? 1 : n;
	}
	return 0;
}

/* ---- the command ---- */

static int
frontend_open(struct frontend *d, struct remit_error *err)
{
	struct remit_options how = {
		.command_path = "/proc/self/exe",
		.private_keeper = cli_needs_private(&d->policy),
	};
	struct hosted_table_options hosted_table = {
		.limits = { .max = { HOSTED_TABLE_MAX, HOSTED_TABLE_MAX,
				     HOSTED_TABLE_MAX } },
	};
	struct mcp_options opt = { .owner = "", .policy = &d->policy };
	const char *parent = getenv("TMPDIR");
	const struct artifact_store_options artifacts = {
		.parent = parent && *parent ? parent : "/tmp",
		.keep_ms = ARTIFACTS_MS,
		.max_bytes = ARTIFACTS_MAX,
		.max_owner_bytes = ARTIFACTS_MAX,
	};

	if (remit_open(&d->remit, &how, err) < 0)
		return -1;
	if (d->policy.artifact_export_paths.count &&
	    artifact_store_open(&d->store, &artifacts, err) < 0)
		return -1;
	hosted_table.remit = opt.remit = d->remit;
	hosted_table.artifacts = opt.store = d->store;
	if (hosted_table_open(&d->hosted_table, &hosted_table, err) < 0)
		return -1;
	opt.hosted_table = d->hosted_table;
	if (mcp_open(&d->mcp, &opt, err) < 0)
		return -1;
	d->peer = mcp_peer_open(d->mcp);
	return d->peer ? 0 : fail_memory(err, "client");
}

static void
frontend_free(struct frontend *d)
{
	if (d->peer)
		mcp_peer_close(d->peer);
	/* If the threads of hosted sessions do not end in time, just exit: the
	   keeper then ends what they wait for. */
	if (d->hosted_table &&
	    !hosted_table_end(d->hosted_table, PATIENCE_MS)) {
		artifact_store_free(d->store);
		_exit(0);
	}
	mcp_free(d->mcp);
	if (d->hosted_table)
		hosted_table_free(d->hosted_table);
	artifact_store_free(d->store);
	remit_close(d->remit);
	buf_free(&d->line);
	flags_free(&d->flags);
	policy_free(&d->policy);
}

static int
mcp_command(int argc, char **argv)
{
	own(frontend) struct frontend d = { .line = BUF_INIT(MCP_MESSAGE_MAX +
							     1) };
	struct remit_error err;

	if (cli_parse(&command_mcp, &d, argc, argv, &err) < 0 ||
	    cli_policy(&d.flags, &d.policy, &err) < 0)
		return cli_error(&err);
	if (d.install) {
		if (mcp_install_print(d.install, argc, argv, &err) < 0)
			return cli_error(&err);
		return 0;
	}
	cli_warn(&d.policy);
	if (watch_signals(&err) < 0 || frontend_open(&d, &err) < 0 ||
	    serve_client(&d, &err) < 0)
		return cli_error(&err);
	return 0;
}

static const struct option mcp_rows[] = {
	{
		.name = "install",
		.kind = OPTION_CHOICE,
		.value = "CLIENT",
		.example = "claude",
		.help = "print the configuration with which claude, cursor or "
			"vscode starts this command, and exit",
		.detail = "The configuration includes the other options of "
			  "this command line.",
		.choices = mcp_install_clients,
		OPTION_AT(struct frontend, install),
	},
	{ 0 },
};

const struct command command_mcp = {
	.options = {
		.name = "mcp",
		.usage = "[--install CLIENT] [OPTION...]",
		.summary = "serve Python as tools over standard input and "
			   "output (MCP)",
		.tables = {
			{ .rows = mcp_rows },
			FLAGS_TABLE(struct frontend, flags),
		},
	},
	.run = mcp_command,
};
