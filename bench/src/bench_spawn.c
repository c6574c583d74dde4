#include "bench_spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* The time limit of a start. A slower peer is not worth comparing. */
#define LIMIT_MS  15000
#define GRACE_MS  3000
#define SEEN_MAX  4096
#define NO_STREAM { -1, -1, -1 }

void
bench_command_free(struct bench_command *c)
{
	list_free(&c->argv);
}

char *
bench_spawn_find(const char *program)
{
	const char *path = getenv("PATH");
	own_mem char *places = NULL;
	char *rest, *place, *found;

	if (strchr(program, '/'))
		return access(program, X_OK) ? NULL : strdup(program);
	if (asprintf(&places, "%s:/usr/sbin", path ? path : "/usr/bin") < 0) {
		places = NULL;
		return NULL;
	}
	rest = places;
	while ((place = strsep(&rest, ":"))) {
		if (asprintf(&found, "%s/%s", place, program) < 0)
			return NULL;
		if (*place == '/' && access(found, X_OK) == 0)
			return found;
		free(found);
	}
	return NULL;
}

int
bench_spawn_start(const struct bench *b, const struct bench_command *c,
		  const int streams[3], pid_t *pid, struct remit_error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t pipe_signal;
	int failed;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &b->mask);
	posix_spawnattr_setsigdefault(&attr, &pipe_signal);
	for (int i = 0; i < 3; i++) {
		if (streams[i] < 0)
			posix_spawn_file_actions_addopen(
				&actions, i, "/dev/null", O_RDWR, 0);
		else
			posix_spawn_file_actions_adddup2(&actions, streams[i],
							 i);
	}
	failed = posix_spawn(pid, c->argv.items[0], &actions, &attr,
			     c->argv.items, c->env->items);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	errno = failed;
	if (failed)
		return fail_sys(err, REMIT_E_KERNEL, "start %s",
				c->argv.items[0]);
	return 0;
}

static bool
reap_until(pid_t pid, int *status)
{
	int seen;
	pid_t got;

	while ((got = waitpid(-1, &seen, WNOHANG)) > 0)
		if (got == pid) {
			*status = seen;
			return true;
		}
	return false;
}

void
bench_spawn_end(pid_t pid)
{
	siginfo_t info = { 0 };
	double end = bench_stats_now_us() + GRACE_MS * 1e3;

	kill(-pid, SIGTERM);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) == 0 &&
	       info.si_pid != pid) {
		if (bench_stats_now_us() > end)
			kill(-pid, SIGKILL);
		poll(NULL, 0, 5);
	}
	kill(-pid, SIGKILL);
}

int
bench_spawn_wait(const struct bench *b, pid_t pid, unsigned limit_ms,
		 int *status, struct remit_error *err)
{
	struct pollfd fds[] = { { .fd = b->children, .events = POLLIN },
				{ .fd = b->closing ? -1 : b->signals,
				  .events = POLLIN } };
	struct signalfd_siginfo info;
	int n;

	while (!reap_until(pid, status)) {
		n = poll(fds, ARRAY_LEN(fds), (int)limit_ms);
		if (n == 0 || fds[1].revents) {
			bench_spawn_end(pid);
			fail(err, REMIT_E_BUSY, "it took more than %u s",
			     limit_ms / 1000);
			(void)!bench_check(b, err);
			return -1;
		}
		if (fds[0].revents)
			(void)!read(b->children, &info, sizeof(info));
	}
	return 0;
}

/* Returns the line with the reason: the last line of a traceback, else the
   first line that is not a warning. */
static char *
telling_line(char *stderr_fd)
{
	bool last = !strncmp(stderr_fd, "Traceback", 9);
	char *line = stderr_fd, *rest = stderr_fd, *one;

	while ((one = strsep(&rest, "\n"))) {
		if (!*one)
			continue;
		line = one;
		if (!last && !strcasestr(one, "warning"))
			break;
	}
	return line;
}

static void
read_back(int fd, char out[SEEN_MAX])
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size < SEEN_MAX ? 0 : size - SEEN_MAX + 1;
	ssize_t n = pread(fd, out, SEEN_MAX - 1, from);

	out[n > 0 ? n : 0] = '\0';
}

int
bench_spawn_read_error(int stderr_fd, struct remit_error *err)
{
	char text[SEEN_MAX];

	read_back(stderr_fd, text);
	if (*text)
		fail(err, REMIT_E_INPUT, "%s", telling_line(text));
	return -1;
}

static int
check_status(const struct bench_command *c, int status, struct remit_error *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return fail(err, REMIT_E_INPUT, "%s failed with wait status %d",
		    c->argv.items[0], status);
}

int
bench_spawn_try(const struct bench *b, const struct bench_command *c,
		const char *wanted_output, double *us, struct remit_error *err)
{
	own_fd int out = memfd_create("out", MFD_CLOEXEC);
	own_fd int stderr_fd = memfd_create("err", MFD_CLOEXEC);
	const int streams[3] = { -1, out, stderr_fd };
	char text[SEEN_MAX];
	double begun = bench_stats_now_us();
	int status;
	pid_t pid;

	if (bench_spawn_start(b, c, streams, &pid, err) < 0 ||
	    bench_spawn_wait(b, pid, LIMIT_MS, &status, err) < 0)
		return -1;
	*us = bench_stats_now_us() - begun;
	if (check_status(c, status, err) < 0)
		return bench_spawn_read_error(stderr_fd, err);
	read_back(out, text);
	if (wanted_output && strcmp(text, wanted_output))
		return fail(err, REMIT_E_INPUT, "it printed \"%.60s\"", text);
	return 0;
}

int
bench_spawn_time(const struct bench *b, const struct bench_command *c,
		 double *us, struct remit_error *err)
{
	static const int streams[3] = NO_STREAM;
	double begun = bench_stats_now_us();
	int status;
	pid_t pid;

	if (bench_spawn_start(b, c, streams, &pid, err) < 0 ||
	    bench_spawn_wait(b, pid, LIMIT_MS, &status, err) < 0)
		return -1;
	*us = bench_stats_now_us() - begun;
	return check_status(c, status, err);
}

int
bench_spawn_thread(const struct bench *b, const struct bench_command *c,
		   double *us, struct remit_error *err)
{
	static const int streams[3] = NO_STREAM;
	double begun = bench_stats_now_us();
	int status = 0;
	pid_t pid;

	if (bench_spawn_start(b, c, streams, &pid, err) < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "waitpid");
	*us = bench_stats_now_us() - begun;
	return check_status(c, status, err);
}
