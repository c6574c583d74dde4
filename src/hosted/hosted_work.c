/*
 * hosted_work: the worker of a hosted session: takes what is queued, one after
 * the other, and waits for libremit in everybody's stead.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "client/files/artifacts.h"
#include "client/result_view.h"
#include "hosted/hosted_part.h"

/* JSON that code has made may be 2048 levels deep, and each of them is a call
   of 300 bytes; sanitizers make it several times as many. What is not used is
   not there. */
#define WORKER_STACK ((size_t)4 * 1024 * 1024)

/* The hosted session that this thread works for: a branch has the tools of its
   parent, so a tool cannot know whose call it is. */
static _Thread_local struct hosted *here;

/* ---- events ---- */

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	const struct task *t = user;

	t->ev->output(t->user, stream, bytes, len);
}

static void
on_display(void *user, const struct remit_display *d)
{
	const struct task *t = user;

	t->ev->display(t->user, d);
}

static void
on_progress(void *user, const char *line, size_t len)
{
	const struct task *t = user;

	t->ev->progress(t->user, line, len);
}

static enum remit_answer
on_question(void *user, const struct remit_question *q)
{
	return hosted_wait_answer(here, user, q);
}

static void
on_call(void *user, struct remit_tool_call *call, const char *arguments_json,
	size_t len)
{
	const struct task *t = here->current;
	char id[HOSTED_ID_SIZE], name[65];

	(void)user;
	if (!t->ev->call) {
		remit_tool_fail(call, "nobody answers tool calls here");
		return;
	}
	/* The call may be answered, and gone, before the event returns. */
	snprintf(name, sizeof(name), "%s", remit_tool_call_name(call));
	if (hosted_wait_call(here, call, id) < 0)
		remit_tool_fail(call, "the server is out of memory");
	else
		t->ev->call(t->user, id, name, arguments_json, len);
}

/* ---- turns ---- */

/* These occupy a place of the keeper while they are done. */
static bool
needs_turn(const struct task *t)
{
	return t->kind == TASK_OPEN || t->kind == TASK_RUN ||
	       t->kind == TASK_CELL || t->kind == TASK_RESET;
}

/* False: the task was cancelled while it waited. */
static bool
take_turn(struct hosted *r, const struct task *t)
{
	struct hosted_table *rs = r->all;
	bool has_turn;

	pthread_mutex_lock(&rs->lock);
	/* A session holds its memory as long as it is open. */
	tenants_wait(&rs->tenants, &r->turn, r->tenant,
		     r->is_run ? hosted_weight(r) : 0, r);
	hosted_table_grant_turns(rs);
	while (r->turn.is_waiting && !t->cancelled)
		pthread_cond_wait(&r->changed, &rs->lock);
	has_turn = r->turn.is_running;
	if (!has_turn)
		tenants_end(&rs->tenants, &r->turn);
	pthread_mutex_unlock(&rs->lock);
	return has_turn;
}

/* Called as soon as the keeper is done, before a client is sent the result:
   slow clients must not occupy places, nor the memory of a jail that is gone.
   The memory of the result itself stays the run's until it is sent. */
static void
end_turn(struct hosted *r)
{
	struct tenants *ts = &r->all->tenants;

	pthread_mutex_lock(&r->all->lock);
	if (r->is_run && r->turn.is_running) {
		r->kept_bytes = r->opt.result_bytes < r->turn.memory_bytes
					? r->opt.result_bytes
					: r->turn.memory_bytes;
		tenants_charge(ts, r->tenant, TENANT_MEMORY, r->kept_bytes);
	}
	tenants_end(ts, &r->turn);
	hosted_table_grant_turns(r->all);
	pthread_mutex_unlock(&r->all->lock);
}

static void
drop_kept(struct hosted *r)
{
	pthread_mutex_lock(&r->all->lock);
	tenants_refund(&r->all->tenants, r->tenant, TENANT_MEMORY,
		       r->kept_bytes);
	r->kept_bytes = 0;
	hosted_table_grant_turns(r->all);
	pthread_mutex_unlock(&r->all->lock);
}

/* ---- memory for results ---- */

/* While a result is made into JSON and sent, it takes up to this many times the
   memory of its output: control characters become six bytes. What was shown is
   JSON already, and is copied, as a file is. */
#define OUTPUT_FACTOR 8
#define COPY_FACTOR   2

/* Wait until the memory for a result is there. It is the hosted session's until
   end_result(). While it waits, a run is in the table still, so it counts for
   its owner: how many wait is bounded. Returns -1 if it is more than the owner
   may ever have. */
static int
begin_result(struct hosted *r, uint64_t bytes, struct remit_error *err)
{
	struct hosted_table *rs = r->all;
	uint64_t most = tenants_most(&rs->tenants, TENANT_RESULTS);

	if (bytes > most && !rs->is_lone)
		return fail_refused(err, "",
				    "Have the program write less, or start the "
				    "server with a larger --max-result-bytes.",
				    "the result needs %llu MiB of memory, and "
				    "this server has %llu MiB for the results "
				    "of one key",
				    (unsigned long long)(bytes >> 20),
				    (unsigned long long)(most >> 20));
	if (bytes > most)
		bytes = most;
	pthread_mutex_lock(&rs->lock);
	while (!tenants_fits(&rs->tenants, r->tenant, TENANT_RESULTS, bytes) &&
	       !rs->closing)
		pthread_cond_wait(&rs->result_ended, &rs->lock);
	tenants_charge(&rs->tenants, r->tenant, TENANT_RESULTS, bytes);
	r->sent_bytes = bytes;
	pthread_mutex_unlock(&rs->lock);
	return 0;
}

/* No more than so much is needed from now on. */
static void
shrink_result(struct hosted *r, uint64_t bytes)
{
	pthread_mutex_lock(&r->all->lock);
	if (bytes < r->sent_bytes) {
		tenants_refund(&r->all->tenants, r->tenant, TENANT_RESULTS,
			       r->sent_bytes - bytes);
		r->sent_bytes = bytes;
		pthread_cond_broadcast(&r->all->result_ended);
	}
	pthread_mutex_unlock(&r->all->lock);
}

static void
end_result(struct hosted *r)
{
	shrink_result(r, 0);
}

void
hosted_result_made(uint64_t bytes)
{
	if (here)
		shrink_result(here, bytes);
}

/* ---- tasks ---- */

static void
tell(const struct task *t, struct remit_result *res,
     const struct remit_error *err)
{
	t->ev->result(t->user, res, err);
}

/* -1: what could not be written down is not run. */
static int
may_run(const struct hosted *r, struct remit_error *err)
{
	const struct hosted_audit *a = &r->all->audit;

	return a->check ? a->check(a->user, err) : 0;
}

/* What the program has left. */
struct outcome {
	struct remit_job job;
	struct remit_result *res; /* NULL: see err */
	struct remit_error err;
};

/* Before the hosted session leaves the table. A result that is too long to be
   sent is none, and why is its error; what was run is written down in any case.
 */
static void
admit_result(struct hosted *r, struct outcome *o)
{
	uint64_t output = 0, shown = 0, bytes;

	if (!o->res)
		return;
	result_view_bytes(o->res, &output, &shown);
	bytes = number_add(number_mul(output, OUTPUT_FACTOR),
			   number_mul(shown, COPY_FACTOR));
	if (begin_result(r, bytes, &o->err) == 0)
		return;
	remit_result_free(take_ptr(&o->res));
}

/* What was run is written down before it is told of. */
static void
tell_run(struct hosted *r, const struct task *t, struct outcome *o)
{
	const struct hosted_audit *a = &r->all->audit;
	struct hosted_record rec = {
		.owner = r->owner,
		.job = &o->job,
		.res = o->res,
		.err = o->res ? NULL : &o->err,
	};
	struct remit_error unwritten;

	o->job.policy_json = r->opt.policy_json;
	if (a->add && a->add(a->user, &rec, &unwritten) < 0)
		tell(t, NULL, &unwritten);
	else
		tell(t, o->res, rec.err);
	end_result(r);
	remit_result_free(o->res);
}

static struct remit_job
job_of(const struct hosted *r, const struct task *t)
{
	struct remit_job job = t->job.job;

	job.on_output = t->ev->output ? on_output : NULL;
	job.on_display = t->ev->display ? on_display : NULL;
	job.on_progress = t->ev->progress ? on_progress : NULL;
	job.on_question = t->ev->question ? on_question : NULL;
	job.user = (void *)t;
	job.interrupt_fd = r->wake;
	job.tenant = r->all->divides_processors ? r->owner : NULL;
	return job;
}

static void
use_tools(const struct hosted *r)
{
	for (size_t i = 0; i < r->opt.tool_count; i++)
		r->opt.tools[i].call = on_call;
}

static void
set_state(struct hosted *r, enum hosted_state state)
{
	pthread_mutex_lock(&r->all->lock);
	if (!r->over)
		r->state = state;
	pthread_mutex_unlock(&r->all->lock);
}

/* False: it was dropped meanwhile. */
static bool
set_session(struct hosted *r, struct remit_session *s)
{
	bool over;

	pthread_mutex_lock(&r->all->lock);
	r->session = s;
	over = r->over && r->state == HOSTED_ENDED;
	if (!over)
		r->state = HOSTED_IDLE;
	pthread_mutex_unlock(&r->all->lock);
	return !over;
}

static struct remit_session *
take_session(struct hosted *r)
{
	struct remit_session *s;

	pthread_mutex_lock(&r->all->lock);
	s = take_ptr(&r->session);
	pthread_mutex_unlock(&r->all->lock);
	return s;
}

static int
gone(struct remit_error *err)
{
	return fail(err, REMIT_E_GONE, "this session has ended");
}

static void
do_open(struct hosted *r, struct task *t)
{
	struct remit_session_options opt = {
		.policy_json = r->opt.policy_json,
		.artifacts_dir = r->directory,
		.tools = r->opt.tools,
		.tool_count = r->opt.tool_count,
		.forkable = r->opt.forkable,
		.secrets = r->opt.secrets,
		.secret_count = r->opt.secret_count,
		.tenant = r->all->divides_processors ? r->owner : NULL,
	};
	struct remit_session *s;
	struct remit_error err;
	int failed;

	use_tools(r);
	failed = remit_session_open(r->all->remit, &opt, &s, &err);
	end_turn(r);
	if (failed < 0) {
		hosted_table_leave_session(r);
		hosted_drop(r);
		hosted_table_remove(r);
		tell(t, NULL, &err);
		return;
	}
	if (!set_session(r, s)) {
		gone(&err);
		tell(t, NULL, &err);
		return;
	}
	tell(t, NULL, NULL);
}

/* Where the files lie here is nobody's business; they are asked for by the id
   of the hosted session. */
static void
keep_artifacts(struct hosted *r, struct remit_result *res)
{
	json_t *list, *row;
	size_t i;

	if (!r->directory)
		return;
	artifact_store_keep(r->all->artifacts, r->owner, r->id);
	r->has_kept_artifacts = true;
	if (!res)
		return;
	list = json_object_get(result_view_document(res), "artifacts");
	json_array_foreach(list, i, row)
	{
		json_object_del(row, "host_path");
	}
}

static void
do_run(struct hosted *r, struct task *t)
{
	struct outcome o = { .job = job_of(r, t) };

	use_tools(r);
	o.job.policy_json = r->opt.policy_json;
	o.job.artifacts_dir = r->directory;
	o.job.tools = r->opt.tools;
	o.job.tool_count = r->opt.tool_count;
	if (may_run(r, &o.err) < 0) {
		hosted_drop(r);
		tell(t, NULL, &o.err);
		return;
	}
	set_state(r, HOSTED_BUSY);
	if (remit_run(r->all->remit, &o.job, &o.res, &o.err) < 0)
		o.res = NULL;
	end_turn(r);
	hosted_wait_end(r);
	admit_result(r, &o);
	hosted_drop(r);
	keep_artifacts(r, o.res);
	tell_run(r, t, &o);
}

/* A jail that was killed is not there for the next cell. */
static enum hosted_state
state_after(struct remit_result *res)
{
	const json_t *session =
		res ? json_object_get(result_view_document(res), "session")
		    : NULL;
	const char *state =
		json_string_value(json_object_get(session, "state"));

	return !state || !strcmp(state, "ended") ? HOSTED_ENDED : HOSTED_IDLE;
}

static void
do_cell(struct hosted *r, struct task *t)
{
	struct outcome o = { .job = job_of(r, t) };
	enum hosted_state state;

	if (may_run(r, &o.err) < 0) {
		tell(t, NULL, &o.err);
		return;
	}
	set_state(r, HOSTED_BUSY);
	if (remit_session_run(r->session, &o.job, &o.res, &o.err) < 0)
		o.res = NULL;
	end_turn(r);
	hosted_wait_end(r);
	state = state_after(o.res);
	admit_result(r, &o);
	set_state(r, state);
	tell_run(r, t, &o);
}

/* How long an answer is, only the answer says. */
static uint64_t
file_bytes(const struct hosted *r, const struct remit_file_task *t)
{
	uint64_t most = tenants_most(&r->all->tenants, TENANT_RESULTS);
	uint64_t bytes = REMIT_FILE_READ_MAX;

	if (t->op == REMIT_FILE_READ && t->length && t->length < bytes)
		bytes = t->length;
	return bytes > most / COPY_FACTOR ? most / COPY_FACTOR : bytes;
}

static void
do_file(struct hosted *r, struct task *t)
{
	struct remit_file_answer *answer = NULL;
	uint64_t bytes = file_bytes(r, &t->file);
	struct remit_error err;
	bool ended;
	int failed;

	/* What does not fit is read in parts. */
	if (t->file.op == REMIT_FILE_READ)
		t->file.length = bytes;
	failed = begin_result(r, COPY_FACTOR * bytes, &err);
	set_state(r, HOSTED_BUSY);
	if (!failed)
		failed =
			remit_session_file(r->session, &t->file, &answer, &err);
	shrink_result(r, failed ? 0 : number_mul(answer->len, COPY_FACTOR));
	/* Refused: there is no jail any more. */
	ended = failed &&
		(err.code == REMIT_E_GONE || err.code == REMIT_E_REFUSED);
	set_state(r, ended ? HOSTED_ENDED : HOSTED_IDLE);
	if (!failed)
		t->ev->file(t->user, answer);
	tell(t, NULL, failed ? &err : NULL);
	end_result(r);
	remit_file_answer_free(answer);
}

static void
do_reset(struct hosted *r, struct task *t)
{
	struct remit_error err;
	int failed;

	set_state(r, HOSTED_OPENING);
	failed = remit_session_reset(r->session, &err);
	end_turn(r);
	set_state(r, failed ? HOSTED_ENDED : HOSTED_IDLE);
	tell(t, NULL, failed ? &err : NULL);
}

static void
do_fork(struct hosted *r, struct task *t)
{
	struct hosted *branch = t->branch;
	struct remit_session *s = NULL;
	struct remit_error err;
	int failed =
		remit_session_fork(r->session, branch->directory, &s, &err);

	if (!failed && !set_session(branch, s))
		failed = gone(&err);
	if (!failed)
		failed = hosted_start_worker(branch, &err);
	if (failed) {
		hosted_drop(branch);
		remit_session_drop(take_session(branch));
		hosted_table_leave_session(branch);
	}
	tell(t, NULL, failed ? &err : NULL);
}

static void
do_close(struct hosted *r, struct task *t)
{
	/* Files leave: it is a program without code. */
	struct outcome o = { .job = { .code = "" } };

	if (remit_session_close(take_session(r), &o.res, &o.err) < 0)
		o.res = NULL;
	admit_result(r, &o);
	hosted_table_leave_session(r);
	hosted_drop(r);
	keep_artifacts(r, o.res);
	tell_run(r, t, &o);
}

static void (*const deeds[])(struct hosted *r, struct task *t) = {
	[TASK_OPEN] = do_open,	 [TASK_RUN] = do_run,	  [TASK_CELL] = do_cell,
	[TASK_FILE] = do_file,	 [TASK_RESET] = do_reset, [TASK_FORK] = do_fork,
	[TASK_CLOSE] = do_close,
};

static bool
needs_session(const struct task *t)
{
	return t->kind != TASK_OPEN && t->kind != TASK_RUN;
}

/* It was cancelled before it began, or there is no session for it. */
static void
refuse(struct hosted *r, const struct task *t)
{
	struct remit_error err;

	if (t->branch)
		hosted_drop(t->branch);
	if (hosted_look(r).state == HOSTED_ENDED)
		gone(&err);
	else
		fail(&err, REMIT_E_GONE, "it was cancelled before it began");
	if (!needs_session(t))
		hosted_drop(r); /* there is nothing else for it to do */
	tell(t, NULL, &err);
}

static void
task_free(struct task *t)
{
	if (t->job.loan.release)
		t->job.loan.release(t->job.loan.owner);
	hosted_unref(t->branch);
	free(t);
}

/* The lock is held. An interrupt of the last cell that came too late is over;
   from now on they are this one's. */
static void
begin_task(struct hosted *r, struct task *t)
{
	uint64_t old;

	r->first = t->next;
	if (!r->first)
		r->last = &r->first;
	r->queued--;
	r->cells += t->kind == TASK_CELL;
	r->current = t;
	if (read(r->wake, &old, sizeof(old)) < 0)
		return; /* there was none */
}

/* *refused: it is not to be begun. NULL: the room is over. */
static struct task *
next_task(struct hosted *r, bool *refused)
{
	struct task *t;

	pthread_mutex_lock(&r->all->lock);
	while (!r->first && !r->over)
		pthread_cond_wait(&r->changed, &r->all->lock);
	t = r->first;
	if (t) {
		begin_task(r, t);
		*refused = t->cancelled || (needs_session(t) && !r->session);
	}
	pthread_mutex_unlock(&r->all->lock);
	return t;
}

static void
end_task(struct hosted *r)
{
	pthread_mutex_lock(&r->all->lock);
	r->current = NULL;
	pthread_mutex_unlock(&r->all->lock);
}

/* Called by the worker, in the middle of remit_run() or
   remit_session_close(). */
static bool
admits_artifact(void *user, const char *path, uint64_t size_bytes)
{
	const struct hosted *r = user;

	return artifact_store_reserve(r->all->artifacts, r->owner, r->id, path,
				      size_bytes);
}

static void *
work(void *arg)
{
	struct hosted *r = arg;
	struct hosted_table *rs = r->all;
	const struct artifacts_gate gate = { admits_artifact, r };
	struct task *t;
	bool refused;

	here = r;
	artifacts_use_gate(r->directory ? &gate : NULL);
	while ((t = next_task(r, &refused))) {
		if (refused) {
			refuse(r, t);
		} else {
			if (t->ev->begin)
				t->ev->begin(t->user, r);
			if (!needs_turn(t) || take_turn(r, t))
				deeds[t->kind](r, t);
			else
				refuse(r, t);
		}
		/* Some tasks fail before they reach the keeper. */
		end_turn(r);
		drop_kept(r);
		end_task(r);
		task_free(t);
	}
	remit_session_drop(take_session(r));
	hosted_table_leave_session(r);
	hosted_table_remove(r);
	hosted_unref(r);
	pthread_mutex_lock(&rs->lock);
	rs->workers--;
	/* Under the lock: whoever waits frees it. */
	pthread_cond_broadcast(&rs->worker_ended);
	pthread_mutex_unlock(&rs->lock);
	return NULL;
}

int
hosted_start_worker(struct hosted *r, struct remit_error *err)
{
	struct hosted_table *rs = r->all;
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int failed;

	pthread_mutex_lock(&rs->lock);
	rs->workers++;
	refcount_inc(&r->refs);
	pthread_mutex_unlock(&rs->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	/* Signals are for the server's own thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attr, work, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		return 0;
	hosted_unref(r);
	pthread_mutex_lock(&rs->lock);
	rs->workers--;
	pthread_cond_broadcast(&rs->worker_ended);
	pthread_mutex_unlock(&rs->lock);
	errno = failed;
	return fail_sys(err, REMIT_E_BUSY, "a thread for the session");
}
