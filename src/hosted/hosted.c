#include "hosted/hosted.h"

#include <string.h>
#include <unistd.h>

#include "hosted/hosted_part.h"

/* ---- the queue ---- */

/* Called with the lock held. */
static int
check_queue(const struct hosted *r, const struct task *t,
	    struct remit_error *err)
{
	if (r->over)
		return fail(err, REMIT_E_GONE, "this session has ended");
	if (r->queued >= HOSTED_QUEUE_MAX && !t->is_soon)
		return fail(err, REMIT_E_BUSY,
			    "too many cells are waiting for this session "
			    "(limit %d)",
			    HOSTED_QUEUE_MAX);
	return 0;
}

/* Called with the lock held. */
static void
queue_add(struct hosted *r, struct task *t)
{
	struct task **at = t->is_soon ? &r->first : r->last;

	t->next = *at;
	*at = t;
	if (!t->next)
		r->last = &t->next;
	r->queued++;
}

/* Called with the lock held. */
static void
interrupt_current(struct hosted *r)
{
	uint64_t one = 1;

	/* The descriptor works once per cell, even for a cell that has not
	   begun yet; remit_session_interrupt() works each time. */
	if (!r->current->cancelled) {
		r->current->cancelled = true;
		if (write(r->wake, &one, sizeof(one)) < 0)
			return; /* cannot happen: the counter is never full */
	} else if (r->session) {
		remit_session_interrupt(r->session);
	}
	pthread_cond_broadcast(&r->changed); /* wakes a wait for an answer */
}

int
hosted_queue(struct hosted *r, const struct task *given, uint64_t *number,
	     struct remit_error *err)
{
	struct task *t = malloc(sizeof(*t));
	int failed;

	if (!t)
		return fail_memory(err, "task");
	*t = *given;
	pthread_mutex_lock(&r->table->lock);
	failed = check_queue(r, t, err);
	if (!failed) {
		t->number = ++r->numbers;
		if (number)
			*number = t->number;
		queue_add(r, t);
		if (t->is_soon && r->current)
			interrupt_current(r);
		/* No task may follow the last one. */
		r->over |= t->kind == TASK_CLOSE;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->table->lock);
	if (failed)
		free(t);
	return failed;
}

/* Queues the first task of a new hosted session and starts its worker. */
static int
hosted_begin(struct hosted *r, const struct task *first,
	     struct hosted_loan loan, struct hosted **out,
	     struct remit_error *err)
{
	struct hosted_loan none = { 0 };

	r->opt.loan = loan;
	/* Set before the worker starts: an event may come before this
	   returns. */
	*out = r;
	if (hosted_queue(r, first, NULL, err) == 0) {
		if (hosted_start_worker(r, err) == 0)
			return 0;
		free(r->first);
	}
	r->opt.loan = none; /* failed: the caller keeps it */
	hosted_table_remove(r);
	hosted_unref(r);
	*out = NULL;
	return -1;
}

int
hosted_open(struct hosted_table *table, const struct hosted_options *opt,
	    const struct hosted_events *ev, void *user, struct hosted **out,
	    struct remit_error *err)
{
	struct task t = { .kind = TASK_OPEN, .ev = ev, .user = user };
	struct hosted *r;

	if (hosted_table_add(table, opt, false, &r, err) < 0)
		return -1;
	return hosted_begin(r, &t, opt->loan, out, err);
}

int
hosted_run(struct hosted_table *table, const struct hosted_options *opt,
	   const struct hosted_job *job, const struct hosted_events *ev,
	   void *user, struct hosted **out, struct remit_error *err)
{
	struct task t = {
		.kind = TASK_RUN, .job = *job, .ev = ev, .user = user
	};
	struct hosted *r;

	if (hosted_table_add(table, opt, true, &r, err) < 0)
		return -1;
	return hosted_begin(r, &t, opt->loan, out, err);
}

int
hosted_cell(struct hosted *r, const struct hosted_job *job,
	    const struct hosted_events *ev, void *user, uint64_t *number,
	    struct remit_error *err)
{
	struct task t = {
		.kind = TASK_CELL, .job = *job, .ev = ev, .user = user
	};

	return hosted_queue(r, &t, number, err);
}

int
hosted_file(struct hosted *r, const struct remit_file_task *task,
	    struct hosted_loan loan, const struct hosted_events *ev, void *user,
	    struct remit_error *err)
{
	struct task t = {
		.kind = TASK_FILE,
		.file = *task,
		.job = { .loan = loan },
		.ev = ev,
		.user = user,
	};

	return hosted_queue(r, &t, NULL, err);
}

int
hosted_visit(struct hosted *r, bool soon, const struct hosted_events *ev,
	     void *user, struct remit_error *err)
{
	struct task t = {
		.kind = TASK_VISIT, .is_soon = soon, .ev = ev, .user = user
	};

	return hosted_queue(r, &t, NULL, err);
}

int
hosted_reset(struct hosted *r, const struct hosted_events *ev, void *user,
	     struct remit_error *err)
{
	struct task t = { .kind = TASK_RESET, .ev = ev, .user = user };

	return hosted_queue(r, &t, NULL, err);
}

int
hosted_close(struct hosted *r, const struct hosted_events *ev, void *user,
	     struct remit_error *err)
{
	struct task t = { .kind = TASK_CLOSE, .ev = ev, .user = user };

	return hosted_queue(r, &t, NULL, err);
}

int
hosted_fork(struct hosted *r, const struct hosted_events *ev, void *user,
	    struct hosted **branch, struct remit_error *err)
{
	struct task t = { .kind = TASK_FORK, .ev = ev, .user = user };
	struct hosted_options opt = r->opt;

	opt.owner = r->owner;
	opt.loan = (struct hosted_loan){ 0 };
	if (hosted_table_add(r->table, &opt, false, &t.branch, err) < 0)
		return -1;
	/* The names of the branch's tools are lent to the parent. */
	t.branch->parent = hosted_ref(r);
	*branch = t.branch;
	hosted_ref(t.branch); /* for the task */
	if (hosted_queue(r, &t, NULL, err) == 0)
		return 0;
	hosted_table_remove(t.branch);
	hosted_unref(t.branch);
	hosted_unref(t.branch);
	*branch = NULL;
	return -1;
}

/* ---- interrupts and the end ---- */

void
hosted_interrupt(struct hosted *r)
{
	pthread_mutex_lock(&r->table->lock);
	if (r->current)
		interrupt_current(r);
	else if (r->is_run && r->first)
		r->first->cancelled = true; /* not begun yet */
	pthread_mutex_unlock(&r->table->lock);
}

void
hosted_cancel(struct hosted *r, uint64_t number)
{
	struct task *t;

	pthread_mutex_lock(&r->table->lock);
	for (t = r->first; t && t->number != number; t = t->next)
		;
	if (t)
		t->cancelled = true;
	else if (r->current && r->current->number == number)
		interrupt_current(r);
	pthread_mutex_unlock(&r->table->lock);
}

/* Opening a session cannot be interrupted, and may take as long as installing
   packages. Until it is done the session keeps its place: otherwise a client
   that opens sessions and disconnects could have any number of them. The worker
   removes it. Called with the lock held. */
static bool
keeps_place(const struct hosted *r)
{
	return r->current && r->current->kind == TASK_OPEN &&
	       !r->table->closing;
}

void
hosted_drop(struct hosted *r)
{
	bool keeps;

	pthread_mutex_lock(&r->table->lock);
	keeps = keeps_place(r);
	r->dropped = true;
	r->expires_us = 0;
	r->over = true;
	r->state = HOSTED_ENDED;
	for (struct task *t = r->first; t; t = t->next)
		t->cancelled = true;
	/* Killed before the interrupt, which a running cell could still
	   handle. */
	if (r->session)
		remit_session_kill(r->session);
	if (r->current)
		interrupt_current(r);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->table->lock);
	if (!keeps)
		hosted_table_remove(r);
}
