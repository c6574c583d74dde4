/*
 * session_commit: a process of its own writes what was changed in folders of
 * mode rw to the host, so that no other session waits for the disk. It dies
 * with the keeper.
 *
 * Mostly all in the jail is dead by then. A session may ask for it between two
 * cells: then its one process is stopped meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "commit.h"
#include "deadline.h"
#include "fds.h"
#include "known.h"
#include "linux_abi.h"
#include "proc.h"
#include "result.h"
#include "session_part.h"
#include "text.h"

/* Ends what the committer says, so that half of it is not taken for all. */
#define COMPLETE "\n"

/* ---- in that process ---- */

static void
write_failure(struct buf *out, const char *why)
{
	json_auto_t *text = text_to_json(why, strlen(why));
	own_mem char *json = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;

	out->len = 0;
	if (buf_addf(out,
		     "\"changes\":[],\"changes_skipped\":[{\"path\":\"\","
		     "\"reason\":%s}]",
		     json ? json : "\"no memory\"") < 0)
		_exit(1);
}

static void
close_all_else(const struct commit_order *o, int out)
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

/* With what a thread still writes, a file could be half of it. */
static int
await_stop(pid_t pid, struct remit_error *err)
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

static void
say(int out, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = write(out, at, len);

		if (n <= 0)
			_exit(1);
		at += n;
		len -= (size_t)n;
	}
}

/* What the next commit is to know, with its length before it; then the text. */
static void __attribute__((noreturn))
committer_main(const struct commit_order *o, pid_t stopped, int out,
	       pid_t keeper)
{
	struct buf text = BUF_INIT(2 << 20), known = BUF_INIT(KNOWN_MAX);
	struct remit_error err;
	uint32_t len;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != keeper)
		_exit(1);
	close_all_else(o, out);
	umask(077);
	if ((stopped && await_stop(stopped, &err) < 0) ||
	    commit_run(o, &text, &known, &err) < 0)
		write_failure(&text, err.message);
	len = (uint32_t)known.len;
	say(out, &len, sizeof(len));
	say(out, known.data, known.len);
	say(out, text.data, text.len);
	say(out, COMPLETE, 1);
	_exit(0);
}

/* ---- in the keeper ---- */

static void
close_committer(struct session *s)
{
	loop_remove(&s->keeper->loop, &s->on_committer);
	own_fd_close(&s->committed);
	own_fd_close(&s->committer);
	s->committed = s->committer = -1;
}

/* Of half a report nothing is known: what it has left is not ours then. */
static int
split(struct session *s)
{
	struct buf *b = &s->changes;
	uint32_t len;

	s->known.len = 0;
	if (b->len <= sizeof(len) || b->data[b->len - 1] != COMPLETE[0])
		return -1;
	memcpy(&len, b->data, sizeof(len));
	if (len > b->len - sizeof(len) - 1 ||
	    buf_add(&s->known, b->data + sizeof(len), len) < 0)
		return -1;
	b->data[--b->len] = '\0';
	buf_drop(b, sizeof(len) + len);
	return 0;
}

static void
write_half(struct session *s)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL,
	     "changes were not all written: the process that does it was "
	     "killed");
	if (s->commit_late)
		deadline_missed(&err, DEADLINE_COMMIT);
	write_failure(&s->changes, err.message);
}

static void
finish(struct session *s)
{
	close_committer(s);
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	if (split(s) < 0)
		write_half(s);
	if (!s->saving) {
		session_give_files(s);
		return;
	}
	if (s->inmate)
		jail_go_on(&s->inmate->jail);
	s->saving = false;
	if (s->door_gone)
		keeper_remove(s->keeper, s);
	else
		session_answer(s);
}

static void
on_committer(void *owner, uint32_t events)
{
	struct session *s = owner;
	char piece[FRAME_PIECE];
	ssize_t n = read(s->committed, piece, sizeof(piece));

	(void)events;
	if (n > 0 && buf_add(&s->changes, piece, (size_t)n) == 0)
		return;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	finish(s);
}

/* Only what ended well is written, unless the policy says otherwise; or what
   somebody asks for. */
static bool
may_write(const struct session *s)
{
	switch ((enum commit_when)session_policy(s)->commit) {
	case COMMIT_OK:
		return s->saving || result_status(s) == STATUS_OK;
	case COMMIT_ALWAYS:
		return true;
	case COMMIT_NEVER:
		break;
	}
	return false;
}

static int
start(struct session *s, const struct commit_order *o, struct remit_error *err)
{
	pid_t keeper = getpid(), pid;
	pid_t stopped = s->saving ? s->inmate->jail.run_pid : 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	pid = fork();
	if (pid == 0)
		committer_main(o, stopped, ends[1], keeper);
	close(ends[1]);
	s->committed = ends[0];
	if (pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	/* Not reaped yet: the number is its own. */
	s->committer = sys_pidfd_open(pid);
	if (s->committer >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
	    loop_add(&s->keeper->loop, &s->on_committer, ends[0], EPOLLIN,
		     on_committer, s, err) == 0)
		return 0;
	kill(pid, SIGKILL);
	return fail_sys(err, REMIT_E_KERNEL, "watch who writes changes");
}

static bool
begin(struct session *s)
{
	struct commit_order o = {
		.plan = &s->pool->plan,
		.roots = s->inmate->jail.write_roots,
		.since = s->since,
		.runtime_dir = s->keeper->site.runtime_dir,
		.goes_on = s->saving,
		.known = &s->known,
	};
	struct remit_error err;

	s->commit_late = false;
	s->was_committed = may_write(s);
	o.dry = !s->was_committed;
	s->state = SESSION_COMMITTING;
	if (start(s, &o, &err) == 0)
		return true;
	session_commit_free(s);
	s->error = err;
	s->failed = true;
	return false;
}

bool
session_commit(struct session *s)
{
	if (!s->pool || !s->pool->plan.write_roots || !s->inmate || s->failed ||
	    !s->began_us)
		return false;
	return begin(s);
}

/* Why it cannot be now. */
static int
check_saving(const struct session *s, struct remit_error *err)
{
	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	if (!s->pool->plan.write_roots)
		return fail_refused(err, "filesystem_write_roots",
				    "Open the session with --write.",
				    "this session has no folder of mode rw");
	if (s->pool->plan.limits.many_processes)
		return fail_refused(
			err, "subprocess_execution",
			"Close the session: then it is committed.",
			"what several processes write cannot be committed "
			"while they live");
	return 0;
}

void
session_save(struct session *s)
{
	struct remit_error err;

	/* It has no code, and ends well if nothing is wrong with it. */
	s->facts.closed = true;
	s->asked_us = loop_now_us();
	if (check_saving(s, &err) < 0) {
		s->error = err;
		s->failed = true;
		session_answer(s);
		return;
	}
	jail_stop(&s->inmate->jail);
	s->saving = true;
	if (begin(s)) {
		session_commit_wait(s);
		return;
	}
	s->saving = false;
	jail_go_on(&s->inmate->jail);
	session_answer(s);
}

void
session_commit_wait(struct session *s)
{
	loop_set_timer(&s->keeper->loop, &s->timer,
		       loop_now_us() + deadline_us(DEADLINE_COMMIT));
}

void
session_commit_stop(struct session *s)
{
	s->commit_late = true;
	sys_pidfd_kill(s->committer, SIGKILL);
}

void
session_commit_free(struct session *s)
{
	struct pollfd end = { .fd = s->committer, .events = POLLIN };

	/* A keeper that is told to stop does not stop half-way; what was done
	   interests nobody any more. */
	loop_remove(&s->keeper->loop, &s->on_committer);
	own_fd_close(&s->committed);
	s->committed = -1;
	if (s->committer >= 0 && s->state == SESSION_COMMITTING &&
	    poll(&end, 1, (int)(deadline_us(DEADLINE_COMMIT) / 1000)) != 1)
		session_commit_stop(s);
	close_committer(s);
	buf_free(&s->changes);
	buf_free(&s->known);
}
