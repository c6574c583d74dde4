#include "bench.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file/path.h"
#include "base/proc.h"

/* ---- the directory ---- */

int
bench_directory_make(char out[BENCH_DIRECTORY_SIZE], struct remit_error *err)
{
	const char *base = getenv("TMPDIR");

	/* A long path does not fit into the address of a socket. */
	if (!base || base[0] != '/' || strlen(base) > 40)
		base = "/tmp";
	snprintf(out, BENCH_DIRECTORY_SIZE, "%s/remit-bench-XXXXXX", base);
	if (mkdtemp(out))
		return 0;
	*out = '\0';
	return fail_sys(err, REMIT_E_KERNEL, "make a folder in %s", base);
}

/* Unmount the last mount below the directory. Only peers that run as root can
   have made one. */
static bool
unmount_last(const char *directory)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], path[PATH_MAX], last[PATH_MAX] = "";
	size_t n = strlen(directory);

	if (!f)
		return false;
	/* proc(5): the fifth word is the mount point. */
	while (fgets(line, sizeof(line), f)) {
		char *at = line, *word = NULL;

		for (int i = 0; i < 5; i++)
			word = strsep(&at, " ");
		snprintf(path, sizeof(path), "%s", word ? word : "");
		if (!strncmp(path, directory, n) && path[n] == '/')
			memcpy(last, path, sizeof(last));
	}
	fclose(f);
	return *last && umount2(last, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
}

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

void
bench_directory_remove(const char *directory)
{
	if (!*directory)
		return;
	while (unmount_last(directory))
		;
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- the bench ---- */

#define KEEPER_WAIT_MS 5000
#define KEEPER_CONTROL 3

extern char **environ;

static int
watch_signals(struct bench *b, struct remit_error *err)
{
	sigset_t ends, child, both;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigorset(&both, &ends, &child);
	sigprocmask(SIG_BLOCK, &both, &b->mask);
	/* A driver may have ended when the bench writes to it. */
	signal(SIGPIPE, SIG_IGN);
	b->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	b->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signals < 0 || b->children < 0)
		return fail_sys(err, REMIT_E_KERNEL, "signalfd");
	return 0;
}

static int
copy_environ(struct list *to, struct remit_error *err)
{
	for (char **e = environ; *e; e++)
		if (list_add(to, *e) < 0)
			return fail_memory(err, "environment");
	return 0;
}

/* Cold runs must not find a keeper of the user, so they get an environment
   without one. */
static int
make_environments(struct bench *b, struct remit_error *err)
{
	char text[sizeof(b->directory) + 32];

	if (copy_environ(&b->env_given, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%s/runtime", b->directory);
	if (mkdir(text, 0700) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", text);
	if (unsetenv("REMIT_KEEPER") < 0 ||
	    setenv("XDG_RUNTIME_DIR", text, 1) < 0)
		return fail_memory(err, "environment");
	if (copy_environ(&b->env_own, err) < 0 ||
	    copy_environ(&b->env_shared, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "REMIT_KEEPER=%s/keeper.sock",
		 b->directory);
	if (list_add(&b->env_shared, text) < 0)
		return fail_memory(err, "environment");
	return 0;
}

/* Find the first of these places, relative to the directory of this program,
   that exists. If none exists, returns false with the last one in `out`. */
static bool
find_beside(char *out, size_t size, const char *own, const char *const *places)
{
	for (size_t i = 0; places[i]; i++) {
		snprintf(out, size, "%s/%s", own, places[i]);
		if (access(out, R_OK) == 0)
			return true;
	}
	return false;
}

static int
find_product(struct bench *b, struct remit_error *err)
{
	static const char *const commands[] = { "remit", "../bin/remit", NULL };
	static const char *const drivers[] = { "../bench",
					       "../share/remit/bench", NULL };
	own_mem char *own = NULL;

	if (path_own_dir(&own, err) < 0)
		return -1;
	/* Without drivers, the rows that need one are absent. */
	find_beside(b->drivers, sizeof(b->drivers), own, drivers);
	if (find_beside(b->remit, sizeof(b->remit), own, commands))
		return 0;
	return fail(err, REMIT_E_INPUT,
		    "neither %s/remit nor %s/../bin/remit exists", own, own);
}

/* The keeper listens at a socket, and also has a control descriptor, so that it
   ends with this process, however that happens. */
static int
spawn_keeper(struct bench *b, const char *socket_path, int control)
{
	char *argv[] = { "remit", "keeper",   "--fd",
			 "3",	  "--listen", (char *)socket_path,
			 NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int failed;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr,
				 POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &b->mask);
	for (int fd = 0; fd < KEEPER_CONTROL; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
						 O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, control, KEEPER_CONTROL);
	failed = posix_spawn(&b->keeper, b->remit, &actions, &attr, argv,
			     b->env_own.items);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	errno = failed;
	return failed ? -1 : 0;
}

static int
start_keeper(struct bench *b, struct remit_error *err)
{
	char path[sizeof(b->directory) + 16];
	int pair[2];

	snprintf(path, sizeof(path), "%s/keeper.sock", b->directory);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	b->keeper_control = pair[0];
	if (spawn_keeper(b, path, pair[1]) < 0) {
		close(pair[1]);
		b->keeper = 0;
		return fail_sys(err, REMIT_E_KERNEL, "start %s", b->remit);
	}
	close(pair[1]);
	for (int ms = 0; ms < KEEPER_WAIT_MS; ms += 5) {
		if (access(path, F_OK) == 0)
			return 0;
		if (bench_pause(b, 5, err) < 0)
			return -1;
	}
	return fail(err, REMIT_E_GONE, "the keeper does not listen at %s",
		    path);
}

int
bench_open(struct bench *b, const struct bench_options *opt,
	   const struct interpreter *python, struct remit_error *err)
{
	*b = (struct bench){
		.opt = *opt,
		.python = python,
		.signals = -1,
		.children = -1,
		.keeper_control = -1,
		.shows_progress = isatty(2),
	};
	/* Orphans of commands become children of this process. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (watch_signals(b, err) < 0 ||
	    bench_directory_make(b->directory, err) < 0 ||
	    make_environments(b, err) < 0 || find_product(b, err) < 0 ||
	    bench_root_make(&b->root, b->directory, python, err) < 0)
		return -1;
	return start_keeper(b, err);
}

/* Kill all remaining children: they belong to interrupted commands. */
static void
end_children(void)
{
	char line[4096];
	pid_t pid;

	do {
		own_fd int fd = open("/proc/thread-self/children",
				     O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

		line[n > 0 ? n : 0] = '\0';
		pid = (pid_t)strtol(line, NULL, 10);
		if (pid > 0 && kill(pid, SIGKILL) < 0)
			return;
		if (pid > 0)
			(void)proc_wait(pid, NULL);
	} while (pid > 0);
}

void
bench_close(struct bench *b)
{
	bench_progress(b, "%s", "");
	own_fd_close(&b->keeper_control);
	if (b->keeper > 0)
		(void)proc_wait(b->keeper, NULL);
	end_children();
	bench_directory_remove(b->directory);
	bench_root_free(&b->root);
	list_free(&b->env_given);
	list_free(&b->env_own);
	list_free(&b->env_shared);
	own_fd_close(&b->signals);
	own_fd_close(&b->children);
	bench_report_free(&b->report);
}

int
bench_pause(const struct bench *b, unsigned ms, struct remit_error *err)
{
	struct pollfd fd = { .fd = b->signals, .events = POLLIN };

	if (poll(&fd, 1, (int)ms) > 0)
		return fail(err, REMIT_E_GONE, "interrupted");
	return 0;
}

int
bench_check(const struct bench *b, struct remit_error *err)
{
	return bench_pause(b, 0, err);
}

bool
bench_wants(const struct bench *b, const char *section)
{
	return !b->opt.only || fnmatch(b->opt.only, section, 0) == 0;
}

void
bench_progress(const struct bench *b, const char *fmt, ...)
{
	va_list ap;

	if (!b->shows_progress)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "\r\033[K");
	vfprintf(stderr, fmt, ap);
	fflush(stderr);
	va_end(ap);
}

int
bench_remit(const struct bench *b, struct remit **out, struct remit_error *err)
{
	struct remit_options opt = { .command_path = b->remit };
	sigset_t child;
	int bad;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	bad = remit_open(out, &opt, err);
	sigprocmask(SIG_BLOCK, &child, NULL);
	return bad;
}

int
bench_shared(const struct bench *b, struct remit **out, struct remit_error *err)
{
	char path[sizeof(b->directory) + 16];
	struct remit_options opt = { .keeper_path = path };

	snprintf(path, sizeof(path), "%s/keeper.sock", b->directory);
	return remit_open(out, &opt, err);
}

int
bench_new_row(struct bench *b, const char *section, const char *name,
	      struct bench_row **row, struct remit_error *err)
{
	bench_progress(b, "%s: %s", section, name);
	return bench_report_add(&b->report, row, section, name, err);
}

int
bench_absent(const struct bench *b, struct bench_row *row,
	     struct remit_error *err)
{
	struct remit_error why = *err;

	if (bench_check(b, err) < 0)
		return -1;
	bench_row_absent(row, "%s", why.message);
	return 0;
}

int
bench_cell(const struct bench *b, struct remit_session *s, const char *code,
	   const char *output, double *us, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	double begun = bench_stats_now_us();
	struct remit_result *res;
	size_t len;
	int bad = 0;

	job.code = code;
	job.code_len = strlen(code);
	job.interrupt_fd = b->signals;
	if (remit_session_run(s, &job, &res, err) < 0)
		return -1;
	*us = bench_stats_now_us() - begun;
	if (strcmp(remit_result_status(res), "ok") ||
	    strcmp(remit_result_output(res, REMIT_STDOUT, &len), output))
		bad = fail(err, REMIT_E_INTERNAL, "a cell ended with %s",
			   remit_result_status(res));
	remit_result_free(res);
	return bad ? -1 : bench_check(b, err);
}
