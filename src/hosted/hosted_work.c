/*
 * hosted_work: the worker thread of a hosted session. It runs the queued tasks
 * one after the other and blocks in libremit, so that the server does not have
 * to.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "client/files/artifacts.h"
#include "client/result_view.h"
#include "hosted/hosted_part.h"
#include "hosted/snapshot/copy.h"

/* JSON from a program may be nested 2048 levels deep. Each level is a call with
   about 300 bytes of stack, several times more with sanitizers. Pages that are
   not touched take no memory. */
#define WORKER_STACK ((size_t)4 * 1024 * 1024)

/* The hosted session of this worker thread. A branch uses the tools of its
   parent, so the tool alone does not identify the calling session. */
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
		remit_tool_fail(call, "tool calls cannot be answered here");
		return;
	}
	/* The call may be answered and freed before the event returns. */
	snprintf(name, sizeof(name), "%s", remit_tool_call_name(call));
	if (hosted_wait_call(current_hosted, call, id) < 0)
		remit_tool_fail(call, "the server is out of memory");
	else
		t->ev->call(t->user, id, name, arguments_json, len);
}

/* ---- turns ---- */

/* Whether the task occupies a place in the keeper while it runs. */
static bool
needs_turn(const struct task *t)
{
	return t->kind == TASK_OPEN || t->kind == TASK_RUN ||
	       t->kind == TASK_CELL || t->kind == TASK_RESET;
}

/* Returns false if the task was cancelled while it waited. */
static bool
wait_for_turn(struct hosted *r, const struct task *t)
{
	struct hosted_table *table = r->table;
	bool has_turn;

	pthread_mutex_lock(&table->lock);
	/* The memory of a session is charged as long as it is open. */
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

/* Called when the keeper is done, before the result is sent: a slow client must
   not occupy a place, nor the memory of a jail that has ended. The memory of
   the result stays charged to the run until it is sent. */
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

/* While a result is converted to JSON and sent, it takes up to this many times
   the memory of its output: a control character becomes six bytes. Displays are
   JSON already and are copied once, as files are. */
#define OUTPUT_FACTOR 8
#define COPY_FACTOR   2

/* Waits until there is memory for a result, and charges it to the hosted
   session until release_result(). A run that waits here stays in the table and
   counts against its owner's limits, so the number of waiting results is
   bounded. Returns -1 if the result is larger than the owner's share. */
static int
reserve_result(struct hosted *r, uint64_t bytes, struct remit_error *err)
{
	struct hosted_table *table = r->table;
	uint64_t most = tenants_owner_max(&table->tenants, TENANT_RESULTS);

	if (bytes > most && !table->is_lone)
		return fail_refused(
			err, "",
			"Make the program write less, or start the server with "
			"a larger --max-result-bytes.",
			"the result needs %llu MiB of memory; the limit of "
			"this server for the results of one key is %llu MiB",
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

/* Reduces the charge for the result to `bytes`. */
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

/* Returns -1 if the run could not be recorded by the audit. */
static int
may_run(const struct hosted *r, struct remit_error *err)
{
	const struct hosted_audit *a = &r->table->audit;

	return a->check ? a->check(a->user, err) : 0;
}

/* The outcome of a program. */
struct outcome {
	struct remit_job job;
	struct remit_result *res; /* NULL: `err` is set */
	struct remit_error err;
};

/* Called before the hosted session leaves the table. A result that is too large
   to send is replaced by an error; the run is recorded in any case. */
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

/* Records the run, then reports its result. */
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

/* Returns false if it was dropped meanwhile. */
static bool
set_session(struct hosted *r, struct remit_session *s)
{
	bool over;

	pthread_mutex_lock(&r->table->lock);
	r->session = s;
	snprintf(r->session_id, sizeof(r->session_id), "%s",
		 remit_session_id(s));
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
	hosted_commands_begin(r);
	hosted_watches_begin(r);
	hosted_ports_begin(r);
	report_result(t, NULL, NULL);
}

/* Removes the paths on the host from the result: clients download files by the
   id of the hosted session. */
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

/* A session whose jail was killed cannot run another cell. */
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

/* The memory to reserve for an answer, whose length is known only
   afterwards. */
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

	/* A longer file is read in parts. */
	if (t->file.op == REMIT_FILE_READ)
		t->file.length = bytes;
	failed = reserve_result(r, COPY_FACTOR * bytes, &err);
	set_state(r, HOSTED_BUSY);
	if (!failed)
		failed =
			remit_session_file(r->session, &t->file, &answer, &err);
	shrink_result(r, failed ? 0 : number_mul(answer->len, COPY_FACTOR));
	/* Refused: the jail no longer exists. */
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
do_visit(struct hosted *r, struct task *t)
{
	uint64_t most = tenants_owner_max(&r->table->tenants, TENANT_RESULTS);
	struct remit_error err;
	bool ended;
	int failed;

	failed = reserve_result(
		r, SNAPSHOT_COPY_BYTES < most ? SNAPSHOT_COPY_BYTES : most,
		&err);
	set_state(r, HOSTED_BUSY);
	if (!failed)
		failed = t->ev->visit(t->user, r->session, &err);
	ended = failed && err.code == REMIT_E_GONE;
	set_state(r, ended ? HOSTED_ENDED : HOSTED_IDLE);
	release_result(r);
	report_result(t, NULL, failed ? &err : NULL);
}

static void
do_reset(struct hosted *r, struct task *t)
{
	struct remit_error err;
	int failed;

	set_state(r, HOSTED_OPENING);
	hosted_commands_end(r);
	hosted_watches_end(r);
	hosted_ports_end(r);
	failed = remit_session_reset(r->session, &err);
	end_turn(r);
	if (!failed) {
		hosted_commands_begin(r);
		hosted_watches_begin(r);
		hosted_ports_begin(r);
	}
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
	/* Before its worker, which is the only user of the session then. */
	if (!failed)
		hosted_watches_begin(branch);
	if (!failed)
		failed = hosted_start_worker(branch, &err);
	if (failed) {
		hosted_drop(branch);
		hosted_watches_end(branch);
		remit_session_drop(detach_session(branch));
		hosted_table_release_session(branch);
	}
	report_result(t, NULL, failed ? &err : NULL);
}

static void
do_close(struct hosted *r, struct task *t)
{
	/* Recorded as a run without code, since files are exported. */
	struct outcome o = { .job = { .code = "" } };

	hosted_commands_end(r);
	hosted_watches_end(r);
	hosted_ports_end(r);
	if (remit_session_close(detach_session(r), &o.res, &o.err) < 0)
		o.res = NULL;
	admit_result(r, &o);
	hosted_table_release_session(r);
	hosted_drop(r);
	keep_artifacts(r, o.res);
	report_run(r, t, &o);
}

static void (*const task_handlers[])(struct hosted *r, struct task *t) = {
	[TASK_OPEN] = do_open, [TASK_RUN] = do_run,	[TASK_CELL] = do_cell,
	[TASK_FILE] = do_file, [TASK_VISIT] = do_visit, [TASK_RESET] = do_reset,
	[TASK_FORK] = do_fork, [TASK_CLOSE] = do_close,
};

static bool
needs_session(const struct task *t)
{
	return t->kind != TASK_OPEN && t->kind != TASK_RUN;
}

/* Fails a task that was cancelled before it began, or that needs a session that
   no longer exists. */
static void
refuse_task(struct hosted *r, const struct task *t)
{
	struct remit_error err;

	if (t->branch)
		hosted_drop(t->branch);
	if (hosted_get_view(r).state == HOSTED_ENDED)
		fail_gone(&err);
	else
		fail(&err, REMIT_E_GONE, "cancelled before it began");
	if (!needs_session(t))
		hosted_drop(r); /* no other task can follow */
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

/* Makes `t` the current task, and discards an interrupt that came too late for
   the previous one. Called with the lock held. */
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
		return; /* no interrupt was pending */
}

/* Returns the next task, or NULL if there will be none; *refused is set if the
   task must not begin. */
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

/* Called in the worker thread during remit_run() or remit_session_close(). */
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
	hosted_commands_end(r);
	hosted_watches_end(r);
	hosted_ports_end(r);
	remit_session_drop(detach_session(r));
	hosted_table_release_session(r);
	hosted_table_remove(r);
	hosted_unref(r);
	hosted_table_end_worker(table);
	return NULL;
}

int
hosted_start_worker(struct hosted *r, struct remit_error *err)
{
	hosted_ref(r);
	if (hosted_table_begin_thread(r->table, worker_main, r, WORKER_STACK,
				      err) == 0)
		return 0;
	hosted_unref(r);
	return -1;
}
