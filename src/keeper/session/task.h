/*
 * task: what the runner in the jail needs besides the code, as records.
 */
#ifndef REMIT_TASK_H
#define REMIT_TASK_H

#include "base/buf.h"
#include "policy/plan/plan.h"

struct task_job {
	const char *name;
	const struct list *argv;
	size_t code_len;
	/* Of a cell. */
	bool interactive;	/* somebody types it */
	const char *context;	/* its namespace, or NULL */
	bool fresh;		/* which is made anew */
	const struct list *env; /* that it adds, or NULL */
	bool stirred;		/* the one before may have left a SIGINT */
};

enum task_kind {
	TASK_COLD,
	TASK_WARM,    /* the zygote has set up the interpreter */
	TASK_WARM_UP, /* warm, and there is time to warm up */
};

/* What all jobs of a plan have in common, and what a job adds. `place` is the
   directory of a bare jail (jail/mount/workspace.h), or NULL. A warm task for a
   plan with packages has their place on the path, and the modules to import. */
int task_write(struct buf *out, const struct plan *plan, enum task_kind kind,
	       const char *place, struct remit_error *err) must_check;
/* The environment of jobs whose policy says nothing about it. */
int task_environment(struct list *out, const struct plan *plan,
		     struct remit_error *err) must_check;
int task_write_job(struct buf *out, const struct task_job *job,
		   struct remit_error *err) must_check;
/* The code is looked at inside, and let through or not, before it runs. */
bool task_is_checked(const struct plan *plan);

#endif
