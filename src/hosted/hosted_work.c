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
static _Thread_local struct hosted *current_hosted;

/* ---- events ---- */

static void
task_on_output(void *user, enum remit_stream stream, const char *bytes,
	       size_t len)
{
	const struct task *t = user;

	t->ev->output(t->user, stream, bytes, len);
}

static void
task_on_display(void *user, const struct remit_display *d)
{
	const struct task *t = user;

	t->ev->display(t->user, d);
}

static void
task_on_progress(void *user, const char *line, size_t len)
{
	const struct task *t = user;

	t->ev->progress(t->user, line, len);
}

static enum remit_answer
task_on_question(void *user, const struct remit_question *q)
{
	return hosted_wait_answer(current_hosted, user, q);
}

static void
task_on_call(void *user, struct remit_tool_call *call,
	     const char *arguments_json, size_t len)
{
	const struct task *t = current_hosted->current;
	char id[HOSTED_ID_SIZE], name[65];

	(void)user;
	if (!t->ev->call) {
		remit_tool_fail(call, "nobody answers tool calls here");
		return;
	}
	/* The call may be answered, and gone, before the event returns. */
	snprintf(name, sizeof(name), "%s", remit_tool_call_name(call));
	if (hosted_wait_call(current_hosted, call, id) < 0)
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
wait_for_turn(struct hosted *r, const struct task *t)
{
	struct hosted_table *table = r->table;
	bool has_turn;

	pthread_mutex_lock(&table->lock);
	/* A session holds its memory as long as it is open. */
	tenants_wait(&table->tenants, &r->turn, r->tenant,
		     r->is_run ? hosted_weight(r) : 0, r);
	hosted_table_grant_turns(table);
	while (r->turn.is_waiting && !t->cancelled)
		pthread_cond_wait(&r->changed, &table->lock);
	has_turn = r->turn.is_running;
	if (!has_turn)
		tenants_end(&table->tenants, &r->turn);
	pthread_mutex_unlock(&table->lock);
	return has_turn;
}

/* Called as soon as the keeper is done, before a client is sent the result:
   slow clients must not occupy places, nor the memory of a jail that is gone.
   The memory of the result itself stays the run's until it is sent. */
static void
end_turn(struct hosted *r)
{
	struct tenants *ts = &r->table->tenants;

	pthread_mutex_lock(&r->table->lock);
	if (r->is_run && r->turn.is_running) {
		r->kept_bytes = r->opt.result_bytes < r->turn.memory_bytes
					? r->opt.result_bytes
					: r->turn.memory_bytes;
		tenants_charge(ts, r->tenant, TENANT_MEMORY, r->kept_bytes);
	}
	tenants_end(ts, &r->turn);
	hosted_table_grant_turns(r->table);
	pthread_mutex_unlock(&r->table->lock);
}

static void
release_kept(struct hosted *r)
{
	pthread_mutex_lock(&r->table->lock);
	tenants_refund(&r->table->tenants, r->tenant, TENANT_MEMORY,
		       r->kept_bytes);
	r->kept_bytes = 0;
	hosted_table_grant_turns(r->table);
	pthread_mutex_unlock(&r->table->lock);
}

/* ---- memory for results ---- */

/* While a result is made into JSON and sent, it takes up to this many times the
   memory of its output: control characters become six bytes. What was shown is
   JSON already, and is copied, as a file is. */
#define OUTPUT_FACTOR 8
#define COPY_FACTOR   2

/* Wait until the memory for a result is there. It is the hosted session's until
   release_result(). While it waits, a run is in the table still, so it counts
   for its owner: how many wait is bounded. Returns -1 if it is more than the
   owner may ever have. */
static int
reserve_result(struct hosted *r, uint64_t bytes, struct remit_error *err)
{
	struct hosted_table *table = r->table;
	uint64_t most = tenants_owner_max(&table->tenants, TENANT_RESULTS);

	if (bytes > most && !table->is_lone)
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
	pthread_mutex_lock(&table->lock);
	while (!tenants_fits(&table->tenants, r->tenant, TENANT_RESULTS,
			     bytes) &&
	       !table->closing)
		pthread_cond_wait(&table->result_ended, &table->lock);
	tenants_charge(&table->tenants, r->tenant, TENANT_RESULTS, bytes);
	r->sent_bytes = bytes;
	pthread_mutex_unlock(&table->lock);
	return 0;
}

/* No more than so much is needed from now on. */
static void
shrink_result(struct hosted *r, uint64_t bytes)
{
	pthread_mutex_lock(&r->table->lock);
	if (bytes < r->sent_bytes) {
		tenants_refund(&r->table->tenants, r->tenant, TENANT_RESULTS,
			       r->sent_bytes - bytes);
		r->sent_bytes = bytes;
		pthread_cond_broadcast(&r->table->result_ended);
	}
	pthread_mutex_unlock(&r->table->lock);
}

static void
release_result(struct hosted *r)
{
	shrink_result(r, 0);
}

void
hosted_result_made(uint64_t bytes)
{
	if (current_hosted)
		shrink_result(current_hosted, bytes);
}

/* ---- tasks ---- */

static void
report_result(const struct task *t, struct remit_result *res,
	      const struct remit_error *err)
{
	t->ev->result(t->user, res, err);
}

/* -1: what could not be written down is not run. */
static int
may_run(const struct hosted *r, struct remit_error *err)
{
	const struct hosted_audit *a = &r->table->audit;

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
	if (reserve_result(r, bytes, &o->err) == 0)
		return;
	remit_result_free(take_ptr(&o->res));
}

/* What was run is written down before it is told of. */
static void
report_run(struct hosted *r, const struct task *t, struct outcome *o)
{
	const struct hosted_audit *a = &r->table->audit;
	struct hosted_record rec = {
		.owner = r->owner,
		.job = &o->job,
		.res = o->res,
		.err = o->res ? NULL : &o->err,
	};
	struct remit_error unwritten;

	o->job.policy_json = r->opt.policy_json;
	if (a->add && a->add(a->user, &rec, &unwritten) < 0)
		report_result(t, NULL, &unwritten);
	else
		report_result(t, o->res, rec.err);
	release_result(r);
	remit_result_free(o->res);
}

static struct remit_job
make_job(const struct hosted *r, const struct task *t)
{
	struct remit_job job = t->job.job;

	job.on_output = t->ev->output ? task_on_output : NULL;
	job.on_display = t->ev->display ? task_on_display : NULL;
	job.on_progress = t->ev->progress ? task_on_progress : NULL;
	job.on_question = t->ev->question ? task_on_question : NULL;
	job.user = (void *)t;
	job.interrupt_fd = r->wake;
	job.tenant = r->table->divides_processors ? r->owner : NULL;
	return job;
}

static void
install_tools(const struct hosted *r)
{
	for (size_t i = 0; i < r->opt.tool_count; i++)
		r->opt.tools[i].call = task_on_call;
}

static void
set_state(struct hosted *r, enum hosted_state state)
{
	pthread_mutex_lock(&r->table->lock);
	if (!r->over)
		r->state = state;
	pthread_mutex_unlock(&r->table->lock);
}

/* False: it was dropped meanwhile. */
static bool
set_session(struct hosted *r, struct remit_session *s)
{
	bool over;

	pthread_mutex_lock(&r->table->lock);
	r->session = s;
	over = r->over && r->state == HOSTED_ENDED;
	if (!over)
		r->state = HOSTED_IDLE;
	pthread_mutex_unlock(&r->table->lock);
	return !over;
}

static struct remit_session *
detach_session(struct hosted *r)
{
	struct remit_session *s;

	pthread_mutex_lock(&r->table->lock);
	s = take_ptr(&r->session);
	pthread_mutex_unlock(&r->table->lock);
	return s;
}

static int
fail_gone(struct remit_error *err)
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
		.tenant = r->table->divides_processors ? r->owner : NULL,
	};
	struct remit_session *s;
	struct remit_error err;
	int failed;

	install_tools(r);
	failed = remit_session_open(r->table->remit, &opt, &s, &err);
	end_turn(r);
	if (failed < 0) {
		hosted_table_release_session(r);
		hosted_drop(r);
		hosted_table_remove(r);
		report_result(t, NULL, &err);
		return;
	}
	if (!set_session(r, s)) {
		fail_gone(&err);
		report_result(t, NULL, &err);
		return;
	}
	report_result(t, NULL, NULL);
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
	artifact_store_keep(r->table->artifacts, r->owner, r->id);
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
	struct outcome o = { .job = make_job(r, t) };

	install_tools(r);
	o.job.policy_json = r->opt.policy_json;
	o.job.artifacts_dir = r->directory;
	o.job.tools = r->opt.tools;
	o.job.tool_count = r->opt.tool_count;
	if (may_run(r, &o.err) < 0) {
		hosted_drop(r);
		report_result(t, NULL, &o.err);
		return;
	}
	set_state(r, HOSTED_BUSY);
	if (remit_run(r->table->remit, &o.job, &o.res, &o.err) < 0)
		o.res = NULL;
	end_turn(r);
	hosted_wait_end(r);
	admit_result(r, &o);
	hosted_drop(r);
	keep_artifacts(r, o.res);
	report_run(r, t, &o);
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
	struct outcome o = { .job = make_job(r, t) };
	enum hosted_state state;

	if (may_run(r, &o.err) < 0) {
		report_result(t, NULL, &o.err);
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
	report_run(r, t, &o);
}

/* How long an answer is, only the answer says. */
static uint64_t
file_bytes(const struct hosted *r, const struct remit_file_task *t)
{
	uint64_t most = tenants_owner_max(&r->table->tenants, TENANT_RESULTS);
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
	failed = reserve_result(r, COPY_FACTOR * bytes, &err);
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
	report_result(t, NULL, failed ? &err : NULL);
	release_result(r);
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
	report_result(t, NULL, failed ? &err : NULL);
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
		failed = fail_gone(&err);
	if (!failed)
		failed = hosted_start_worker(branch, &err);
	if (failed) {
		hosted_drop(branch);
		remit_session_drop(detach_session(branch));
		hosted_table_release_session(branch);
	}
	report_result(t, NULL, failed ? &err : NULL);
}

static void
do_close(struct hosted *r, struct task *t)
{
	/* Files leave: it is a program without code. */
	struct outcome o = { .job = { .code = "" } };

	if (remit_session_close(detach_session(r), &o.res, &o.err) < 0)
		o.res = NULL;
	admit_result(r, &o);
	hosted_table_release_session(r);
	hosted_drop(r);
	keep_artifacts(r, o.res);
	report_run(r, t, &o);
}

static void (*const task_handlers[])(struct hosted *r, struct task *t) = {
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
refuse_task(struct hosted *r, const struct task *t)
{
	struct remit_error err;

	if (t->branch)
		hosted_drop(t->branch);
	if (hosted_get_view(r).state == HOSTED_ENDED)
		fail_gone(&err);
	else
		fail(&err, REMIT_E_GONE, "it was cancelled before it began");
	if (!needs_session(t))
		hosted_drop(r); /* there is nothing else for it to do */
	report_result(t, NULL, &err);
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

	pthread_mutex_lock(&r->table->lock);
	while (!r->first && !r->over)
		pthread_cond_wait(&r->changed, &r->table->lock);
	t = r->first;
	if (t) {
		begin_task(r, t);
		*refused = t->cancelled || (needs_session(t) && !r->session);
	}
	pthread_mutex_unlock(&r->table->lock);
	return t;
}

static void
end_task(struct hosted *r)
{
	pthread_mutex_lock(&r->table->lock);
	r->current = NULL;
	pthread_mutex_unlock(&r->table->lock);
}

/* Called by the worker, in the middle of remit_run() or
   remit_session_close(). */
static bool
admits_artifact(void *user, const char *path, uint64_t size_bytes)
{
	const struct hosted *r = user;

	return artifact_store_reserve(r->table->artifacts, r->owner, r->id,
				      path, size_bytes);
}

static void *
worker_main(void *arg)
{
	struct hosted *r = arg;
	struct hosted_table *table = r->table;
	const struct artifacts_gate gate = { admits_artifact, r };
	struct task *t;
	bool refused;

	current_hosted = r;
	artifacts_use_gate(r->directory ? &gate : NULL);
	while ((t = next_task(r, &refused))) {
		if (refused) {
			refuse_task(r, t);
		} else {
			if (t->ev->begin)
				t->ev->begin(t->user, r);
			if (!needs_turn(t) || wait_for_turn(r, t))
				task_handlers[t->kind](r, t);
			else
				refuse_task(r, t);
		}
		/* Some tasks fail before they reach the keeper. */
		end_turn(r);
		release_kept(r);
		end_task(r);
		task_free(t);
	}
	remit_session_drop(detach_session(r));
	hosted_table_release_session(r);
	hosted_table_remove(r);
	hosted_unref(r);
	pthread_mutex_lock(&table->lock);
	table->workers--;
	/* Under the lock: whoever waits frees it. */
	pthread_cond_broadcast(&table->worker_ended);
	pthread_mutex_unlock(&table->lock);
	return NULL;
}

int
hosted_start_worker(struct hosted *r, struct remit_error *err)
{
	struct hosted_table *table = r->table;
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int failed;

	pthread_mutex_lock(&table->lock);
	table->workers++;
	refcount_inc(&r->refs);
	pthread_mutex_unlock(&table->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	/* Signals are for the server's own thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attr, worker_main, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		return 0;
	hosted_unref(r);
	pthread_mutex_lock(&table->lock);
	table->workers--;
	pthread_cond_broadcast(&table->worker_ended);
	pthread_mutex_unlock(&table->lock);
	errno = failed;
	return fail_sys(err, REMIT_E_BUSY, "a thread for the session");
}
