#include "keeper/session/committer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/deadline.h"
#include "base/file/fd.h"
#include "base/file/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "jail/linux_abi.h"
#include "wire/frame.h"
#include "wire/record.h"

/* Ends the report, so that an incomplete report can be detected. */
#define REPORT_END "\n"

/* ---- in that process ---- */

static const char no_memory[] = "[{\"path\":\"\",\"reason\":\"no memory\"}]";

static int
write_failure(struct buf *out, const char *why)
{
	json_auto_t *skipped = json_pack("[{s:s, s:o}]", "path", "", "reason",
					 text_to_json(why, strlen(why)));
	own_mem char *json = skipped ? json_dumps(skipped, JSON_COMPACT) : NULL;

	out->len = 0;
	if (record_add(out, "changes", "[]") < 0)
		return -1;
	return record_add(out, "changes_skipped", json ? json : no_memory);
}

static void
close_other_fds(const struct commit_params *o, int out)
{
	int keep[3 + 2 * PLAN_WRITE_ROOTS_MAX + 1] = { 0, 1, 2 };
	size_t n = 3;

	for (int i = 0; i < o->plan->write_roots; i++) {
		if (o->roots[i].host >= 0)
			keep[n++] = o->roots[i].host;
		if (o->roots[i].upper >= 0)
			keep[n++] = o->roots[i].upper;
	}
	keep[n++] = out;
	fds_sort(keep, n);
	fds_close_others(keep, n);
}

/* Waits until the code's process is stopped, because a thread could otherwise
   be in the middle of writing a file. */
static int
wait_until_stopped(pid_t pid, struct remit_error *err)
{
	const uint64_t pause_us = 1000;

	for (uint64_t us = deadline_us(DEADLINE_STOP); us > pause_us;
	     us -= pause_us) {
		if (proc_is_stopped(pid))
			return 0;
		usleep(pause_us);
	}
	return deadline_missed(err, DEADLINE_STOP);
}

/* Writes the report: the state for the next commit with its length in front,
   then records. */
static void __attribute__((noreturn))
committer_main(const struct commit_params *o, pid_t stopped, int out,
	       pid_t keeper)
{
	struct buf text = BUF_INIT(2 << 20), state = BUF_INIT(COMMIT_STATE_MAX);
	struct remit_error err;
	uint32_t len;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != keeper)
		_exit(1);
	close_other_fds(o, out);
	umask(077);
	if (((stopped && wait_until_stopped(stopped, &err) < 0) ||
	     commit_run(o, &text, &state, &err) < 0) &&
	    write_failure(&text, err.message) < 0)
		_exit(1);
	len = (uint32_t)state.len;
	if (io_write_all(out, &len, sizeof(len)) < 0 ||
	    io_write_all(out, state.data, state.len) < 0 ||
	    io_write_all(out, text.data, text.len) < 0 ||
	    io_write_all(out, REPORT_END, 1) < 0)
		_exit(1);
	_exit(0);
}

/* ---- in the keeper ---- */

static void
close_process(struct committer *c, struct loop *l)
{
	loop_remove(l, &c->on_report);
	own_fd_close(&c->report);
	own_fd_close(&c->process);
	c->report = c->process = -1;
}

int
committer_start(struct committer *c, struct loop *l,
		const struct commit_params *o, pid_t stopped,
		void (*ready)(void *owner, uint32_t events), void *owner,
		struct remit_error *err)
{
	pid_t keeper = getpid(), pid;
	int ends[2];

	c->is_late = false;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	pid = fork();
	if (pid == 0)
		committer_main(o, stopped, ends[1], keeper);
	close(ends[1]);
	c->report = ends[0];
	if (pid < 0) {
		fail_sys(err, REMIT_E_KERNEL, "fork");
		close_process(c, l);
		return -1;
	}
	/* The process is not reaped yet, so its pid cannot be reused. */
	c->process = sys_pidfd_open(pid);
	if (c->process >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
	    loop_add(l, &c->on_report, ends[0], EPOLLIN, ready, owner, err) ==
		    0)
		return 0;
	fail_sys(err, REMIT_E_KERNEL, "watch the committer");
	kill(pid, SIGKILL);
	close_process(c, l);
	return -1;
}

bool
committer_read(struct committer *c)
{
	char piece[FRAME_PIECE];
	ssize_t n = read(c->report, piece, sizeof(piece));

	if (n > 0 && buf_add(&c->text, piece, (size_t)n) == 0)
		return false;
	return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* Splits the report into state and records. After an incomplete report the
   state is unknown, and files left by this commit count as changes by
   others. */
static int
committer_parse_report(struct committer *c)
{
	struct buf *b = &c->text;
	struct remit_error err;
	uint32_t len;

	c->prior.len = 0;
	if (b->len <= sizeof(len) || b->data[b->len - 1] != REPORT_END[0])
		return -1;
	memcpy(&len, b->data, sizeof(len));
	if (len > b->len - sizeof(len) - 1 ||
	    record_check(b->data + sizeof(len) + len,
			 b->len - sizeof(len) - len - 1, &err) < 0 ||
	    buf_add(&c->prior, b->data + sizeof(len), len) < 0)
		return -1;
	b->data[--b->len] = '\0';
	buf_drop(b, sizeof(len) + len);
	return 0;
}

static int
write_incomplete(struct committer *c)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL,
	     "changes were not all written: the process that writes them was "
	     "killed");
	if (c->is_late)
		deadline_missed(&err, DEADLINE_COMMIT);
	return write_failure(&c->text, err.message);
}

int
committer_finish(struct committer *c, struct loop *l, struct buf *changes,
		 struct remit_error *err)
{
	int failed;

	close_process(c, l);
	failed = committer_parse_report(c) < 0 && write_incomplete(c) < 0;
	changes->len = 0;
	if (failed || buf_add(changes, buf_text(&c->text), c->text.len) < 0)
		failed = fail_memory(err, "changes");
	c->text.len = 0;
	return failed ? -1 : 0;
}

void
committer_stop(struct committer *c)
{
	c->is_late = true;
	sys_pidfd_kill(c->process, SIGKILL);
}

void
committer_free(struct committer *c, struct loop *l)
{
	struct pollfd end = { .fd = c->process, .events = POLLIN };

	/* The report will not be read any more. */
	loop_remove(l, &c->on_report);
	own_fd_close(&c->report);
	c->report = -1;
	if (c->process >= 0 &&
	    poll(&end, 1, (int)(deadline_us(DEADLINE_COMMIT) / 1000)) != 1)
		committer_stop(c);
	close_process(c, l);
	buf_free(&c->text);
	buf_free(&c->prior);
}
