#include "client/keeper_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL_FD 3

extern char **environ;

/* The directory of the runtime, lib/remit, has the name as well. */
static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* Beside this code: the program itself, or the remit of the same prefix. */
static int
find_command(char *out, size_t size, struct remit_error *err)
{
	static const char *const places[] = { "remit", "../bin/remit",
					      "../../bin/remit" };
	char real[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)find_command, &info) ||
	    !info.dli_fname || !realpath(info.dli_fname, real))
		snprintf(real, sizeof(real), "/proc/self/exe");
	slash = strrchr(real, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(out, size, "%s/%s", real, places[i]);
		if (is_program(out))
			return 0;
	}
	return fail(err, REMIT_E_INPUT,
		    "the remit command is not beside the library in %s: set "
		    "command_path",
		    real);
}

int
keeper_process_start(pid_t *pid, int *control, const char *command_path,
		     struct remit_error *err)
{
	char command[PATH_MAX], number[16];
	char *argv[] = { "remit", "keeper", "--fd", number, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int pair[2], failed;

	if (command_path)
		snprintf(command, sizeof(command), "%s", command_path);
	else if (find_command(command, sizeof(command), err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	snprintf(number, sizeof(number), "%d", CONTROL_FD);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	/* A session of its own: the terminal's Ctrl-C is not for it. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, pair[1], CONTROL_FD);
	failed = posix_spawn(pid, command, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(pair[1]);
	if (failed) {
		*pid = 0;
		close(pair[0]);
		errno = failed;
		return fail_sys(err, REMIT_E_KERNEL, "start the keeper %s",
				command);
	}
	*control = pair[0];
	return 0;
}
