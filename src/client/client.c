/*
 * client: opens keepers, and runs a job over one socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file/io.h"
#include "base/file/path.h"
#include "base/proc.h"
#include "client/part.h"
#include "wire/record.h"

/* ---- the input files of a job ---- */

/* The largest input_bytes that a policy can have, for all files. */
#define BYTES_MAX (UINT64_C(1) << 30)

static int
send_head(struct link *l, const char *path, uint64_t size,
	  struct remit_error *err)
{
	own(buf) struct buf head = BUF_INIT(frame_rules[FRAME_FILE].max);
	const struct file_head h = { path, size };

	if (file_head_write(&head, &h) < 0)
		return fail_sys(err, REMIT_E_INPUT, "input file %s", path);
	return link_send(l, FRAME_FILE, head.data, head.len, err);
}

static int
open_regular(const char *host_path, uint64_t *size, struct remit_error *err)
{
	/* O_NONBLOCK: opening a FIFO must not block. */
	own_fd int fd = open(host_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "input file %s", host_path);
	if (!S_ISREG(st.st_mode))
		return fail(err, REMIT_E_INPUT,
			    "input file %s is %s, not a regular file",
			    host_path,
			    S_ISDIR(st.st_mode) ? "a folder" : "special");
	*size = (uint64_t)st.st_size;
	if (*size > BYTES_MAX)
		return fail(err, REMIT_E_INPUT,
			    "input file %s has %llu bytes: input_bytes can "
			    "allow at most 1 GiB",
			    host_path, (unsigned long long)*size);
	return take_fd(&fd);
}

static int
send_from_disk(struct link *l, const struct remit_file *f,
	       struct remit_error *err)
{
	char piece[FRAME_PIECE];
	uint64_t left = 0;
	own_fd int fd = open_regular(f->host_path, &left, err);

	if (fd < 0 || send_head(l, f->path, left, err) < 0)
		return -1;
	while (left) {
		size_t want =
			left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t n = io_read(fd, piece, want);

		if (n < 0)
			return fail_sys(err, REMIT_E_INPUT, "input file %s",
					f->host_path);
		if (n == 0)
			return fail(err, REMIT_E_INPUT,
				    "input file %s became shorter while it "
				    "was read",
				    f->host_path);
		if (link_send(l, FRAME_FILE_DATA, piece, (size_t)n, err) < 0)
			return -1;
		left -= (uint64_t)n;
	}
	return 0;
}

/* Send the input files to the keeper, from memory or from the caller's disk. */
static int
job_files_send(struct link *l, const struct remit_job *job,
	       struct remit_error *err)
{
	for (size_t i = 0; i < job->file_count; i++) {
		const struct remit_file *f = &job->files[i];

		if (f->host_path) {
			if (send_from_disk(l, f, err) < 0)
				return -1;
			continue;
		}
		if (send_head(l, f->path, f->len, err) < 0 ||
		    link_send_pieces(l, FRAME_FILE_DATA, f->bytes, f->len,
				     err) < 0)
			return -1;
	}
	return 0;
}

/* ---- questions of the keeper ---- */

static const char *const answer_words[] = {
	[REMIT_DENY] = "deny",
	[REMIT_ALLOW_ONCE] = "once",
	[REMIT_ALLOW_RUN] = "run",
	[REMIT_ALLOW_ALWAYS] = "run", /* "always" is remembered by the caller */
};

static int
send_answer(struct link *l, const char *id, enum remit_answer answer,
	    struct remit_error *err)
{
	own(buf) struct buf out = BUF_INIT(frame_rules[FRAME_ANSWER].max);
	bool is_known = (size_t)answer < ARRAY_LEN(answer_words);

	if (record_add(&out, "id", id) < 0 ||
	    record_add(&out, "answer",
		       answer_words[is_known ? answer : REMIT_DENY]) < 0)
		return fail_memory(err, "answer");
	return link_send(l, FRAME_ANSWER, out.data, out.len, err);
}

/* Pass a question of the keeper (the frame "question") to the caller's
   callback, and send the answer. The code wants to reach a host that the policy
   does not name. */
static int
answer_host_question(const struct remit_job *job, const struct frame *f,
		     struct link *l, struct remit_error *err)
{
	struct record id, kind, subject;
	struct remit_question q = { 0 };
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	if (!record_next(f->payload, f->len, &at, &id) ||
	    !record_next(f->payload, f->len, &at, &kind) ||
	    !record_next(f->payload, f->len, &at, &subject) || at != f->len ||
	    strcmp(id.key, "id") != 0 || strcmp(kind.key, "kind") != 0 ||
	    strcmp(subject.key, "subject") != 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "malformed question from the keeper");
	q.kind = kind.value;
	q.subject = subject.value;
	return send_answer(l, id.value,
			   job->on_question ? job->on_question(job->user, &q)
					    : REMIT_DENY,
			   err);
}

/* ---- connections to keepers ---- */

/* The interval between calls of the callback on_wait. */
#define WAIT_MS 100

int
client_need_private(struct remit *r, struct remit_error *err)
{
	int failed = 0;

	pthread_mutex_lock(&r->lock);
	if (r->control < 0)
		failed = keeper_process_start(&r->keeper_pid, &r->control,
					      r->command_path, err);
	pthread_mutex_unlock(&r->lock);
	return failed;
}

/* Choose the keeper: the one that the caller or REMIT_KEEPER names, else one at
   the default socket, else none, which means a private one. */
static int
choose_keeper(struct remit *r, const struct remit_options *opt,
	      struct remit_error *err)
{
	const char *path = opt->keeper_path;
	struct remit_error none;
	char usual[108];
	int fd = -1;

	if (opt->private_keeper)
		return 0;
	if (!path)
		path = getenv("REMIT_KEEPER");
	if (!path && path_keeper_socket(usual, sizeof(usual)) == 0) {
		fd = connection_connect(usual, &none);
		r->found = fd >= 0;
		path = r->found ? usual : NULL;
		own_fd_close(&fd);
	}
	if (!path || !*path)
		return 0;
	r->keeper_path = strdup(path);
	return r->keeper_path ? 0 : fail_memory(err, "keeper");
}

static int
remit_init(struct remit *r, const struct remit_options *opt,
	   struct remit_error *err)
{
	r->control = -1;
	pthread_mutex_init(&r->lock, NULL);
	if (opt->command_path) {
		r->command_path = strdup(opt->command_path);
		if (!r->command_path)
			return fail_memory(err, "remit_open");
	}
	if (choose_keeper(r, opt, err) < 0)
		return -1;
	return r->keeper_path ? 0 : client_need_private(r, err);
}

int
remit_open(struct remit **out, const struct remit_options *opt,
	   struct remit_error *err)
{
	struct remit_options none = { 0 };
	struct remit *r = calloc(1, sizeof(*r));

	if (!r)
		return fail_memory(err, "remit_open");
	if (remit_init(r, opt ? opt : &none, err) < 0) {
		remit_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

void
remit_close(struct remit *r)
{
	if (!r)
		return;
	connections_close(&r->connections);
	own_fd_close(&r->control);
	/* The keeper exits when its control socket closes. If the host program
	   reaps all children itself, waitpid() fails at once. */
	if (r->keeper_pid > 0)
		(void)proc_wait(r->keeper_pid, NULL);
	free(r->keeper_path);
	free(r->command_path);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- a run ---- */

int
client_send_job(struct link *l, const struct remit_job *job, bool stays,
		struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_JOB].max);
	const char *policy = job->policy_json;
	char timeout[24];

	if (policy &&
	    link_send(l, FRAME_POLICY, policy, strlen(policy), err) < 0)
		return -1;
	if (job->name && record_add(&records, "name", job->name) < 0)
		return fail_sys(err, REMIT_E_INPUT, "the job's name");
	for (const char *const *a = job->argv; a && *a; a++)
		if (record_add(&records, "argv", *a) < 0)
			return fail_sys(err, REMIT_E_INPUT, "the arguments");
	if (job->artifacts_dir && record_add(&records, "artifacts", "yes") < 0)
		return fail_sys(err, REMIT_E_INPUT, "the job");
	if (job->on_question && record_add(&records, "questions", "yes") < 0)
		return fail_sys(err, REMIT_E_INPUT, "the job");
	if (stays && record_add(&records, "stays", "yes") < 0)
		return fail_sys(err, REMIT_E_INPUT, "the job");
	if (job->timeout_ms) {
		snprintf(timeout, sizeof(timeout), "%llu", job->timeout_ms);
		if (record_add(&records, "timeout_ms", timeout) < 0)
			return fail_memory(err, "job");
	}
	if (job->tenant && record_add(&records, "tenant", job->tenant) < 0)
		return fail_sys(err, REMIT_E_INPUT, "the tenant's name");
	if ((job->interactive &&
	     record_add(&records, "interactive", "yes") < 0) ||
	    (job->context &&
	     record_add(&records, "context", job->context) < 0) ||
	    (job->fresh && record_add(&records, "fresh", "yes") < 0))
		return fail_sys(err, REMIT_E_INPUT, "the job");
	for (const char *const *e = job->env; e && *e; e++)
		if (record_add(&records, "env", *e) < 0)
			return fail_sys(err, REMIT_E_INPUT, "the environment");
	if (link_send(l, FRAME_JOB, buf_text(&records), records.len, err) < 0 ||
	    job_files_send(l, job, err) < 0 ||
	    link_send_pieces(l, FRAME_CODE, job->code, job->code_len, err) <
		    0 ||
	    link_send_pieces(l, FRAME_STDIN, job->stdin_bytes, job->stdin_len,
			     err) < 0)
		return -1;
	if (job->stdin_fd < 0 && link_send(l, FRAME_STDIN_END, "", 0, err) < 0)
		return -1;
	return link_send(l, FRAME_START, "", 0, err);
}

/* Pass on available input. A read error counts as its end. */
static int
pass_stdin(struct link *l, int fd, bool *more, struct remit_error *err)
{
	char piece[FRAME_PIECE];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n > 0)
		return link_send(l, FRAME_STDIN, piece, (size_t)n, err);
	*more = false;
	return link_send(l, FRAME_STDIN_END, "", 0, err);
}

void
run_free(struct run *r)
{
	link_free(&r->link);
	artifacts_free(&r->artifacts);
	tool_calls_free(&r->calls);
	tools_free(&r->tools);
	displays_free(&r->displays);
	remit_result_free(r->result);
}

static int
handle_result(struct run *r, const struct frame *f, struct remit_error *err)
{
	const struct result_parts parts = {
		.displays = &r->displays,
		.calls = &r->calls,
		.artifacts = &r->artifacts,
	};

	return result_view_finish(r->result, f->payload, f->len, &parts, err);
}

static int
read_session_id(struct run *r, const struct frame *f, struct remit_error *err)
{
	struct record one;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &one))
		if (!strcmp(one.key, "id"))
			snprintf(r->session_id, sizeof(r->session_id), "%s",
				 one.value);
	return 0;
}

static int
handle_frame(struct run *r, const struct frame *f, struct remit_error *err)
{
	const struct remit_job *job = r->job;
	struct remit_result *res = r->result;
	enum remit_stream stream;

	switch (f->type) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
		stream = f->type == FRAME_STDOUT ? REMIT_STDOUT : REMIT_STDERR;
		if (job->on_output)
			job->on_output(job->user, stream, f->payload, f->len);
		return result_view_add(res, stream, f->payload, f->len, err);
	case FRAME_ENFORCEMENT:
		return result_view_enforce(res, f->payload, f->len, err);
	case FRAME_ARTIFACT:
		return artifacts_begin(&r->artifacts, f->payload, f->len, err);
	case FRAME_ARTIFACT_DATA:
		return artifacts_add(&r->artifacts, f->payload, f->len, err);
	case FRAME_DISPLAY:
		return displays_begin(&r->displays, f->payload, f->len, err);
	case FRAME_DISPLAY_DATA:
		return displays_add(&r->displays, f->payload, f->len, err);
	case FRAME_CALL:
	case FRAME_CALL_DATA:
		return tool_calls_receive(&r->calls, f, err);
	case FRAME_PROGRESS:
		if (job->on_progress)
			job->on_progress(job->user, f->payload, f->len);
		return 0;
	case FRAME_QUESTION:
		return answer_host_question(job, f, &r->link, err);
	case FRAME_RESULT:
		return handle_result(r, f, err);
	case FRAME_PROMPT:
		r->wants_input = true;
		return 0;
	case FRAME_OPENED:
		r->opened = true;
		return read_session_id(r, f, err);
	case FRAME_STAYS:
		r->stays = true;
		return 0;
	case FRAME_FILE_BYTES:
	case FRAME_FILE_ANSWER:
		if (r->filing)
			return file_answer_add(r->filing, f, err);
		return fail(err, REMIT_E_PROTOCOL,
			    "a file frame without a file task");
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

static int
read_frames(struct run *r, struct remit_error *err)
{
	struct link *l = &r->link;
	struct frame f;

	if (link_fill(l, err) < 0)
		return -1;
	do {
		if (release_next(r->remit, r->shared, l, &f, err) < 0)
			return -1;
		if (f.type != FRAME_NONE && handle_frame(r, &f, err) < 0)
			return -1;
	} while (f.type != FRAME_NONE);
	if (l->ended && !result_view_is_done(r->result))
		return fail(err, REMIT_E_GONE,
			    "the keeper is gone, and the run with it");
	return 0;
}

/* Send an interrupt for each wake-up. The job's interrupt_fd sends only one. */
static int
pass_wake(struct run *r, struct remit_error *err)
{
	uint64_t times;

	if (read(r->wake, &times, sizeof(times)) < 0)
		return 0; /* already read */
	return link_send(&r->link, FRAME_INTERRUPT, "", 0, err);
}

static bool
is_answered(const struct run *r)
{
	return r->opened || (r->filing && r->filing->is_done) ||
	       result_view_is_done(r->result);
}

/* In an interactive cell, read input only when the cell waits for it: input
   that the user types ahead belongs to the next cell. */
static bool
reads_input(const struct run *r)
{
	return !r->job->interactive || r->wants_input;
}

int
client_converse(struct run *r, struct remit_error *err)
{
	const struct remit_job *job = r->job;
	struct link *l = &r->link;
	bool interrupted = false, input = job->stdin_fd >= 0;

	while (!is_answered(r)) {
		struct pollfd fds[] = {
			{ .fd = l->fd, .events = POLLIN },
			{ .fd = interrupted ? -1 : job->interrupt_fd,
			  .events = POLLIN },
			{ .fd = reads_input(r) && input ? job->stdin_fd : -1,
			  .events = POLLIN },
			{ .fd = r->wake, .events = POLLIN },
			{ .fd = tool_calls_fd(&r->calls), .events = POLLIN },
		};

		if (tool_calls_flush(&r->calls, l, err) < 0)
			return -1;
		/* If the keeper no longer reads, it has already sent its
		   answer. */
		if (link_wants_write(l) && link_flush(l, err) < 0)
			link_drop_backlog(l);
		/* Stop reading input while the keeper does not accept more. */
		if (link_wants_write(l)) {
			fds[0].events |= POLLOUT;
			fds[2].fd = -1;
		}
		if (poll(fds, ARRAY_LEN(fds), job->on_wait ? WAIT_MS : -1) <
			    0 &&
		    errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
		if (!interrupted &&
		    (fds[1].revents ||
		     (job->on_wait && job->on_wait(job->user)))) {
			interrupted = true;
			if (link_send(l, FRAME_INTERRUPT, "", 0, err) < 0)
				return -1;
		}
		if (fds[3].revents && pass_wake(r, err) < 0)
			return -1;
		if (fds[2].revents) {
			r->wants_input = false;
			if (pass_stdin(l, job->stdin_fd, &input, err) < 0)
				return -1;
		}
		if (fds[0].revents & (POLLIN | POLLHUP | POLLERR) &&
		    read_frames(r, err) < 0)
			return -1;
	}
	return 0;
}

void
client_set_job(struct run *r, const struct remit_job *job)
{
	r->job = job;
	r->wants_input = false;
	displays_free(&r->displays);
	r->displays =
		(struct displays)DISPLAYS_INIT(job->on_display, job->user);
}

void
client_begin(struct run *r, const struct remit *remit, bool shared, int fd)
{
	r->remit = remit;
	r->shared = shared;
	link_open(&r->link, fd, PARTY_KEEPER);
	/* A policy allows at most 1 GiB of standard input and 1 GiB of
	   files. */
	r->link.out.cap = (size_t)2400 * 1024 * 1024;
}

/* Returns true if the connection can carry another job: the keeper has read
   everything and waits for it. */
static bool
is_kept(const struct run *r, uint64_t sent)
{
	const struct link *l = &r->link;

	return r->stays && l->sent == sent && !link_wants_write(l) &&
	       l->parsed == l->in.len;
}

static int
run_with_keeper(struct remit *r, bool shared, const struct remit_job *job,
		struct remit_result **out, struct remit_error *err)
{
	own(run) struct run run = RUN_INIT;
	own_fd int theirs = -1;
	uint64_t sent;
	int fd;

	if (job->context || job->fresh || job->env)
		return fail(err, REMIT_E_INPUT,
			    "only cells of a session can have a context, fresh "
			    "names or environment variables");
	client_set_job(&run, job);
	if (tools_open(&run.tools, job->tools, job->tool_count, err) < 0 ||
	    tool_calls_open(&run.calls, &run.tools, job, err) < 0)
		return -1;
	if (job->artifacts_dir &&
	    artifacts_open(&run.artifacts, job->artifacts_dir, err) < 0)
		return -1;
	fd = connection_make(r, shared, &theirs, err);
	if (fd < 0)
		return -1;
	client_begin(&run, r, shared, fd);
	run.result = result_view_new(err);
	if (!run.result || tools_send(&run.tools, &run.link, err) < 0 ||
	    client_send_job(&run.link, job, !shared, err) < 0)
		return -1;
	sent = run.link.sent;
	/* Send as much of the job as fits before the private keeper receives
	   its end of the socket. Then it wakes up once. */
	if (theirs >= 0 && (link_flush(&run.link, err) < 0 ||
			    connection_give(r, theirs, err) < 0))
		return -1;
	own_fd_close(&theirs);
	theirs = -1;
	if (client_converse(&run, err) < 0) {
		/* shutdown() works even if a child process has a copy of the
		   socket. */
		shutdown(run.link.fd, SHUT_RDWR);
		return -1;
	}
	if (is_kept(&run, sent))
		connection_keep(r, take_fd(&run.link.fd));
	*out = take_ptr(&run.result);
	return 0;
}

int
remit_run(struct remit *r, const struct remit_job *job,
	  struct remit_result **out, struct remit_error *err)
{
	if (run_with_keeper(r, r->keeper_path != NULL, job, out, err) < 0)
		return -1;
	/* The shared keeper was not chosen by the caller. If it cannot run this
	   policy, use a private one, unless the first one has consumed
	   input. */
	if (!r->found || job->stdin_fd >= 0 || !result_view_is_elsewhere(*out))
		return 0;
	remit_result_free(*out);
	if (client_need_private(r, err) < 0)
		return -1;
	return run_with_keeper(r, false, job, out, err);
}

int
remit_status(struct remit *r, char **json, struct remit_error *err)
{
	own(link) struct link l = LINK_INIT;
	struct frame f = { .type = FRAME_NONE };
	bool shared = r->keeper_path != NULL;
	int fd = connection_open(r, shared, err);

	if (fd < 0)
		return -1;
	link_open(&l, fd, PARTY_KEEPER);
	if (link_send(&l, FRAME_STATUS, "", 0, err) < 0 ||
	    link_flush(&l, err) < 0)
		return -1;
	while (f.type == FRAME_NONE) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
		if (link_fill(&l, err) < 0 ||
		    release_next(r, shared, &l, &f, err) < 0)
			return -1;
		if (l.ended && f.type == FRAME_NONE)
			return fail(err, REMIT_E_GONE, "the keeper is gone");
	}
	if (f.type != FRAME_STATUS)
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	*json = strndup(f.payload, f.len);
	return *json ? 0 : fail_memory(err, "status");
}

const char *
remit_version(void)
{
	return REMIT_VERSION;
}
