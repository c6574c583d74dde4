#include "jail/probe/discover.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/digest.h"
#include "base/file/path.h"
#include "jail/probe/probe.h"

#define ANSWER_BYTES_MAX (1024 * 1024)

#define REMEDY "Name a CPython 3.9 or newer with --python."

extern char **environ;

int
discover_runtime_dir(char **out, struct remit_error *err)
{
	static const char *const places[] = {
		"%s/runtime",
		"%s/../lib/remit",
	};
	own_mem char *own = NULL;

	if (path_own_dir(&own, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char directory[PATH_MAX], file[PATH_MAX + 32];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(directory, sizeof(directory), places[i], own);
#pragma GCC diagnostic pop
		snprintf(file, sizeof(file), "%s/boot.py", directory);
		if (access(file, R_OK) < 0)
			continue;
		*out = realpath(directory, NULL);
		if (*out)
			return 0;
	}
	return fail(err, REMIT_E_INTERNAL,
		    "the runtime folder is neither %s/runtime nor "
		    "%s/../lib/remit: reinstall Remit",
		    own, own);
}

/* Make the path absolute but keep its last name: a venv's python is a link and
   must stay one. */
static char *
make_absolute(const char *python, struct remit_error *err)
{
	char cwd[PATH_MAX] = "", file[2 * PATH_MAX], *copy;
	struct stat st;

	if (stat(python, &st) < 0) {
		fail_refused(err, "python", REMEDY, "%s: %s", python,
			     strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || access(python, X_OK) < 0) {
		fail_refused(err, "python", REMEDY,
			     "%s is not an executable file", python);
		return NULL;
	}
	if (python[0] != '/' && !getcwd(cwd, sizeof(cwd))) {
		fail_sys(err, REMIT_E_KERNEL, "getcwd");
		return NULL;
	}
	snprintf(file, sizeof(file), "%s%s%s", cwd, *cwd ? "/" : "", python);
	copy = strdup(file);
	if (!copy)
		fail_memory(err, "python");
	return copy;
}

/* The file that `python` names: a new string, or NULL with *err. */
static char *
find_on_path(const char *python, struct remit_error *err)
{
	const char *path = getenv("PATH");
	struct stat st;

	if (strchr(python, '/'))
		return make_absolute(python, err);
	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t n = strcspn(at, ":");
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, at, python);
		if (n && file[0] == '/' && access(file, X_OK) == 0 &&
		    stat(file, &st) == 0 && S_ISREG(st.st_mode))
			return make_absolute(file, err);
		at += n;
		at += *at == ':';
	}
	fail_refused(err, "python", REMEDY, "\"%s\" was not found on PATH",
		     python);
	return NULL;
}

static void
hash_file(struct hash *h, const char *path)
{
	struct stat st = { 0 };

	hash_text(h, path);
	if (stat(path, &st) < 0)
		st = (struct stat){ 0 };
	hash_number(h, (uint64_t)st.st_dev);
	hash_number(h, (uint64_t)st.st_ino);
	hash_number(h, (uint64_t)st.st_size);
	hash_number(h, (uint64_t)st.st_mtim.tv_sec);
	hash_number(h, (uint64_t)st.st_mtim.tv_nsec);
}

uint64_t
discover_identity(const struct interpreter *in)
{
	struct hash h = HASH_INIT;

	hash_file(&h, in->real);
	/* The executable may be a link that now leads to another program. */
	hash_file(&h, in->executable);
	return h.value;
}

/* Hashes what a pyenv shim reads to choose its interpreter. */
static void
hash_shim(struct hash *h)
{
	const char *version = getenv("PYENV_VERSION");
	const char *root = getenv("PYENV_ROOT");
	const char *home = getenv("HOME");
	own_mem char *cwd = getcwd(NULL, 0);
	char path[PATH_MAX];
	size_t n;

	hash_text(h, version ? version : "");
	snprintf(path, sizeof(path), "%s%s/version",
		 root	? root
		 : home ? home
			: "",
		 root ? "" : "/.pyenv");
	hash_file(h, path);
	for (n = cwd ? strlen(cwd) : 0; n;) {
		snprintf(path, sizeof(path), "%.*s/.python-version", (int)n,
			 cwd);
		hash_file(h, path);
		while (n && cwd[--n] != '/')
			;
	}
}

/* The directory for this interpreter's answer, created if missing: a new
   string, which is empty if there is no cache, or NULL with *err. */
static char *
interpreter_cache_directory(const char *file, const char *runtime_dir,
			    struct remit_error *err)
{
	own_mem char *cache = NULL, *directory = NULL;
	struct remit_error none;
	own_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
	char magic[2] = { 0 }, runner[PATH_MAX];
	struct hash h = HASH_INIT;

	hash_file(&h, file);
	if (fd >= 0 && read(fd, magic, 2) == 2 && !memcmp(magic, "#!", 2))
		hash_shim(&h);
	snprintf(runner, sizeof(runner), "%s/discover.py", runtime_dir);
	hash_file(&h, runner);
	snprintf(runner, sizeof(runner), "%s/runner.py", runtime_dir);
	hash_file(&h, runner);
	if (path_cache_dir(&cache, &none) < 0)
		directory = strdup("");
	else if (asprintf(&directory, "%s/python-%016llx", cache,
			  (unsigned long long)h.value) < 0)
		directory = NULL;
	if (!directory)
		fail_memory(err, "cache directory");
	else if (*directory && mkdir(directory, 0755) < 0 && errno != EEXIST)
		*directory = '\0';
	return take_ptr(&directory);
}

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Read everything the child writes, until it closes its end or time is up. */
static int
read_answer(int fd, struct buf *out)
{
	uint64_t end = now_ms() + deadline_us(DEADLINE_ANSWER) / 1000;
	char piece[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = now_ms();
		int ready = now < end ? poll(&p, 1, (int)(end - now)) : 0;
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			errno = ETIMEDOUT;
		if (ready <= 0)
			return -1;
		n = read(fd, piece, sizeof(piece));
		if (n == 0)
			return 0;
		if (n < 0 || buf_add(out, piece, (size_t)n) < 0)
			return -1;
	}
}

static int
spawn_interpreter(pid_t *pid, const char *file, char *const argv[], int out)
{
	posix_spawn_file_actions_t actions;
	int failed;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	failed = posix_spawn(pid, file, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

static int
run_discovery(struct buf *answer, const char *file, const char *runtime_dir,
	      const char *directory, struct remit_error *err)
{
	char script[PATH_MAX];
	char *argv[] = { (char *)file,	    "-I", script, (char *)runtime_dir,
			 (char *)directory, NULL };
	int pipe_fds[2], failed, status = 0;
	bool silent, late;
	pid_t pid;

	snprintf(script, sizeof(script), "%s/discover.py", runtime_dir);
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	failed = spawn_interpreter(&pid, file, argv, pipe_fds[1]);
	close(pipe_fds[1]);
	if (failed) {
		close(pipe_fds[0]);
		return fail_refused(err, "python", REMEDY,
				    "%s cannot be started: %s", file,
				    strerror(failed));
	}
	silent = read_answer(pipe_fds[0], answer) < 0;
	late = silent && errno == ETIMEDOUT;
	close(pipe_fds[0]);
	if (silent)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (late) {
		deadline_missed(err, DEADLINE_ANSWER);
		return fail_within(err, "%s", file);
	}
	if (silent || !WIFEXITED(status) || WEXITSTATUS(status))
		return fail_refused(
			err, "python", REMEDY,
			"%s is not a working Python: it did not answer (%s %d)",
			file, WIFEXITED(status) ? "exit code" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status)
					  : WTERMSIG(status));
	return 0;
}

static int
parse_answer(struct interpreter *out, const struct buf *answer,
	     const char *file, struct remit_error *err)
{
	json_error_t where;
	json_t *doc = json_loadb(buf_text(answer), answer->len, 0, &where);
	int failed;

	if (!doc)
		return fail_refused(err, "python", REMEDY,
				    "%s is not a Python interpreter: its "
				    "answer is malformed",
				    file);
	failed = interpreter_from_json(out, doc, err);
	json_decref(doc);
	return failed;
}

/* Whether a path is unchanged since the interpreter was run. */
static bool
is_path_unchanged(const char *entry)
{
	const char *tab = strrchr(entry, '\t');
	char path[PATH_MAX];
	struct stat st;
	uint64_t mtime_ns = 0;

	if (!tab || (size_t)(tab - entry) >= sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(tab - entry), entry);
	if (stat(path, &st) == 0)
		mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
			   (uint64_t)st.st_mtim.tv_nsec;
	return strtoull(tab + 1, NULL, 10) == mtime_ns;
}

/* Installing a package, for instance with pip, changes the answer. */
static bool
is_current(const struct interpreter *in)
{
	for (size_t i = 0; i < in->seen.count; i++)
		if (!is_path_unchanged(in->seen.items[i]))
			return false;
	return in->seen.count > 0;
}

static int
read_cached_interpreter(struct interpreter *out, const char *file,
			const char *cached)
{
	own(buf) struct buf answer = BUF_INIT(ANSWER_BYTES_MAX);
	struct remit_error err;

	if (access(cached, R_OK) < 0 ||
	    path_read_file(&answer, cached, &err) < 0 ||
	    parse_answer(out, &answer, file, &err) < 0)
		return -1;
	if (is_current(out))
		return 0;
	interpreter_free(out);
	return -1;
}

/* Without a cache for byte code, Python compiles the runner at each start: it
   looks for byte code in this directory and finds none. */
static int
go_without_byte_code(struct interpreter *in, const char *runtime_dir,
		     struct remit_error *err)
{
	free(in->compiled);
	in->compiled = strdup(runtime_dir);
	if (in->compiled)
		return 0;
	interpreter_free(in);
	return fail_memory(err, "python");
}

int
discover_interpreter(struct interpreter *out, const char *python,
		     const char *runtime_dir, struct remit_error *err)
{
	own_mem char *file = find_on_path(python, err);
	own_mem char *directory =
		file ? interpreter_cache_directory(file, runtime_dir, err)
		     : NULL;
	own(buf) struct buf answer = BUF_INIT(ANSWER_BYTES_MAX);
	struct remit_error unwritten;
	char cached[PATH_MAX];

	if (!directory)
		return -1;
	snprintf(cached, sizeof(cached), "%s/answer.json", directory);
	if (*directory && read_cached_interpreter(out, file, cached) == 0)
		return 0;
	if (run_discovery(&answer, file, runtime_dir, directory, err) < 0 ||
	    parse_answer(out, &answer, file, err) < 0)
		return -1;
	/* Do not save this answer: next time the cache may have space. */
	if (!*out->compiled)
		return go_without_byte_code(out, runtime_dir, err);
	if (path_write_file(cached, answer.data, answer.len, &unwritten) < 0)
		errno = 0; /* the next start runs it again */
	return 0;
}

/* ---- for commands that only report ---- */

int
site_find_host(struct site *s, struct remit_error *err)
{
	if (discover_runtime_dir(&s->runtime_dir, err) < 0)
		return -1;
	return probe_host_cached(&s->host, s->runtime_dir, err);
}

int
site_find_interpreter(struct site *s, const struct policy *p,
		      struct remit_error *err)
{
	return discover_for(&s->interpreter, p, s->runtime_dir, err);
}

void
site_free(struct site *s)
{
	free(s->runtime_dir);
	interpreter_free(&s->interpreter);
}
