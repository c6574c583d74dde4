/*
 * session: runs many cells over one socket, one after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file/io.h"
#include "client/commands.h"
#include "client/files/file_task.h"
#include "client/part.h"
#include "client/ports.h"
#include "client/watch.h"
#include "wire/record.h"

struct remit_session {
	pthread_mutex_t busy; /* held by the thread that waits for an answer */
	struct run run;
	bool broken; /* the state of the connection is unknown after an error */
};

static const struct remit_job no_job = REMIT_JOB_INIT;

const char *
remit_session_id(const struct remit_session *s)
{
	return s->run.session_id;
}

void
remit_session_drop(struct remit_session *s)
{
	if (!s)
		return;
	own_fd_close(&s->run.wake);
	run_free(&s->run);
	pthread_mutex_destroy(&s->busy);
	free(s);
}

static struct remit_session *
session_new(struct remit_error *err)
{
	struct remit_session *s = calloc(1, sizeof(*s));

	if (!s) {
		fail_memory(err, "session");
		return NULL;
	}
	s->run = (struct run)RUN_INIT;
	pthread_mutex_init(&s->busy, NULL);
	s->run.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->run.wake >= 0)
		return s;
	fail_sys(err, REMIT_E_KERNEL, "eventfd");
	remit_session_drop(s);
	return NULL;
}

/* Send the queued request and wait for its answer. */
static int
await_answer(struct remit_session *s, const struct remit_job *job,
	     struct remit_error *err)
{
	struct run *r = &s->run;
	uint64_t old;

	client_set_job(r, job);
	tool_calls_free(&r->calls);
	r->calls = (struct tool_calls)TOOL_CALLS_INIT;
	if (tool_calls_open(&r->calls, &r->tools, job, err) < 0)
		return -1;
	r->opened = false;
	r->result = result_view_new(err);
	if (!r->result)
		return -1;
	/* Drop an interrupt that came too late for the last cell. */
	if (read(r->wake, &old, sizeof(old)) < 0 && errno != EAGAIN)
		return fail_sys(err, REMIT_E_KERNEL, "read");
	if (client_converse(r, err) == 0)
		return 0;
	s->broken = true;
	return -1;
}

static void
forget_result(struct remit_session *s)
{
	remit_result_free(s->run.result);
	s->run.result = NULL;
}

/* Fail with the result's error unless the requested jail is open. */
static int
expect_opened(struct remit_session *s, struct remit_error *err)
{
	int failed = 0;

	if (!s->run.opened)
		failed = result_view_to_error(s->run.result, err);
	forget_result(s);
	return failed;
}

/* ---- opening ---- */

static int
write_secret(int fd, const struct remit_secret *s, struct remit_error *err)
{
	size_t len = s->value ? strlen(s->value) + 1 : 0;

	if (!s->name || !*s->name || strchr(s->name, '=') || !len)
		return fail(err, REMIT_E_INPUT,
			    "secrets: each has a name without \"=\", and a "
			    "value");
	if (dprintf(fd, "%s=", s->name) < 0 ||
	    io_write_all(fd, s->value, len) < 0)
		return fail_memory(err, "secrets");
	return 0;
}

/* Send the secrets in a memfd: frames would leave copies in buffers. */
static int
send_secrets(struct link *l, const struct remit_session_options *opt,
	     struct remit_error *err)
{
	own_fd int fd = memfd_create("secrets", MFD_CLOEXEC);

	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "memfd_create");
	for (size_t i = 0; i < opt->secret_count; i++)
		if (write_secret(fd, &opt->secrets[i], err) < 0)
			return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "lseek");
	return link_flush_with(l, fd, err);
}

static int
send_open(struct run *r, const struct remit_session_options *opt,
	  struct remit_error *err)
{
	struct link *l = &r->link;
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_OPEN].max);
	const char *policy = opt->policy_json;

	if ((opt->artifacts_dir &&
	     record_add(&records, "artifacts", "yes") < 0) ||
	    (opt->secret_count && record_add(&records, "secrets", "yes") < 0) ||
	    (opt->forkable && record_add(&records, "forkable", "yes") < 0) ||
	    (opt->tenant && record_add(&records, "tenant", opt->tenant) < 0))
		return fail_memory(err, "session");
	if (policy &&
	    link_send(l, FRAME_POLICY, policy, strlen(policy), err) < 0)
		return -1;
	if (tools_send(&r->tools, l, err) < 0 ||
	    link_send(l, FRAME_OPEN, buf_text(&records), records.len, err) < 0)
		return -1;
	return opt->secret_count ? send_secrets(l, opt, err) : 0;
}

static int
open_at(struct remit *r, bool shared, const struct remit_session_options *opt,
	struct remit_session *s, struct remit_error *err)
{
	int fd = connection_open(r, shared, err);

	if (fd < 0)
		return -1;
	client_begin(&s->run, r, shared, fd);
	if (send_open(&s->run, opt, err) < 0 ||
	    await_answer(s, &no_job, err) < 0)
		return -1;
	/* The session may outlive `r`. */
	s->run.remit = NULL;
	return expect_opened(s, err);
}

static int
open_anywhere(struct remit *r, const struct remit_session_options *opt,
	      struct remit_session *s, struct remit_error *err)
{
	if (opt->artifacts_dir &&
	    artifacts_open(&s->run.artifacts, opt->artifacts_dir, err) < 0)
		return -1;
	if (tools_open(&s->run.tools, opt->tools, opt->tool_count, err) < 0)
		return -1;
	if (open_at(r, r->keeper_path != NULL, opt, s, err) == 0)
		return 0;
	/* As for runs: if the shared keeper was not chosen by the caller and
	   cannot do this, use a private one. */
	if (err->code != REMIT_E_ELSEWHERE || !r->found)
		return -1;
	link_free(&s->run.link);
	if (client_need_private(r, err) < 0)
		return -1;
	return open_at(r, false, opt, s, err);
}

int
remit_session_open(struct remit *r, const struct remit_session_options *opt,
		   struct remit_session **out, struct remit_error *err)
{
	struct remit_session_options none = { 0 };
	struct remit_session *s = session_new(err);

	if (!s)
		return -1;
	if (open_anywhere(r, opt ? opt : &none, s, err) < 0) {
		remit_session_drop(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* ---- cells ---- */

/* Lock the session. Only one thread at a time may wait for an answer. */
static int
session_enter(struct remit_session *s, struct remit_error *err)
{
	if (pthread_mutex_trylock(&s->busy))
		return fail(err, REMIT_E_BUSY,
			    "this session is busy: another thread is running a "
			    "cell");
	link_next_cell(&s->run.link);
	if (!s->broken)
		return 0;
	pthread_mutex_unlock(&s->busy);
	return fail(err, REMIT_E_GONE,
		    "this session is unusable after an error: open another");
}

static int
session_leave(struct remit_session *s, int failed)
{
	forget_result(s);
	pthread_mutex_unlock(&s->busy);
	return failed;
}

static int
run_cell(struct remit_session *s, const struct remit_job *job,
	 struct remit_result **out, struct remit_error *err)
{
	if (job->policy_json || job->artifacts_dir)
		return fail(err, REMIT_E_INPUT,
			    "a cell cannot have a policy or a folder for "
			    "artifacts: set them for the session");
	if (job->tool_count)
		return fail(
			err, REMIT_E_INPUT,
			"a cell cannot have tools: set them for the session");
	if (client_send_job(&s->run.link, job, false, err) < 0) {
		s->broken = true; /* half of it may be queued */
		return -1;
	}
	if (await_answer(s, job, err) < 0)
		return -1;
	*out = take_ptr(&s->run.result);
	return 0;
}

int
remit_session_run(struct remit_session *s, const struct remit_job *job,
		  struct remit_result **out, struct remit_error *err)
{
	return session_enter(s, err) < 0
		       ? -1
		       : session_leave(s, run_cell(s, job, out, err));
}

void
remit_session_interrupt(struct remit_session *s)
{
	uint64_t one = 1;

	/* Writing to an eventfd fails only after 2^64 interrupts. */
	if (write(s->run.wake, &one, sizeof(one)) < 0)
		return;
}

void
remit_session_kill(struct remit_session *s)
{
	/* Keep the descriptor open: the thread that waits reads the end of
	   file. */
	shutdown(s->run.link.fd, SHUT_RDWR);
}

static int
send_reset(struct remit_session *s, struct remit_error *err)
{
	if (link_send(&s->run.link, FRAME_RESET, "", 0, err) < 0 ||
	    await_answer(s, &no_job, err) < 0)
		return -1;
	return expect_opened(s, err);
}

int
remit_session_reset(struct remit_session *s, struct remit_error *err)
{
	return session_enter(s, err) < 0 ? -1
					 : session_leave(s, send_reset(s, err));
}

static int
send_network(struct remit_session *s, const char *policy_json,
	     struct remit_error *err)
{
	if (link_send(&s->run.link, FRAME_NETWORK, policy_json,
		      strlen(policy_json), err) < 0 ||
	    await_answer(s, &no_job, err) < 0)
		return -1;
	return expect_opened(s, err);
}

int
remit_session_network(struct remit_session *s, const char *policy_json,
		      struct remit_error *err)
{
	if (strlen(policy_json) > frame_rules[FRAME_NETWORK].max)
		return fail(err, REMIT_E_INPUT,
			    "the list of hosts may have at most %u bytes",
			    frame_rules[FRAME_NETWORK].max);
	return session_enter(s, err) < 0
		       ? -1
		       : session_leave(s, send_network(s, policy_json, err));
}

/* ---- files ---- */

static int
run_file_task(struct remit_session *s, const struct remit_file_task *task,
	      struct file_answer *answer, struct remit_file_answer **out,
	      struct remit_error *err)
{
	int failed;

	if (file_task_send(task, &s->run.link, err) < 0) {
		s->broken = true; /* half of it may be queued */
		return -1;
	}
	s->run.filing = answer;
	failed = await_answer(s, &no_job, err);
	s->run.filing = NULL;
	if (failed < 0)
		return -1;
	/* Without a file answer, the keeper has sent a result with its own
	   error. */
	if (!answer->is_done)
		return result_view_to_error(s->run.result, err);
	return file_answer_finish(answer, task, out, err);
}

int
remit_session_file(struct remit_session *s, const struct remit_file_task *task,
		   struct remit_file_answer **out, struct remit_error *err)
{
	own(file_answer) struct file_answer answer = FILE_ANSWER_INIT;

	if (file_task_check(task, err) < 0 || session_enter(s, err) < 0)
		return -1;
	return session_leave(s, run_file_task(s, task, &answer, out, err));
}

/* ---- branches ---- */

/* Send the socket of the branch over the socket of the session. */
static int
send_fork(struct remit_session *s, struct remit_session *branch,
	  const char *artifacts_dir, struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_FORK].max);
	struct link *l = &s->run.link;
	own_fd int theirs = -1;
	int pair[2];

	if (artifacts_dir && record_add(&records, "artifacts", "yes") < 0)
		return fail_memory(err, "branch");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	client_begin(&branch->run, s->run.remit, s->run.shared, pair[0]);
	theirs = pair[1];
	if (link_send(l, FRAME_FORK, buf_text(&records), records.len, err) < 0)
		return -1;
	return link_flush_with(l, theirs, err);
}

static int
fork_session(struct remit_session *s, const char *artifacts_dir,
	     struct remit_session *branch, struct remit_error *err)
{
	if ((artifacts_dir &&
	     artifacts_open(&branch->run.artifacts, artifacts_dir, err) < 0) ||
	    tools_copy(&branch->run.tools, &s->run.tools, err) < 0)
		return -1;
	if (send_fork(s, branch, artifacts_dir, err) < 0) {
		s->broken = true;
		return -1;
	}
	return await_answer(branch, &no_job, err) < 0
		       ? -1
		       : expect_opened(branch, err);
}

int
remit_session_fork(struct remit_session *s, const char *artifacts_dir,
		   struct remit_session **out, struct remit_error *err)
{
	struct remit_session *branch;
	int failed;

	if (session_enter(s, err) < 0)
		return -1;
	branch = session_new(err);
	failed = branch ? fork_session(s, artifacts_dir, branch, err) : -1;
	if (failed < 0)
		remit_session_drop(branch);
	else
		*out = branch;
	return session_leave(s, failed);
}

/* ---- commands, watchers and ports beside the cells ---- */

/* Send a second connection over the socket of the session. */
static int
send_connection(struct remit_session *s, enum frame_type what, int theirs,
		struct remit_error *err)
{
	struct link *l = &s->run.link;

	if (link_send(l, what, "", 0, err) < 0 ||
	    link_flush_with(l, theirs, err) < 0) {
		s->broken = true;
		return -1;
	}
	return 0;
}

int
commands_open(struct remit_session *s, struct commands_link **out,
	      struct remit_error *err)
{
	struct commands_link *c;
	own_fd int theirs = -1;
	int pair[2], failed;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	theirs = pair[1];
	c = commands_link_new(pair[0]);
	if (!c)
		return fail_memory(err, "commands");
	failed = session_enter(s, err);
	if (!failed)
		failed = session_leave(
			s, send_connection(s, FRAME_COMMANDS, theirs, err));
	if (failed)
		commands_link_free(c);
	else
		*out = c;
	return failed;
}

int
watch_link_open(struct remit_session *s, struct watch_link **out,
		struct remit_error *err)
{
	struct watch_link *w;
	own_fd int theirs = -1;
	int pair[2], failed;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	theirs = pair[1];
	w = watch_link_new(pair[0]);
	if (!w)
		return fail_memory(err, "watcher");
	failed = session_enter(s, err);
	if (!failed)
		failed = session_leave(
			s, send_connection(s, FRAME_WATCHER, theirs, err));
	if (failed)
		watch_link_free(w);
	else
		*out = w;
	return failed;
}

int
ports_open(struct remit_session *s, struct ports_link **out,
	   struct remit_error *err)
{
	struct ports_link *p;
	own_fd int theirs = -1;
	int pair[2], failed;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	theirs = pair[1];
	p = ports_link_new(pair[0]);
	if (!p)
		return fail_memory(err, "ports");
	failed = session_enter(s, err);
	if (!failed)
		failed = session_leave(
			s, send_connection(s, FRAME_PORTS, theirs, err));
	if (failed)
		ports_link_free(p);
	else
		*out = p;
	return failed;
}

/* ---- commit and close ---- */

static int
request_result(struct remit_session *s, enum frame_type what,
	       struct remit_result **out, struct remit_error *err)
{
	if (link_send(&s->run.link, what, "", 0, err) < 0 ||
	    await_answer(s, &no_job, err) < 0)
		return -1;
	*out = take_ptr(&s->run.result);
	return 0;
}

int
remit_session_commit(struct remit_session *s, struct remit_result **out,
		     struct remit_error *err)
{
	return session_enter(s, err) < 0
		       ? -1
		       : session_leave(
				 s, request_result(s, FRAME_COMMIT, out, err));
}

int
remit_session_close(struct remit_session *s, struct remit_result **out,
		    struct remit_error *err)
{
	int failed = session_enter(s, err);

	if (failed < 0 && err->code == REMIT_E_BUSY)
		return -1;
	if (!failed)
		failed = session_leave(
			s, request_result(s, FRAME_CLOSE, out, err));
	remit_session_drop(s);
	return failed;
}
