/*
 * keeper: runs the trusted process. Frontends start a private keeper with --fd;
 * --listen starts a shared one for all clients of a user.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/path.h"
#include "base/number.h"
#include "cli/cli.h"
#include "jail/linux_abi.h"
#include "keeper/keeper.h"

#define LISTEN_FD 3
#define FD_MAX	  1023
#define NO_FD	  UINT64_MAX

/* The keeper must not read the terminal's input. */
static void
close_stdin(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null > 0) {
		dup2(null, 0);
		close(null);
	}
}

/* Create the directory of the default socket. If a path is given, its directory
   must exist. */
static int
make_directory(const char *path, struct remit_error *err)
{
	char directory[108];
	struct stat st;

	snprintf(directory, sizeof(directory), "%.*s",
		 (int)(strrchr(path, '/') - path), path);
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", directory);
	if (lstat(directory, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid())
		return fail(err, REMIT_E_INPUT,
			    "%s is not a folder that belongs to you",
			    directory);
	return 0;
}

/* Returns true if systemd passed a socket (sd_listen_fds(3)): the first is
   descriptor 3. */
static bool
is_activated(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t n;

	return pid && number_parse(&n, pid) == 0 && n == (uint64_t)getpid() &&
	       count && number_parse(&n, count) == 0 && n >= 1;
}

struct keeper_call {
	struct keeper_options opt;
	uint64_t control_fd; /* the control socket of the frontend, or NO_FD */
	struct flags flags;
	struct policy policy;
	char usual[108];
};

static int
keeper_settle(struct keeper_call *c, struct remit_error *err)
{
	if (c->control_fd != NO_FD) {
		c->opt.control_fd = (int)c->control_fd;
		return 0;
	}
	if (is_activated()) {
		c->opt.listen_fd = LISTEN_FD;
		return 0;
	}
	if (c->opt.listen_path)
		return 0;
	c->opt.listen_path = c->usual;
	if (path_keeper_socket(c->usual, sizeof(c->usual)) < 0)
		return fail(err, REMIT_E_INPUT,
			    "XDG_RUNTIME_DIR is not set: choose a socket with "
			    "--listen PATH");
	return make_directory(c->usual, err);
}

static int
keeper_serve(struct keeper_call *c, struct remit_error *err)
{
	if (c->opt.control_fd < 0) {
		if (cli_policy(&c->flags, &c->policy, err) < 0)
			return -1;
		c->opt.policy = &c->policy;
		close_stdin();
	} else {
		/* Close all other descriptors that were inherited. */
		syscall(SYS_close_range, c->opt.control_fd + 1, ~0u, 0);
	}
	return keeper_main(&c->opt, err);
}

static int
keeper_command(int argc, char **argv)
{
	struct keeper_call c = {
		.opt = { .control_fd = -1, .listen_fd = -1 },
		.control_fd = NO_FD,
	};
	struct remit_error err;
	int failed = cli_parse(&command_keeper, &c, argc, argv, &err) < 0 ||
		     keeper_settle(&c, &err) < 0 || keeper_serve(&c, &err) < 0;

	flags_free(&c.flags);
	policy_free(&c.policy);
	return failed ? cli_error(&err) : 0;
}

static const struct option keeper_rows[] = {
	{
		.name = "listen",
		.kind = OPTION_PATH,
		.value = "PATH",
		.example = "/run/user/1000/remit.sock",
		.fallback = "$XDG_RUNTIME_DIR/remit/keeper.sock",
		.help = "listen at this socket, which gets mode 0600",
		.detail = "Other commands look for a keeper at the default "
			  "path. For root without _$XDG\\_RUNTIME\\_DIR_ it is "
			  "_/run/remit/keeper.sock_.",
		OPTION_AT(struct keeper_call, opt.listen_path),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about each run to this file; SIGHUP "
			"opens it again",
		.detail =
			"Every run gets a line, as described in *AUDIT*, even "
			"if its caller has left. A separate process writes and "
			"syncs the lines, so that no run waits for the disk; "
			"it receives the line before the caller receives the "
			"result. While it cannot write, runs are refused. Send "
			"SIGHUP after moving the file away.",
		OPTION_AT(struct keeper_call, opt.audit_path),
	},
	{
		.name = "fd",
		.kind = OPTION_NUMBER,
		.value = "N",
		.hidden = true,
		.max = FD_MAX,
		OPTION_AT(struct keeper_call, control_fd),
	},
	{ 0 },
};

const struct command command_keeper = {
	.options = {
		.name = "keeper",
		.usage = "[--listen PATH] [--audit FILE] [OPTION...]",
		.summary = "serve all runs of this user, with warm starts",
		.notes =
			"For the policy of these options, warm interpreters wait from the start; for another policy they wait after its first run.",
		.tables = {
			{ .rows = keeper_rows },
			FLAGS_TABLE(struct keeper_call, flags),
		},
	},
	.run = keeper_command,
};
