/*
 * keeper: the trusted process itself. Doors start a private one; --listen
 * gives one to all doors of a user.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "keeper.h"
#include "linux_abi.h"
#include "number.h"
#include "path.h"

#define LISTEN_FD 3

/* A terminal's input is not for a keeper. */
static void
close_stdin(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null > 0) {
		dup2(null, 0);
		close(null);
	}
}

/* The folder of the usual place; a named path's folder is the caller's. */
static int
make_folder(const char *path, struct remit_error *err)
{
	char folder[108];
	struct stat st;

	snprintf(folder, sizeof(folder), "%.*s",
		 (int)(strrchr(path, '/') - path), path);
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", folder);
	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid())
		return fail(err, REMIT_E_INPUT, "%s is not a folder of yours",
			    folder);
	return 0;
}

/* systemd's protocol (sd_listen_fds(3)): the first socket is descriptor 3. */
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
	struct flags flags;
	struct policy policy;
	char usual[108];
};

static int
parse(struct keeper_call *c, int argc, char **argv, struct remit_error *err)
{
	uint64_t n;

	for (int i = 1; i < argc; i++) {
		enum flags_answer a = FLAGS_TAKEN;
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "--fd") && more &&
		    number_parse(&n, argv[i + 1]) == 0 && n < 1024) {
			c->opt.control_fd = (int)n;
			i++;
		} else if (!strcmp(argv[i], "--listen") && more) {
			c->opt.listen_path = argv[++i];
		} else if (!strcmp(argv[i], "--audit") && more) {
			c->opt.audit_path = argv[++i];
		} else {
			a = flags_take(&c->flags, argc, argv, &i, err);
		}
		if (a == FLAGS_OTHER)
			flags_unknown(argv[i], err);
		if (a != FLAGS_TAKEN)
			return -1;
	}
	if (c->opt.control_fd >= 0)
		return 0;
	if (is_activated()) {
		c->opt.listen_fd = LISTEN_FD;
		return 0;
	}
	if (c->opt.listen_path)
		return 0;
	c->opt.listen_path = c->usual;
	if (path_keeper_socket(c->usual, sizeof(c->usual)) < 0)
		return fail(err, REMIT_E_INPUT,
			    "XDG_RUNTIME_DIR is not set: name a socket with "
			    "--listen PATH");
	return make_folder(c->usual, err);
}

static int
serve(struct keeper_call *c, struct remit_error *err)
{
	if (c->opt.control_fd < 0) {
		if (cli_policy(&c->flags, &c->policy, err) < 0)
			return -1;
		c->opt.policy = &c->policy;
		close_stdin();
	} else {
		/* Whatever else the caller had open is not ours. */
		syscall(SYS_close_range, c->opt.control_fd + 1, ~0u, 0);
	}
	return keeper_main(&c->opt, err);
}

static int
run(int argc, char **argv)
{
	struct keeper_call c = { .opt = { .control_fd = -1, .listen_fd = -1 } };
	struct remit_error err;
	int failed = parse(&c, argc, argv, &err) < 0 || serve(&c, &err) < 0;

	flags_free(&c.flags);
	policy_free(&c.policy);
	return failed ? cli_error(&err) : 0;
}

const struct command command_keeper = {
	.name = "keeper",
	.usage = "[--listen PATH] [OPTION...]",
	.summary = "serve all runs of this user, with warm starts",
	.options = "  --listen PATH       the socket, mode 0600; unless given "
		   "where others look:\n"
		   "                      "
		   "$XDG_RUNTIME_DIR/remit/keeper.sock\n"
		   "  --audit FILE        append a line about each run to "
		   "FILE; SIGHUP opens it\n"
		   "                      anew\n"
		   "\n"
		   "Children for the policy of these options wait from the "
		   "beginning on, others\n"
		   "after the first run with their policy.\n",
	.takes_policy = true,
	.run = run,
};
