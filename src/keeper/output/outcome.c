#include "keeper/output/outcome.h"

#include <signal.h>
#include <sys/wait.h>

/* Returns the status if the kernel ended the code, or the keeper did because of
   a limit; otherwise STATUS_COUNT. */
static enum status
forced_status(const struct facts *f, bool killed)
{
	/* The kernel's kill for memory looks like any SIGKILL, and the deadline
	   may pass during the kill: check the cgroup first. */
	if (f->oom_kills && (killed || f->init_died))
		return STATUS_MEMORY_LIMIT;
	if (f->over_ceiling)
		return STATUS_OUTPUT_LIMIT;
	if (f->over_cpu)
		return STATUS_CPU_LIMIT;
	/* RLIMIT_CPU counts ticks, which differ from the exact time by a few
	   percent. */
	if (killed && !f->timed_out && f->cpu_limit_ms &&
	    f->cpu_us / 1000 >= f->cpu_limit_ms - f->cpu_limit_ms / 10)
		return STATUS_CPU_LIMIT;
	if (f->timed_out)
		return STATUS_TIMEOUT;
	return STATUS_COUNT;
}

/* The process has exited, or claims to be done and waits. */
static void
decide_by_exit(struct outcome *v, const struct facts *f, const struct claim *c)
{
	v->has_exit_code = true;
	v->exit_code_is_claim = !f->has_wait_status;
	v->exit_code =
		f->has_wait_status ? WEXITSTATUS(f->wait_status) : c->exit_code;
	v->status_is_claim = true;
	if (c->kind == CLAIM_OK && v->exit_code == 0)
		v->status = STATUS_OK;
	else if (c->kind == CLAIM_ERROR && v->exit_code == 1)
		v->status = STATUS_ERROR;
	else
		v->status = STATUS_EXIT;
	if (f->interrupted && v->status != STATUS_OK) {
		v->status = STATUS_INTERRUPTED;
		v->status_is_claim = false;
	}
}

void
outcome_decide(struct outcome *v, const struct facts *f, const struct claim *c)
{
	bool signaled = f->has_wait_status && WIFSIGNALED(f->wait_status);
	bool waits = !f->has_wait_status && !f->init_died && c->has_exit_code;
	enum status s;

	*v = (struct outcome){ .status = STATUS_KILLED };
	if (signaled)
		v->signal = WTERMSIG(f->wait_status);
	else if (!f->has_wait_status && !waits)
		v->signal = SIGKILL;
	if (c->kind == CLAIM_REJECTED) {
		*v = (struct outcome){ .status = STATUS_REJECTED,
				       .status_is_claim = true };
		return;
	}
	if (f->closed) {
		*v = (struct outcome){ .status = STATUS_OK };
		return;
	}
	s = forced_status(f, v->signal == SIGKILL);
	if (s != STATUS_COUNT) {
		v->status = s;
		if (f->has_wait_status && !signaled) {
			v->has_exit_code = true;
			v->exit_code = WEXITSTATUS(f->wait_status);
		}
		return;
	}
	if (f->checked_only) {
		*v = (struct outcome){ .status = STATUS_OK,
				       .status_is_claim = true };
		return;
	}
	if ((f->has_wait_status && !signaled) || waits)
		decide_by_exit(v, f, c);
	else if (f->interrupted)
		v->status = STATUS_INTERRUPTED;
}
