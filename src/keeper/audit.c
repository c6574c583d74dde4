#include "keeper/audit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/proc.h"
#include "jail/seccomp/filter.h"

/* ---- the file and its lines ---- */

int
audit_line_open(const char *path, struct remit_error *err)
{
	own_fd int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC,
		     0600);
	struct stat st;
	char last = '\n';

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "--audit %s", path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "--audit %s: not a regular file", path);
	/* If the disk was full, the last line may be incomplete. */
	if (st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 &&
	    last != '\n' && write(fd, "\n", 1) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "--audit %s", path);
	return take_fd(&fd);
}

static void
format_now(char *out, size_t size)
{
	struct timespec t;
	struct tm parts;
	char seconds[32];

	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &parts);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out, size, "%s.%03ldZ", seconds, t.tv_nsec / 1000000);
}

int
audit_line_policy_sha256(const struct policy *p, char out[SHA256_TEXT])
{
	json_auto_t *doc = policy_to_json(p);
	own_mem char *whole =
		doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		    : NULL;

	if (!whole)
		return -1;
	sha256_text(whole, strlen(whole), out);
	return 0;
}

/* Copies members of the result under the same names. */
static int
copy_result(json_t *line, const json_t *result)
{
	static const char *const names[] = {
		"run_id",	  "status",    "tier",	   "exit_code",
		"signal",	  "usage",     "denials",  "artifacts",
		"changes",	  "installed", "reported", "calls",
		"calls_left_out",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_object_set(line, names[i],
				    json_object_get(result, names[i])) < 0)
			return -1;
	return 0;
}

int
audit_line_write(struct buf *out, const struct audit_line_run *run)
{
	json_auto_t *line = NULL;
	own_mem char *text = NULL;
	char time[48];

	format_now(time, sizeof(time));
	line = json_pack("{s:s, s:I, s:s*, s:s, s:s, s:I, s:s*}", "time", time,
			 "uid", (json_int_t)run->uid, "key", run->key,
			 "policy_sha256", run->policy_sha256, "code_sha256",
			 run->code_sha256, "code_bytes",
			 (json_int_t)run->code_bytes, "error", run->error);
	if (!line || (run->result && copy_result(line, run->result) < 0))
		return -1;
	text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
	return text ? buf_addf(out, "%s\n", text) : -1;
}

/* ---- the audit writer's own process ---- */

/* How many bytes may be queued for the audit writer before new runs are
   refused. */
#define BACKLOG_MAX ((size_t)1024 * 1024)
/* How many bytes it writes and syncs at once. */
#define PIECE	 (256 * 1024)
#define RETRY_MS 200

enum { KEEPER_FD = 3, FILE_FD = 4 };

static volatile sig_atomic_t reopen_requested;

static void
on_hup(int signal)
{
	(void)signal;
	reopen_requested = 1;
}

/* Only the most recent report counts. If the keeper is gone, the write fails
   without harm. */
static void
report_trouble(int trouble)
{
	static int reported;

	if (trouble == reported)
		return;
	reported = trouble;
	(void)!write(KEEPER_FD, &trouble, sizeof(trouble));
}

static void
reopen_file(const char *path)
{
	struct remit_error err;
	int fd;

	reopen_requested = 0;
	fd = audit_line_open(path, &err);
	if (fd < 0) {
		/* Keep writing to the old file. */
		fprintf(stderr, "remit: %s\n", err.message);
		return;
	}
	dup2(fd, FILE_FD);
	close(fd);
}

static bool
keeper_is_gone(void)
{
	struct pollfd p = { .fd = KEEPER_FD };

	return poll(&p, 1, RETRY_MS) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* The disk may be full for a while, but the lines must not be lost: retry.
   Returns false if the keeper is gone meanwhile. */
static bool
write_lines(const char *bytes, size_t len)
{
	while (len || fsync(FILE_FD) < 0) {
		ssize_t n = len ? write(FILE_FD, bytes, len) : -1;

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		report_trouble(errno);
		if (keeper_is_gone())
			return false;
	}
	report_trouble(0);
	return true;
}

/* Writes only whole lines, so that a new file starts with a whole line. */
static void
write_until_closed(const char *path)
{
	static char lines[PIECE];
	size_t have = 0;

	for (;;) {
		ssize_t n = read(KEEPER_FD, lines + have, sizeof(lines) - have);
		bool is_interrupted = n < 0 && errno == EINTR;
		const char *end;
		size_t whole;

		if (reopen_requested)
			reopen_file(path);
		if (is_interrupted)
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		end = memrchr(lines, '\n', have);
		/* Write a line longer than the buffer in pieces. */
		whole = end ? (size_t)(end + 1 - lines) : 0;
		if (!whole && have == sizeof(lines))
			whole = have;
		if (whole && !write_lines(lines, whole))
			return;
		have -= whole;
		memmove(lines, lines + whole, have);
	}
}

/* The audit writer ignores the signals that end the keeper, and exits when
   everything is written. */
static _Noreturn void
be_audit_writer(int keeper, int file, const char *path)
{
	struct sigaction hup = { .sa_handler = on_hup };

	/* Move both above the numbers that they are copied to. */
	keeper = fcntl(keeper, F_DUPFD, 10);
	file = fcntl(file, F_DUPFD, 10);
	if (dup2(keeper, KEEPER_FD) < 0 || dup2(file, FILE_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, FILE_FD + 1, ~0u, 0);
	prctl(PR_SET_NAME, "remit-audit");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_load(FILTER_KEEPER) < 0)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGHUP, &hup, NULL);
	write_until_closed(path);
	_exit(0);
}

/* ---- the keeper's side ---- */

int
audit_writer_start(struct audit_writer *c, const char *path,
		   struct remit_error *err)
{
	own_fd int file = audit_line_open(path, err);
	int pair[2];

	if (file < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	c->path = path;
	c->uid = getuid();
	c->fd = pair[0];
	c->pid = fork();
	if (c->pid == 0)
		be_audit_writer(pair[1], file, path);
	close(pair[1]);
	if (c->pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork for --audit");
	return 0;
}

static void
audit_writer_flush(struct audit_writer *c)
{
	ssize_t n = c->out.len ? send(c->fd, c->out.data, c->out.len,
				      MSG_DONTWAIT | MSG_NOSIGNAL)
			       : 0;

	if (n > 0)
		buf_drop(&c->out, (size_t)n);
	loop_want(c->loop, &c->on_fd, EPOLLIN | (c->out.len ? EPOLLOUT : 0));
}

static void
on_audit_writer(void *owner, uint32_t events)
{
	struct audit_writer *c = owner;
	int trouble;
	ssize_t n =
		events & EPOLLOUT && !(events & ~(uint32_t)EPOLLOUT)
			? -1
			: recv(c->fd, &trouble, sizeof(trouble), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(trouble))
		c->trouble = trouble;
	if (n == 0) {
		c->trouble = ESRCH;
		c->pid = 0;
		loop_remove(c->loop, &c->on_fd);
		return;
	}
	audit_writer_flush(c);
}

int
audit_writer_watch(struct audit_writer *c, struct loop *l,
		   struct remit_error *err)
{
	c->loop = l;
	if (c->fd < 0)
		return 0;
	return loop_add(l, &c->on_fd, c->fd, EPOLLIN, on_audit_writer, c, err);
}

int
audit_writer_check(const struct audit_writer *c, struct remit_error *err)
{
	if (c->trouble == ESRCH)
		return fail(err, REMIT_E_KERNEL,
			    "--audit %s: the process that writes it is gone",
			    c->path);
	if (c->trouble) {
		errno = c->trouble;
		return fail_sys(err, REMIT_E_KERNEL,
				"--audit %s cannot be written", c->path);
	}
	if (c->out.len > BACKLOG_MAX)
		return fail(err, REMIT_E_BUSY, "--audit %s: the disk is slow",
			    c->path);
	return 0;
}

void
audit_writer_add(struct audit_writer *c, const struct buf *line)
{
	if (buf_add(&c->out, line->data, line->len) < 0)
		audit_writer_lose(c);
	audit_writer_flush(c);
}

void
audit_writer_lose(struct audit_writer *c)
{
	c->trouble = ENOMEM;
}

void
audit_writer_reopen(const struct audit_writer *c)
{
	if (c->pid > 0)
		kill(c->pid, SIGHUP);
}

void
audit_writer_stop(struct audit_writer *c)
{
	if (c->fd < 0)
		return;
	if (c->loop)
		loop_remove(c->loop, &c->on_fd);
	while (c->out.len && !c->trouble) {
		ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);

		if (n > 0)
			buf_drop(&c->out, (size_t)n);
		else if (errno != EINTR)
			break;
	}
	own_fd_close(&c->fd);
	c->fd = -1;
	if (c->pid > 0)
		(void)proc_wait(c->pid, NULL);
	buf_free(&c->out);
}
