/*
 * serve: the HTTP frontend, which serves sessions and runs to clients without
 * the library.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/report/audit.h"
#include "http/certificate.h"
#include "jail/cgroup/home.h"
#include "jail/probe/discover.h"
#include "keeper/keeper.h"
#include "keeper/packages/install.h"
#include "keeper/packages/package_layer_prune.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/zygote_server.h"
#include "policy/plan/plan.h"
#include "policy/quantity.h"
#include "serve/compat/foreign.h"
#include "serve/compat/oneshot.h"
#include "serve/e2b/e2b.h"
#include "serve/limits.h"
#include "serve/mcp_http.h"
#include "serve/native/native.h"
#include "serve/page.h"
#include "serve/server.h"

#define ADDRESS "127.0.0.1:8000"

/* How long sessions may take to end after the last request, before the process
   exits anyway. */
#define END_MS 10000

#define TABLES_MAX 20

_Static_assert(LIMIT_RUNNING == KEEPER_RUNNING_MAX &&
		       LIMIT_SESSIONS == KEEPER_SESSIONS_MAX &&
		       LIMIT_INSTALLERS == INSTALL_MAX &&
		       LIMIT_PACKAGE_BYTES == PACKAGE_LAYER_STORE_BYTES &&
		       LIMIT_JAILS == KEEPER_WORKERS_MAX &&
		       LIMIT_POOLS == POOL_MAX &&
		       /* NOLINTNEXTLINE(misc-redundant-expression) */
		       LIMIT_FOREIGN_BYTES == POOL_FOREIGN_BYTES &&
		       /* NOLINTNEXTLINE(misc-redundant-expression) */
		       LIMIT_ZYGOTE_BYTES == POOL_ZYGOTE_BYTES &&
		       LIMIT_IMPORTS == ZYGOTE_SERVER_IMPORTS_MAX &&
		       LIMIT_QUEUE == KEEPER_WAITING_MAX,
	       "the limits of the server must equal those of its keeper");

struct serve_call {
	struct flags flags;
	struct policy policy;
	struct list addresses;
	const char *keys_path, *add_key, *log_path;
	const char *certificate_path, *tls_key_path;
	const char *state_path;
	bool is_open, e2b_debug, shows_limits;
	bool has_sum; /* the limits have a sum that can be compared with the
			 machine's memory */
	uint64_t machine_bytes;
	struct audit audit;
	struct keys keys;
	struct server server;
	struct route_table tables[TABLES_MAX];
	size_t table_count;
};

/* ---- options ---- */

/* Clients of E2B in debug mode use no key, and only these ports. */
static int
add_debug_ports(struct serve_call *c, struct remit_error *err)
{
	static const int ports[] = { E2B_ENVD_PORT, E2B_CODE_PORT };
	char address[32];

	if (!c->e2b_debug)
		return 0;
	if (!c->is_open)
		return fail(
			err, REMIT_E_INPUT,
			"--e2b-debug requires no key, so it also needs --open");
	if (c->certificate_path)
		return fail(err, REMIT_E_INPUT,
			    "--e2b-debug is for clients that do not use TLS: "
			    "omit --tls-certificate");
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		snprintf(address, sizeof(address), "127.0.0.1:%d", ports[i]);
		if (list_add(&c->addresses, address) < 0)
			return fail_memory(err, "options");
	}
	return 0;
}

static int
serve_settle(struct serve_call *c, struct remit_error *err)
{
	if (!c->certificate_path != !c->tls_key_path)
		return fail(err, REMIT_E_INPUT,
			    "--tls-certificate and --tls-key need each other: "
			    "%s is missing",
			    c->tls_key_path ? "--tls-certificate"
					    : "--tls-key");
	if (c->state_path && !foreign_is_built)
		return fail(err, REMIT_E_INPUT,
			    "--state: this build is without the API of E2B, "
			    "which stores sandboxes");
	if (c->server.stores_files_only && !c->state_path)
		return fail(err, REMIT_E_INPUT,
			    "--pause-files-only needs --state DIR to store "
			    "sandboxes in");
	if (c->server.sandbox_ports && !foreign_is_built)
		return fail(err, REMIT_E_INPUT,
			    "--sandbox-ports: this build is without the API of "
			    "E2B, whose clients make sandboxes");
	if (!c->addresses.count && list_add(&c->addresses, ADDRESS) < 0)
		return fail_memory(err, "options");
	return add_debug_ports(c, err);
}

/* An address that other machines can reach requires --keys. */
static int
check_addresses(const struct serve_call *c, struct remit_error *err)
{
	for (size_t i = 0; i < c->addresses.count; i++) {
		if (server_check_address(c->addresses.items[i], err) < 0)
			return -1;
		if (!c->keys_path && !server_is_local(c->addresses.items[i]))
			return fail_refused(
				err, "",
				"Create a key with \"remit serve --keys FILE "
				"--add-key NAME\", then add --keys FILE.",
				"--listen %s: other machines can reach this "
				"address, which requires keys",
				c->addresses.items[i]);
	}
	if (c->keys_path && c->is_open)
		return fail(err, REMIT_E_INPUT,
			    "--open and --keys exclude each other");
	return 0;
}

/* ---- keys ---- */

static int
add_key(const struct serve_call *c, struct remit_error *err)
{
	char text[KEY_TEXT];

	if (!c->keys_path)
		return fail(err, REMIT_E_INPUT,
			    "--add-key needs --keys FILE to add it to");
	if (keys_add(c->keys_path, c->add_key, text, err) < 0)
		return -1;
	/* The key is stored nowhere else. */
	printf("%s\n", text);
	return 0;
}

/* ---- serving ---- */

static bool
logs_to_file(const struct serve_call *c)
{
	return c->log_path && strcmp(c->log_path, "-") != 0;
}

static int
open_log(struct serve_call *c, struct remit_error *err)
{
	own_fd int fd = -1;

	if (!c->log_path)
		return 0;
	fd = logs_to_file(c)
		     ? open(c->log_path,
			    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
		     : dup(STDERR_FILENO);
	if (fd < 0)
		return fail_sys(err, REMIT_E_INPUT, "--log %s", c->log_path);
	own_fd_close(&c->server.log_fd);
	c->server.log_fd = take_fd(&fd);
	return 0;
}

static int
open_certificate(struct serve_call *c, struct remit_error *err)
{
	struct certificate *read;
	const char *flaw;

	if (!c->certificate_path)
		return 0;
	if (certificate_read(&read, c->certificate_path, c->tls_key_path, err) <
	    0)
		return -1;
	flaw = certificate_flaw(read);
	if (flaw)
		fprintf(stderr, "remit: --tls-certificate %s: %s\n",
			c->certificate_path, flaw);
	certificate_unref(c->server.certificate);
	c->server.certificate = read;
	return 0;
}

/* Reopen the certificate, which other programs renew, and the files of the
   audit and the log, which they rotate. If a file cannot be opened, the old one
   stays in use. */
static void
reload_files(void *owner)
{
	struct serve_call *c = owner;
	struct remit_error err;

	if (open_certificate(c, &err) < 0)
		cli_error(&err);
	if (audit_reopen(&c->audit, &err) < 0)
		cli_error(&err);
	if (logs_to_file(c) && open_log(c, &err) < 0)
		cli_error(&err);
}

static int
check_audit(void *user, struct remit_error *err)
{
	return audit_check(user, err);
}

static int
add_to_audit(void *user, const struct hosted_record *rec,
	     struct remit_error *err)
{
	struct audit_run run = {
		.job = rec->job,
		.res = rec->res,
		.document = rec->document,
		.why = rec->err,
		.key = rec->owner,
	};

	return audit_add(user, &run, err);
}

/* Accept the host of a listening address as a name of this server. */
static int
add_own_host(struct serve_call *c, const char *address, struct remit_error *err)
{
	size_t len = (size_t)(strrchr(address, ':') - address);
	char host[128];

	if (len >= sizeof(host) || !strncmp(address, "unix:", 5))
		return 0;
	if (address[0] == '[') {
		address++;
		len -= 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)len, address);
	return list_add(&c->server.hosts, host) < 0
		       ? fail_memory(err, "options")
		       : 0;
}

static int
listen_all(struct serve_call *c, const char *token, struct remit_error *err)
{
	for (size_t i = 0; i < c->addresses.count; i++) {
		const char *address = c->addresses.items[i];
		const char *colon = strrchr(address, ':');
		uint16_t port;

		if (server_listen(&c->server, address, &port, err) < 0 ||
		    add_own_host(c, address, err) < 0)
			return -1;
		if (!port)
			printf("remit: serving at %s\n", address);
		else
			printf("remit: serving at http%s://%.*s:%u/%s%s\n",
			       c->server.certificate ? "s" : "",
			       (int)(colon - address), address, port,
			       token ? "?token=" : "", token ? token : "");
	}
	fflush(stdout);
	return 0;
}

/* An owner without a key gets nothing. */
static struct hosted_share
share_of(void *user, const char *owner)
{
	const struct key *k = keys_find_by_name(user, owner);
	struct hosted_share none = { 0 };

	return k ? (struct hosted_share){ k->concurrency, k->memory_bytes }
		 : none;
}

static int
open_hosted_table(struct serve_call *c, struct remit_error *err)
{
	struct remit_options keeper = {
		.private_keeper = cli_needs_private(&c->policy),
		/* The keeper is this program, too. */
		.command_path = "/proc/self/exe",
	};
	const struct serve_limits *l = &c->server.limits;
	struct hosted_table_options hosted_table = {
		.limits = { .max = { [TENANT_HOSTED] = l->hosted,
				     [TENANT_SESSION] = l->sessions,
				     [TENANT_PROGRAM] = l->running },
			    .max_bytes = { [TENANT_MEMORY] = l->memory_bytes,
					   [TENANT_RESULTS] = l->result_bytes },
			    .share_percent = c->server.key_share },
		.machine_bytes = c->machine_bytes,
		.is_lone = c->keys.count <= 1,
		.share = share_of,
		.share_user = &c->keys,
		.divides_processors = c->keys.count > 1,
	};
	const char *directory = getenv("TMPDIR");
	const struct artifact_store_options artifacts = {
		.parent = directory && *directory ? directory : "/tmp",
		.keep_ms = LIMIT_ARTIFACT_SECONDS * UINT64_C(1000),
		.max_bytes = l->artifact_bytes,
		.max_owner_bytes = serve_limits_share(l->artifact_bytes,
						      c->server.key_share),
	};

	if (artifact_store_open(&c->server.artifacts, &artifacts, err) < 0 ||
	    remit_open(&c->server.remit, &keeper, err) < 0)
		return -1;
	if (c->audit.path)
		hosted_table.audit = (struct hosted_audit){
			.check = check_audit,
			.add = add_to_audit,
			.user = &c->audit,
		};
	hosted_table.remit = c->server.remit;
	hosted_table.artifacts = c->server.artifacts;
	return hosted_table_open(&c->server.hosted_table, &hosted_table, err);
}

/* Without --state the server stores no sandboxes. */
static int
open_snapshots(struct serve_call *c, struct remit_error *err)
{
	const struct serve_limits *l = &c->server.limits;
	const struct snapshot_store_options opt = {
		.parent = c->state_path,
		.keep_ms = l->snapshot_seconds * 1000,
		.max_bytes = l->snapshot_bytes,
		.max_owner_bytes = serve_limits_share(l->snapshot_bytes,
						      c->server.key_share),
		.max_owner_count = l->snapshots,
		.max_list_bytes = LIMIT_LIST_BYTES,
		.max_owner_list_bytes = serve_limits_share(LIMIT_LIST_BYTES,
							   c->server.key_share),
	};

	if (!c->state_path)
		return 0;
	if (snapshot_store_open(&c->server.snapshots, &opt, err) < 0)
		return fail_within(err, "--state");
	return 0;
}

static uint64_t
larger_program(uint64_t bytes, const struct policy *p)
{
	uint64_t needed = number_add(p->memory_bytes, policy_result_bytes(p));

	return needed > bytes ? needed : bytes;
}

static void
settle_serve_limits(struct serve_call *c)
{
	struct serve_setting s = {
		/* Round down to whole MiB. */
		.machine_bytes = cgroup_home_memory_bytes() >> 20 << 20,
		.program_bytes = larger_program(0, &c->policy),
		.is_shared = c->keys.count > 1,
	};

	for (size_t i = 0; i < c->keys.count; i++)
		s.program_bytes =
			larger_program(s.program_bytes, &c->keys.all[i].policy);
	c->machine_bytes = s.machine_bytes;
	c->has_sum = s.is_shared || c->server.limits.memory_bytes;
	serve_limits_settle(&c->server.limits, &s);
}

static int
show_limits(struct serve_call *c, struct remit_error *err)
{
	if (cli_policy(&c->flags, &c->policy, err) < 0)
		return -1;
	if (c->keys_path &&
	    keys_read(&c->keys, c->keys_path, &c->policy, err) < 0)
		return -1;
	settle_serve_limits(c);
	return serve_limits_show(&c->server.limits, c->machine_bytes, stdout) <
			       0
		       ? fail_sys(err, REMIT_E_INPUT, "standard output")
		       : 0;
}

/* Warn if the limits add up to more than the machine's memory. With a single
   key the sum is unlimited, unless an option sets it. */
static void
warn_of_sum(const struct serve_call *c)
{
	struct serve_sum sum = serve_limits_sum(&c->server.limits);
	char needed[QUANTITY_SIZE], machine[QUANTITY_SIZE];

	if (!c->has_sum || sum.memory_bytes <= c->machine_bytes)
		return;
	quantity_show_bytes(sum.memory_bytes, needed, sizeof(needed));
	quantity_show_bytes(c->machine_bytes, machine, sizeof(machine));
	fprintf(stderr,
		"remit: the limits of this server add up to %s of memory, but "
		"this machine has %s: lower them (\"remit serve --limits\" "
		"with the same options shows the sum)\n",
		needed, machine);
}

/* Clients may accept a fallback themselves where the key lets them. */
static int
accept_fallbacks(struct policy *policy, const struct key *key,
		 struct remit_error *err)
{
	static const enum field_id fallbacks[] = { F_MEMORY_FALLBACK,
						   F_CPU_FALLBACK };

	for (size_t i = 0; i < ARRAY_LEN(fallbacks); i++) {
		const struct field *f = &fields[fallbacks[i]];

		if (field_set_has(&key->free, f) &&
		    field_set_text(policy, f, "per_process", err) < 0)
			return -1;
	}
	return 0;
}

static int
check_policy(const struct key *key, struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	own(site) struct site site = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { 0 };

	if (policy_copy(&policy, &key->policy) < 0)
		return fail_memory(err, "policy");
	if (accept_fallbacks(&policy, key, err) < 0 ||
	    site_find_host(&site, err) < 0 ||
	    site_find_interpreter(&site, &policy, err) < 0)
		return -1;
	return plan_build(&plan, &policy, &job, &site.host, &site.interpreter,
			  err);
}

/* A policy that cannot be kept on this machine would refuse every request
   later, so it is refused before the server starts. Call it while there is one
   thread: finding the interpreter forks. */
static int
check_policies(const struct serve_call *c, struct remit_error *err)
{
	const struct key *all = c->keys.all;

	for (size_t i = 0; i < c->keys.count; i++) {
		/* Most keys have the server's policy. */
		if (i && !strcmp(all[i].policy_text, all[i - 1].policy_text))
			continue;
		if (check_policy(&all[i], err) == 0)
			continue;
		return c->keys_path
			       ? fail_within(err, "the policy of the key %s",
					     all[i].name)
			       : -1;
	}
	return 0;
}

/* Add tables of routes. Tables that are added later are searched first. */
static void
add_tables(struct serve_call *c, const struct route *const *tables)
{
	for (; *tables; tables++) {
		struct route_table *table = &c->tables[c->table_count++];

		table->rows = *tables;
		server_add_routes(&c->server, table);
	}
}

static int
run_server(struct serve_call *c, struct remit_error *err)
{
	static const struct route *const native[] = {
		native_info_routes,    native_session_routes,
		native_command_routes, native_file_routes,
		native_run_routes,     NULL
	};
	static const struct route *const others[] = { small_api_routes,
						      mcp_routes, page_routes,
						      NULL };
	_Static_assert(ARRAY_LEN(native) + ARRAY_LEN(others) + FOREIGN_TABLES +
				       1 <=
			       TABLES_MAX,
		       "all tables must fit");
	own(site) struct site site = { 0 };
	char token[KEY_TEXT];
	bool needs_token = !c->keys_path && !c->is_open;

	/* Probe while this process has only one thread, since probing forks. */
	if (site_find_host(&site, err) < 0)
		return -1;
	if ((c->keys_path ? keys_read(&c->keys, c->keys_path, &c->policy, err)
			  : keys_make_local(&c->keys, &c->policy, c->is_open,
					    token, err)) < 0)
		return -1;
	if (check_policies(c, err) < 0)
		return -1;
	settle_serve_limits(c);
	warn_of_sum(c);
	foreign_prepare(&c->keys);
	c->server.keys = &c->keys;
	/* A single key gets everything. */
	c->server.key_share =
		c->keys.count > 1 ? (unsigned)c->server.limits.key_share : 100;
	add_tables(c, native);
	add_tables(c, foreign_routes);
	add_tables(c, others);
	add_tables(c, foreign_first_routes);
	c->server.mcp = mcp_http_open(&c->server);
	if (!c->server.mcp)
		return fail_memory(err, "server");
	if (c->certificate_path || c->audit.path || logs_to_file(c)) {
		c->server.reload = reload_files;
		c->server.reload_owner = c;
	}
	if (open_certificate(c, err) < 0 || audit_open(&c->audit, err) < 0 ||
	    open_log(c, err) < 0 || open_snapshots(c, err) < 0 ||
	    open_hosted_table(c, err) < 0 ||
	    foreign_open(&c->server, c->e2b_debug, err) < 0 ||
	    server_open(&c->server, err) < 0 ||
	    listen_all(c, needs_token ? token : NULL, err) < 0)
		return -1;
	return server_run(&c->server, err);
}

/* End the hosted sessions first, since their threads still use the server. */
static void
close_server(struct serve_call *c)
{
	bool ended = !c->server.hosted_table ||
		     hosted_table_end(c->server.hosted_table, END_MS);

	if (!ended)
		_exit(CLI_FAILED); /* the keeper ends with this process */
	mcp_http_free(c->server.mcp);
	server_free(&c->server);
	foreign_free(&c->server);
	hosted_table_free(c->server.hosted_table);
	remit_close(c->server.remit);
	artifact_store_free(c->server.artifacts);
	snapshot_store_free(c->server.snapshots);
	certificate_unref(c->server.certificate);
	audit_free(&c->audit);
	own_fd_close(&c->server.log_fd);
}

static int
serve_command(int argc, char **argv)
{
	struct serve_call *c = calloc(1, sizeof(*c));
	struct remit_error err;
	int failed;

	if (!c)
		return CLI_FAILED;
	c->audit = (struct audit)AUDIT_INIT;
	c->server.log_fd = -1;
	c->server.wake_fd = -1;
	c->server.signal_fd = -1;
	c->server.loop.fd = -1;
	serve_limits_init(&c->server.limits);
	failed = cli_parse(&command_serve, c, argc, argv, &err) < 0 ||
		 serve_settle(c, &err) < 0;
	if (!failed && c->shows_limits)
		failed = show_limits(c, &err) < 0;
	else if (!failed && c->add_key)
		failed = add_key(c, &err) < 0;
	else if (!failed)
		failed = check_addresses(c, &err) < 0 ||
			 cli_policy(&c->flags, &c->policy, &err) < 0 ||
			 run_server(c, &err) < 0;
	close_server(c);
	if (failed)
		failed = cli_error(&err);
	keys_free(&c->keys);
	policy_free(&c->policy);
	flags_free(&c->flags);
	list_free(&c->addresses);
	free(c);
	return failed;
}

#define AT(member) OPTION_AT(struct serve_call, member)

static const char *const port_choices[] = { "token", "public", NULL };

static const struct option serve_rows[] = {
	{
		.name = "listen",
		.kind = OPTION_LIST,
		.value = "ADDRESS",
		.example = ADDRESS,
		.fallback = ADDRESS,
		.help = "listen at ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH",
		.detail = "The option can be given eight times. Port 0 chooses "
			  "a free port, which is printed. A unix socket has "
			  "mode 0600 and, without *--keys*, requires no key.",
		AT(addresses),
	},
	{
		.name = "keys",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "keys.json",
		.help = "accept requests with the keys in this file, which "
			"limits their policies",
		.detail = "The file also limits how much a key may run at "
			  "once. Without it, addresses that other machines can "
			  "reach are refused.",
		AT(keys_path),
	},
	{
		.name = "add-key",
		.kind = OPTION_TEXT,
		.value = "NAME",
		.example = "alice",
		.help = "add a key to the file of --keys, print it and exit",
		.detail = "The file contains only the SHA-256 of the key.",
		AT(add_key),
	},
	{
		.name = "open",
		.kind = OPTION_FLAG,
		.help = "require no key; only for loopback addresses and unix "
			"sockets",
		AT(is_open),
	},
	{
		.name = "e2b-debug",
		.kind = OPTION_FLAG,
		.help = "also listen at ports 49983 and 49999, for clients of "
			"E2B in debug mode",
		.detail = "All of these clients share one sandbox and use no "
			  "key, so *--open* is required.",
		AT(e2b_debug),
	},
	{
		.name = "state",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "remit-state",
		.help = "store paused sandboxes and snapshots in this "
			"directory, "
			"which is created if it is missing",
		.detail = "They survive restarts. Only the server's user may "
			  "be able to write to the directory, and only one "
			  "server may use it. Without this option, requests "
			  "to store something are refused.",
		AT(state_path),
	},
	{
		.name = "pause-files-only",
		.kind = OPTION_FLAG,
		.help = "store only the files when a client pauses a sandbox "
			"and wants its memory kept",
		.detail = "No tier of this server can store memory. Without "
			  "this option such requests are refused; those that "
			  "ask for files only are not.",
		AT(server.stores_files_only),
	},
	{
		.name = "sandbox-ports",
		.kind = OPTION_CHOICE,
		.value = "WHO",
		.choices = port_choices,
		.example = "token",
		.help = "forward requests to PORT-SANDBOX.NAME to programs "
			"that listen in sandboxes, for clients with the token "
			"of the sandbox, or for the public",
		.detail =
			"NAME must be allowed with *--allow-host* .NAME. "
			"With *public*, clients that know the name of a port "
			"may connect, unless the client that made the sandbox "
			"wants a token. Only a sandbox with a network of its "
			"own has such ports: with *--net=loopback*, *--net*, "
			"or listed hosts.",
		AT(server.sandbox_ports),
	},
	{
		.name = "allow-host",
		.kind = OPTION_LIST,
		.value = "NAME",
		.example = "python.example.org",
		.help = "accept requests for this name of the server; .NAME is "
			"all names below it",
		.detail = "Remit refuses requests for names other than these, "
			  "localhost and loopback addresses.",
		AT(server.hosts),
	},
	{
		.name = "allow-origin",
		.kind = OPTION_LIST,
		.value = "URL",
		.example = "https://example.org",
		.help = "let web pages of this origin send requests",
		AT(server.origins),
	},
	{
		.name = "log",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "serve.jsonl",
		.help = "append a line of JSON about each request to this file",
		.detail = "*-* is stderr. A line contains no code, no paths "
			  "and no ids.",
		AT(log_path),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about each run to this file",
		.detail = "Each run, each cell and each end of a session gets "
			  "a line, as described in *AUDIT*, with the name of "
			  "its key, whichever API was used. The line is synced "
			  "before the result is sent. While lines cannot be "
			  "written, nothing runs.",
		AT(audit.path),
	},
	{
		.name = "tls-certificate",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "cert.pem",
		.help = "use TLS at each port, with this certificate chain in "
			"PEM",
		.detail = "Ports then accept no plain HTTP. Unix sockets do "
			  "not use TLS.",
		AT(certificate_path),
	},
	{
		.name = "tls-key",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "key.pem",
		.help = "the private key of the certificate, in PEM",
		.detail = "An RSA or elliptic curve key without a password. "
			  "Remit refuses a key that others than its owner can "
			  "read; only if root owns it, its group may read it.",
		AT(tls_key_path),
	},
	{
		.name = "limits",
		.kind = OPTION_FLAG,
		.help = "print the table of all limits and exit",
		AT(shows_limits),
	},
	{ 0 },
};

const struct command command_serve = {
	.options = {
		.name = "serve",
		.usage = "[--listen ADDRESS]... [--keys FILE|--open] "
			 "[OPTION...]",
		.summary = "serve runs and sessions over HTTP",
		.notes =
			"The options of a policy apply to requests that name no policy. Without --keys, Remit prints a token, which is the key until the server ends. SIGHUP opens the files of --log, --audit, --tls-certificate and --tls-key again.",
		.footnote = foreign_sentence,
		.tables = {
			{ .rows = serve_rows },
			{ .make = serve_limits_options, AT(server.limits) },
			FLAGS_TABLE(struct serve_call, flags),
		},
	},
	.run = serve_command,
};
