/*
 * session_client: the frames between a client and its session.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "keeper/overview.h"
#include "keeper/session/part.h"
#include "policy/plan/instructions.h"
#include "wire/record.h"

/* While the jail does not accept more of a file, its bytes wait with the
   client. */
static bool
wants_client_bytes(const struct session *s)
{
	if (s->state >= SESSION_EXPORTING)
		return s->state == SESSION_DONE && s->stays &&
		       !link_wants_write(&s->client);
	return s->state != SESSION_FILING || !s->filing.missing_bytes ||
	       !s->worker ||
	       link_backlog(&s->worker->jail.channel) <= CLIENT_BACKLOG;
}

void
session_watch_client(struct session *s)
{
	uint32_t events = wants_client_bytes(s) ? EPOLLIN : 0;

	if (link_wants_write(&s->client))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->on_client, events);
}

void
session_flush_client(struct session *s)
{
	struct remit_error err;
	uint32_t events;

	if (s->client_gone)
		return;
	if (link_flush(&s->client, &err) < 0)
		s->client_gone = true;
	session_watch_client(s);
	/* A client that does not read stops the program's output, and so the
	   program, but not its clock. */
	events = link_backlog(&s->client) > CLIENT_BACKLOG ? 0 : EPOLLIN;
	if (s->worker &&
	    (s->state == SESSION_RUNNING || s->state == SESSION_FILING))
		session_flush_channel(s);
	if (s->worker && !s->clock.output_us && !session_is_between_cells(s)) {
		loop_want(&s->keeper->loop, &s->worker->on_out, events);
		loop_want(&s->keeper->loop, &s->worker->on_err, events);
	}
}

static void
flush_input(struct session *s)
{
	if (feed_flush(&s->cell.input)) {
		/* Remove it from the loop before closing it: a jail that is
		   being built may have a copy of the pipe, which would keep the
		   closed descriptor in the epoll set. */
		loop_remove(&s->keeper->loop, &s->on_in);
		feed_free(&s->cell.input);
		return;
	}
	loop_want(&s->keeper->loop, &s->on_in,
		  feed_wants_write(&s->cell.input) ? EPOLLOUT : 0);
}

void
session_on_stdin(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	/* An error means that the reader is gone. */
	if (events & EPOLLERR && !feed_wants_write(&s->cell.input))
		loop_remove(&s->keeper->loop, &s->on_in);
	else
		flush_input(s);
}

/* Uses the default policy if the client has sent none. */
static int
ensure_policy(struct session *s, struct remit_error *err)
{
	if (s->pool || s->policy.python || s->policy_text.len)
		return 0;
	s->pool = pool_find(s->keeper, "", 0);
	if (s->pool) {
		pool_ref(s->pool);
		s->display.mode = s->pool->policy.display_mode;
	} else if (policy_init(&s->policy) < 0) {
		return fail_memory(err, "policy");
	}
	return 0;
}

/* Policies that differ only in their displays share a pool, and so its waiting
   jails. */
static void
take_display_mode(struct session *s)
{
	s->display.mode = s->policy.display_mode;
	s->policy.display_mode = DISPLAYS_ALL;
}

static int
recv_policy(struct session *s, const struct frame *f, struct remit_error *err)
{
	/* A policy that already has a pool is not parsed again. */
	s->pool = pool_find(s->keeper, f->payload, f->len);
	if (s->pool) {
		pool_ref(s->pool);
		s->display.mode = s->pool->policy.display_mode;
		return 0;
	}
	if (policy_init(&s->policy) < 0 ||
	    buf_add(&s->policy_text, f->payload, f->len) < 0)
		return fail_memory(err, "policy");
	if (policy_parse(&s->policy, f->payload, f->len, "policy", err) < 0)
		return -1;
	take_display_mode(s);
	return 0;
}

/* Ends a session that was only a query: its answer is the last frame. */
static void
end_query(struct session *s)
{
	if (session_enter(s, SESSION_DONE) < 0)
		return;
	session_flush_client(s);
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

static int
answer_status(struct session *s, const struct frame *f, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_STATUS].max);

	(void)f;
	if (overview_write(&text, s->keeper) < 0)
		return fail_memory(err, "status");
	if (link_send(&s->client, FRAME_STATUS, text.data, text.len, err) < 0)
		return -1;
	end_query(s);
	return 0;
}

/* ---- which packages an interpreter has ---- */

/* Packages are found by the directories that pip and distributions leave in
   site-packages. */

/* The maximum of packages that are listed. */
#define INSTALLED_MAX 200

/* Writes "name version" for NAME-VERSION.dist-info or .egg-info. Returns false
   if it is neither. */
static bool
parse_installed_name(const char *directory, char *out, size_t size)
{
	const char *dash = strchr(directory, '-');
	const char *end = strstr(directory, ".dist-info");

	if (!end)
		end = strstr(directory, ".egg-info");
	if (!dash || !end || dash > end || directory[0] == '.')
		return false;
	snprintf(out, size, "%.*s %.*s", (int)(dash - directory), directory,
		 (int)strcspn(dash + 1, "-") < (int)(end - dash - 1)
			 ? (int)strcspn(dash + 1, "-")
			 : (int)(end - dash - 1),
		 dash + 1);
	/* The name goes into a prompt: allow only the characters of names and
	   versions. */
	return strspn(out, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789._+! ") == strlen(out);
}

static int
list_installed(struct list *out, const char *path, struct remit_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char name[256];
	int failed = 0;

	if (!dir) {
		own_fd_close(&fd);
		return 0;
	}
	while (!failed && out->count < INSTALLED_MAX && (entry = readdir(dir)))
		if (parse_installed_name(entry->d_name, name, sizeof(name)) &&
		    !list_has(out, name) && list_add(out, name) < 0)
			failed = fail_memory(err, "packages");
	closedir(dir);
	return failed;
}

static int
by_name(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* Lists "name version" for each package, in alphabetical order. A directory
   that cannot be read counts as empty. */
static int
installed_list(struct list *out, const struct interpreter *in,
	       struct remit_error *err)
{
	for (size_t i = 0; i < in->sys_path.count; i++)
		if (list_installed(out, in->sys_path.items[i], err) < 0)
			return -1;
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_name);
	return 0;
}

/* ---- requests ---- */

static int
write_instructions(const struct session *s, bool session,
		   const struct list *packages, struct buf *text,
		   struct remit_error *err)
{
	own(list) struct list installed = { 0 };
	own(buf) struct buf part =
		BUF_INIT(frame_rules[FRAME_INSTRUCTIONS].max);
	struct instructions in = {
		.plan = &s->pool->plan,
		.session = session,
		.packages = packages->count ? packages
					    : &session_policy(s)->packages,
		.installed = &installed,
	};

	if (installed_list(&installed, s->pool->plan.interpreter, err) < 0)
		return -1;
	if (instructions_write(&part, &in) < 0 ||
	    record_add(text, "text", buf_text(&part)) < 0)
		return fail_memory(err, "instructions");
	buf_free(&part);
	if (instructions_write_tools(&part, &in) < 0 ||
	    record_add(text, "tools", buf_text(&part)) < 0)
		return fail_memory(err, "instructions");
	return 0;
}

/* Builds the plan as for a run, but runs and installs nothing. A plan without
   the policy's packages belongs to another policy, so it is not found by this
   policy's text. */
static int
answer_instructions(struct session *s, const struct frame *f,
		    struct remit_error *err)
{
	own(buf) struct buf text =
		BUF_INIT(frame_rules[FRAME_INSTRUCTIONS].max);
	own(list) struct list packages = { 0 };
	bool session = f->len == 7;

	if (!s->pool && s->policy.packages.count) {
		packages = s->policy.packages;
		s->policy.packages = (struct list){ 0 };
		buf_free(&s->policy_text);
	}
	if (session_ensure_plan(s, session, err) < 0 ||
	    write_instructions(s, session, &packages, &text, err) < 0 ||
	    link_send(&s->client, FRAME_INSTRUCTIONS, text.data, text.len,
		      err) < 0)
		return -1;
	end_query(s);
	return 0;
}

/* The job is complete. */
static int
recv_start(struct session *s, const struct frame *f, struct remit_error *err)
{
	(void)f;
	(void)err;
	s->cell.arrival = CELL_COMPLETE;
	session_hash_code(s);
	session_enqueue(s);
	return 0;
}

/* ---- its frames ---- */

/* Frames that request something, and the state in which they may come. All
   other frames only bring data. */
static const struct request {
	enum frame_type type;
	enum session_state state;
	int (*handle)(struct session *s, const struct frame *f,
		      struct remit_error *err);
} requests[] = {
	{ FRAME_STATUS, SESSION_READING, answer_status },
	{ FRAME_INSTRUCTIONS, SESSION_READING, answer_instructions },
	{ FRAME_OPEN, SESSION_READING, session_open },
	{ FRAME_START, SESSION_READING, recv_start },
	{ FRAME_START, SESSION_IDLE, recv_start },
	{ FRAME_RESET, SESSION_IDLE, session_reset },
	{ FRAME_FORK, SESSION_IDLE, session_fork },
	{ FRAME_COMMANDS, SESSION_IDLE, session_open_commands },
	{ FRAME_WATCHER, SESSION_IDLE, session_open_watcher },
	{ FRAME_PORTS, SESSION_IDLE, session_open_ports },
	{ FRAME_FILE_TASK, SESSION_IDLE, session_recv_file_task },
	{ FRAME_COMMIT, SESSION_IDLE, session_commit_now },
	{ FRAME_NETWORK, SESSION_IDLE, session_set_network },
	{ FRAME_CLOSE, SESSION_IDLE, session_close },
};

static const struct request *
find_request(enum frame_type type, enum session_state state)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		if (requests[i].type == type && requests[i].state == state)
			return &requests[i];
	return NULL;
}

static void
post_request(struct session *s, const struct frame *f)
{
	s->queue.request = *f;
	session_post(s, SESSION_REQUESTED);
}

/* Handles a frame that is a part of a job. */
static int
recv_job_part(struct session *s, const struct frame *f, struct remit_error *err)
{
	const struct policy *p = session_policy(s);
	struct cell *c = &s->cell;
	bool caps = true;

#ifdef REMIT_HOLES
	caps = !(host_left_out(&s->keeper->host) & MECH(FRAME_CAP));
#endif
	switch (f->type) {
	case FRAME_JOB:
		return cell_parse_job(c, f, session_is_opened(s), &s->options,
				      err);
	case FRAME_CODE:
		return cell_add_code(c, f, caps ? p->code_bytes : c->code.cap,
				     err);
	case FRAME_FILE:
		return inputs_begin(&c->files, p, f->payload, f->len,
				    caps ? p->input_bytes : UINT64_MAX, err);
	case FRAME_TOOLS:
		return bridge_set_tools(&s->bridge, f->payload, f->len, err);
	case FRAME_REPLY:
	case FRAME_REPLY_DATA:
		return session_recv_reply(s, f, err);
	case FRAME_ANSWER:
		return session_recv_answer(s, f, err);
	case FRAME_FILE_DATA:
		return inputs_add(&c->files, f->payload, f->len, err);
	case FRAME_STDIN:
		if (feed_add(&c->input, f->payload, f->len,
			     caps ? p->stdin_bytes : UINT64_MAX, err) < 0)
			return -1;
		flush_input(s);
		return 0;
	case FRAME_STDIN_END:
		c->input.ended = true;
		flush_input(s);
		return 0;
	case FRAME_INTERRUPT:
		c->facts.interrupted = s->clock.cut_short = true;
		session_post(s, SESSION_INTERRUPTED);
		return 0;
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

/* Returns true for frames that may come while the code runs, and after its end
   if the client had not learned of it yet. */
static bool
may_come_late(const struct frame *f)
{
	return f->type == FRAME_STDIN || f->type == FRAME_STDIN_END ||
	       f->type == FRAME_INTERRUPT || f->type == FRAME_REPLY ||
	       f->type == FRAME_REPLY_DATA || f->type == FRAME_ANSWER;
}

static int
recv_while_filing(struct session *s, const struct frame *f,
		  struct remit_error *err)
{
	if (may_come_late(f))
		return 0;
	if (f->type != FRAME_FILE_DATA)
		return fail(err, REMIT_E_PROTOCOL,
			    "frame \"%s\" during a file request",
			    frame_rules[f->type].name);
	if (session_recv_file_data(s, f, err) < 0)
		return -1;
	if (!s->filing.missing_bytes)
		post_request(s, f);
	return 0;
}

/* Handles a part of the next cell. An error in it becomes the cell's result
   when the cell is complete. */
static int
recv_cell_part(struct session *s, const struct frame *f,
	       struct remit_error *err)
{
	if ((s->cell.arrival == CELL_ABSENT) != (f->type == FRAME_JOB))
		return fail(err, REMIT_E_PROTOCOL, "frame \"%s\" between cells",
			    frame_rules[f->type].name);
	if (f->type == FRAME_START) {
		post_request(s, f);
		return 0;
	}
	if (cell_has_failed(&s->cell) || recv_job_part(s, f, err) == 0)
		return 0;
	if (err->code == REMIT_E_PROTOCOL)
		return -1;
	cell_fail(&s->cell, err);
	return 0;
}

static int
recv_between_cells(struct session *s, const struct frame *f,
		   struct remit_error *err)
{
	if (s->cell.arrival != CELL_ABSENT)
		return recv_cell_part(s, f, err);
	link_next_cell(&s->client);
	if (may_come_late(f))
		return 0;
	if (s->branch)
		return fail(err, REMIT_E_PROTOCOL,
			    "frame \"%s\" while the session is copied",
			    frame_rules[f->type].name);
	if (f->type != FRAME_START && find_request(f->type, s->state)) {
		post_request(s, f);
		return 0;
	}
	return recv_cell_part(s, f, err);
}

static int
recv_client_frame(struct session *s, const struct frame *f,
		  struct remit_error *err)
{
	bool complete = s->cell.arrival == CELL_COMPLETE;

	if (s->state == SESSION_FILING)
		return recv_while_filing(s, f, err);
	if (s->state == SESSION_IDLE)
		return recv_between_cells(s, f, err);
	/* The frame was sent for the previous job of this connection. */
	if (s->follows_another && may_come_late(f))
		return 0;
	s->follows_another = false;
	if ((complete && !may_come_late(f)) ||
	    (session_has_cells(s) && !complete && f->type != FRAME_INTERRUPT))
		return fail(err, REMIT_E_PROTOCOL, "frame \"%s\" after start",
			    frame_rules[f->type].name);
	if (f->type == FRAME_POLICY)
		return recv_policy(s, f, err);
	if (f->type != FRAME_STATUS && ensure_policy(s, err) < 0)
		return -1;
	if (!find_request(f->type, s->state))
		return recv_job_part(s, f, err);
	post_request(s, f);
	return 0;
}

bool
session_client_stays(const struct session *s)
{
	/* Bytes after the start belong to no other job. */
	return s->options & SESSION_OPTION_STAYS &&
	       s->cell.arrival == CELL_COMPLETE &&
	       s->client.parsed == s->client.in.len &&
	       s->cell.error.code != REMIT_E_PROTOCOL;
}

/* A broken protocol ends the whole session. Too much input ends only its
   cell. */
static void
fail_client(struct session *s, const struct remit_error *err)
{
	bool rests = session_is_between_cells(s);

	if (s->life != LIFE_RUN && (err->code == REMIT_E_PROTOCOL || rests))
		s->life = LIFE_BROKEN;
	session_fail(s, err);
}

/* Every release understands the status, and a result of protocol 0. */
static void
refuse_protocol(struct session *s, unsigned protocol)
{
	struct remit_error err;
	struct frame f;

	if (link_next(&s->client, &f, &err) == 0 && f.type == FRAME_STATUS &&
	    s->state == SESSION_READING) {
		s->client.protocol = (uint8_t)protocol;
		post_request(s, &f);
		return;
	}
	s->client.protocol = 0;
	fail_refused(&err, "",
		     "Install the same release of both, and restart processes "
		     "of the old one.",
		     "this keeper is Remit %s (protocol %d), and the client is "
		     "of another release (protocol %u)",
		     REMIT_VERSION, FRAME_PROTOCOL, protocol);
	/* Read nothing more from this client. */
	s->options &= ~(unsigned)SESSION_OPTION_STAYS;
	if (s->life != LIFE_RUN)
		s->life = LIFE_BROKEN;
	session_fail(s, &err);
}

void
session_read_frames(struct session *s)
{
	struct remit_error err;
	unsigned protocol;
	struct frame f;

	/* Stop when sending an answer shows that the client is gone. */
	while (session_state_reads(s->state) && !s->client_gone &&
	       !s->queue.events) {
		if (link_is_foreign(&s->client, &protocol)) {
			refuse_protocol(s, protocol);
			return;
		}
		if (link_next(&s->client, &f, &err) < 0 ||
		    (f.type != FRAME_NONE &&
		     recv_client_frame(s, &f, &err) < 0)) {
			fail_client(s, &err);
			return;
		}
		if (f.type == FRAME_NONE)
			return;
	}
}

void
session_do_request(struct session *s)
{
	const struct frame *f = &s->queue.request;
	const struct request *r = find_request(f->type, s->state);
	struct remit_error err;

	if (s->state == SESSION_FILING)
		session_file_complete(s);
	else if (r && r->handle(s, f, &err) < 0)
		fail_client(s, &err);
}

void
session_on_client(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct remit_error err;

	if (events & EPOLLOUT) {
		session_flush_client(s);
		session_post(s, SESSION_SENT);
		if (s->state == SESSION_EXPORTING && !s->client_gone)
			return;
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (s->state >= SESSION_EXPORTING || link_fill(&s->client, &err) < 0 ||
	    s->client.ended) {
		s->client_gone = true;
		loop_remove(&s->keeper->loop, &s->on_client);
		session_post(s, SESSION_LEFT);
		return;
	}
	session_read_frames(s);
}
