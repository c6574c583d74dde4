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
	uint64_t display_mode; /* enum display_mode */
	/* Only for cells. */
	bool interactive;	/* a person types it */
	const char *context;	/* its namespace, or NULL */
	bool fresh;		/* the namespace starts empty */
	const struct list *env; /* variables that it adds, or NULL */
	bool stirred; /* the previous cell may have left a SIGINT pending */
};

enum task_kind {
	TASK_COLD,
	TASK_WARM,    /* the zygote has set up the interpreter */
	TASK_WARM_UP, /* warm, with time to import and exercise modules ahead */
};

/* Write what all jobs of a plan have in common, and what one job adds. `place`
   is the directory of a bare jail (jail/mount/workspace.h), or NULL. A warm
   task for a plan with packages also names their directory, and the modules to
   import. */
int task_write(struct buf *out, const struct plan *plan, enum task_kind kind,
	       const char *place, struct remit_error *err) must_check;
/* Lists the default environment of a job. */
int task_environment(struct list *out, const struct plan *plan,
		     struct remit_error *err) must_check;
int task_write_job(struct buf *out, const struct task_job *job,
		   struct remit_error *err) must_check;
/* Returns true if the validator checks the code in the jail before it runs. */
bool task_is_checked(const struct plan *plan);

#endif
