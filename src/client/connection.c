/*
 * connection: the client's end of the socket to a keeper. Each run and each
 * session has its own socket, so that threads share nothing and closing the
 * socket ends the run. A run that ended normally leaves its connection to the
 * next one.
 */
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
#include <sys/un.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "client/part.h"

/* ---- a private keeper ---- */

#define CONTROL_FD 3

extern char **environ;

/* Returns true for an executable file. The runtime's directory, lib/remit, has
   the same name as the program. */
static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* Find the command in the directory of this library or program, or under the
   same prefix. */
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
		    "found no remit command for the library in %s: set "
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
	/* A separate session, so that Ctrl-C at the terminal does not reach the
	   keeper. */
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

/* ---- connections ---- */

int
connection_connect(const char *path, struct remit_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	own_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socket");
	if (strlen(path) >= sizeof(addr.sun_path))
		return fail(err, REMIT_E_INPUT,
			    "%s: the path is too long for a socket", path);
	memcpy(addr.sun_path, path, strlen(path));
	if (connect(fd, (void *)&addr, sizeof(addr)) < 0) {
		fail_sys(err, REMIT_E_GONE, "connect to the keeper %s", path);
		snprintf(err->remedy, sizeof(err->remedy),
			 "Start it with \"remit keeper --listen %s\", or unset "
			 "REMIT_KEEPER.",
			 path);
		return -1;
	}
	/* Send code and policy only to a keeper of the same user or of root. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    (peer.uid != geteuid() && peer.uid != 0))
		return fail(err, REMIT_E_GONE,
			    "the keeper at %s belongs to another user", path);
	return take_fd(&fd);
}

/* Returns a kept connection, or -1. */
static int
pop_kept(struct remit *r)
{
	int fd = -1;

	pthread_mutex_lock(&r->lock);
	if (r->connections.count)
		fd = r->connections.kept[--r->connections.count];
	pthread_mutex_unlock(&r->lock);
	return fd;
}

int
connection_make(struct remit *r, bool shared, int *theirs,
		struct remit_error *err)
{
	int pair[2], kept;

	*theirs = -1;
	if (shared)
		return connection_connect(r->keeper_path, err);
	kept = pop_kept(r);
	if (kept >= 0)
		return kept;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*theirs = pair[1];
	return pair[0];
}

int
connection_give(struct remit *r, int theirs, struct remit_error *err)
{
	ssize_t n;

	if (theirs < 0)
		return 0;
	pthread_mutex_lock(&r->lock);
	n = pass_send(r->control, "d", 1, &theirs, 1, 0);
	pthread_mutex_unlock(&r->lock);
	return n == 1 ? 0 : fail_sys(err, REMIT_E_GONE, "the keeper is gone");
}

int
connection_open(struct remit *r, bool shared, struct remit_error *err)
{
	own_fd int theirs = -1, ours = connection_make(r, shared, &theirs, err);

	if (ours < 0 || connection_give(r, theirs, err) < 0)
		return -1;
	return take_fd(&ours);
}

void
connection_keep(struct remit *r, int fd)
{
	bool kept;

	pthread_mutex_lock(&r->lock);
	kept = r->connections.count < CONNECTIONS_KEPT;
	if (kept)
		r->connections.kept[r->connections.count++] = fd;
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		close(fd);
}

void
connections_close(struct connections *d)
{
	while (d->count)
		close(d->kept[--d->count]);
}

/* ---- keepers of another release ---- */

static void
name_keeper(const struct remit *r, bool shared, char *out, size_t size)
{
	if (r && shared)
		snprintf(out, size, "the keeper at %s", r->keeper_path);
	else if (r && r->command_path)
		snprintf(out, size, "the keeper %s", r->command_path);
	else
		snprintf(out, size, "the keeper");
}

/* Get the version from the keeper's refusal. */
static void
name_version(const struct frame *f, char *out, size_t size)
{
	json_t *doc = f->type == FRAME_RESULT
			      ? json_loadb(f->payload, f->len, 0, NULL)
			      : NULL;
	const char *version =
		json_string_value(json_object_get(doc, "remit_version"));

	snprintf(out, size, "%s", version ? version : "of another release");
	json_decref(doc);
}

static int
refuse_protocol(const struct remit *r, bool shared, const struct frame *f,
		unsigned protocol, struct remit_error *err)
{
	char keeper[256], version[32];

	name_keeper(r, shared, keeper, sizeof(keeper));
	name_version(f, version, sizeof(version));
	return fail_refused(
		err, "keeper",
		shared ? "Restart the keeper: \"systemctl --user restart "
			 "remit-keeper\", or kill it and try again; or set "
			 "REMIT_KEEPER to the empty string to use a private "
			 "keeper."
		       : "Install the same release of the library and the "
			 "remit command, or set command_path.",
		"%s is Remit %s (protocol %u), this is Remit %s (protocol %d)",
		keeper, version, protocol, REMIT_VERSION, FRAME_PROTOCOL);
}

int
release_next(const struct remit *r, bool shared, struct link *l,
	     struct frame *f, struct remit_error *err)
{
	unsigned protocol;
	int failed;

	if (!link_is_foreign(l, &protocol))
		return link_next(l, f, err);
	failed = link_next(l, f, err);
	/* The refusal may arrive in pieces. */
	if (!failed && f->type == FRAME_NONE && !l->ended)
		return 0;
	return refuse_protocol(r, shared, f, protocol, err);
}
