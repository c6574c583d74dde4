/*
 * keeper: the trusted process itself. Doors start a private one; --listen
 * gives one to all doors of a user.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "keeper.h"
#include "linux_abi.h"
#include "number.h"

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

static int
run(int argc, char **argv)
{
	struct keeper_options opt = { .control_fd = -1 };
	struct remit_error err;
	uint64_t n;

	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "--fd") && more &&
		    number_parse(&n, argv[i + 1]) == 0 && n < 1024) {
			opt.control_fd = (int)n;
			i++;
		} else if (!strcmp(argv[i], "--listen") && more) {
			opt.listen_path = argv[++i];
		} else {
			flags_unknown(argv[i], &err);
			return cli_error(&err);
		}
	}
	if (opt.control_fd < 0 && !opt.listen_path) {
		fail(&err, REMIT_E_INPUT,
		     "name a socket: remit keeper --listen PATH");
		return cli_error(&err);
	}
	/* Whatever else the caller had open is not ours. */
	if (opt.control_fd >= 0)
		syscall(SYS_close_range, opt.control_fd + 1, ~0u, 0);
	else
		close_stdin();
	if (keeper_main(&opt, &err) < 0)
		return cli_error(&err);
	return 0;
}

const struct command command_keeper = {
	.name = "keeper",
	.usage = "--listen PATH",
	.summary = "serve all runs of this user (set REMIT_KEEPER=PATH)",
	.options = "  --listen PATH       the socket, mode 0600\n",
	.run = run,
};
