#include "keeper/pool/worker.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/deadline.h"
#include "jail/linux_abi.h"
#include "keeper/keeper.h"
#include "keeper/pool/branch.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/watch.h"
#include "keeper/pool/worker_part.h"
#include "keeper/pool/zygote_server.h"
#include "keeper/session/session.h"

static void
stop_watching(struct worker *i)
{
	struct source *all[] = { &i->on_channel, &i->on_out, &i->on_err,
				 &i->on_helper, &i->on_lifeline };
	/* While it has branches, its pid 1 and its listener still report about
	   them. */
	size_t count = ARRAY_LEN(all) - (i->branches > 0);

	for (size_t n = 0; n < count; n++)
		loop_remove(&i->keeper->loop, all[n]);
	loop_set_timer(&i->keeper->loop, &i->deadline_timer, 0);
	if (!i->branches)
		watch_stop(i);
}

void
worker_free(struct worker *i)
{
	stop_watching(i);
	cpu_share_leave(&i->keeper->cpu_shares, &i->cpu_share);
	jail_free(&i->jail);
	proxy_free(&i->proxy);
	for (size_t n = 0; n < i->installed_count; n++)
		package_layer_free(&i->installed[n]);
	own_fd_close(&i->in);
	own_fd_close(&i->helper_fd);
	pool_unref(i->pool);
	free(i);
}

/* The code that was being copied is about to die. */
static void
lose_fork(struct worker *i)
{
	struct worker *branch = i->forking;
	struct remit_error err;

	i->forking = NULL;
	if (branch->state >= WORKER_IN_USE)
		return;
	fail(&err, REMIT_E_GONE, "the session ended while it was copied");
	worker_failed(branch, &err);
}

/* Kills only the code, which is one process: all branches would die with pid
   1. */
static void
kill_run(struct worker *i)
{
	if (i->jail.run_pidfd >= 0)
		sys_pidfd_kill(i->jail.run_pidfd, SIGKILL);
	/* Report the end from the loop: the caller does not expect it during
	   this call. */
	if (i->run_ended)
		loop_set_timer(&i->keeper->loop, &i->deadline_timer,
			       loop_now_us());
}

/* Reports to its session that the code is dead, although pid 1 is alive. */
static void
report_run_end(struct worker *i)
{
	i->last_end = i->end;
	if (i->session)
		session_post(i->session, SESSION_JAIL_DEAD);
}

void
worker_remove_branch(struct worker *i, const struct worker *branch)
{
	if (i->forking == branch)
		i->forking = NULL;
	i->branches--;
	if (!i->branches && i->state == WORKER_DYING)
		jail_kill(&i->jail);
}

void
worker_kill(struct worker *i)
{
	if (i->state == WORKER_DYING)
		return;
	if (i->in_pool)
		pool_remove_worker(i->pool, i);
	if (i->state == WORKER_SPENT)
		stop_watching(i);
	i->state = WORKER_DYING;
	cpu_share_leave(&i->keeper->cpu_shares, &i->cpu_share);
	loop_set_timer(&i->keeper->loop, &i->deadline_timer, 0);
	if (i->forking)
		lose_fork(i);
	if (i->parent)
		branch_end_helper(i);
	if (i->branches) {
		kill_run(i);
		return;
	}
	jail_kill(&i->jail);
	/* No process was started, so no exit will be reported. */
	if (!i->jail.init_pid)
		keeper_bury_worker(i->keeper, i);
}

void
worker_release(struct worker *i)
{
	/* A single process that has reported its end is harmless until it is
	   killed. Killing takes longer than many runs, so do it later. */
	bool can_wait = i->state == WORKER_IN_USE && i->session &&
			i->session->cell.claim.has_exit_code &&
			!i->pool->plan.limits.many_processes &&
			!i->jail.unjailed && !i->proxy.pid;

	i->session = NULL;
	if (can_wait) {
		i->state = WORKER_SPENT;
		keeper_refill_soon(i->keeper);
	} else {
		stop_watching(i);
		worker_kill(i);
	}
}

void
worker_failed(struct worker *i, const struct remit_error *err)
{
	if (i->state == WORKER_DYING)
		return;
	if (i->session) {
		session_fail(i->session, err);
		return;
	}
	stop_watching(i);
	worker_kill(i);
	pool_worker_failed(i->pool, err);
}

bool
worker_is_importing(const struct worker *i)
{
	return i->state == WORKER_WARMING && !i->warmed_up && !i->parent &&
	       pool_imports_inside(i->pool);
}

void
worker_fail_import(const struct worker *i, struct remit_error *err)
{
	pool_fail_import(i->pool, "the interpreter died while it imported",
			 err);
}

/* Tolerate one slow import: the machine may have been overloaded. A second one
   is the modules' fault. */
static void
fail_late_import(struct worker *i, struct remit_error *err)
{
	char why[64];

	deadline_missed(err, DEADLINE_IMPORT);
	if (!i->pool->late_imports++)
		return;
	snprintf(why, sizeof(why),
		 "importing took longer than %g s (deadline \"import\"):",
		 (double)deadline_us(DEADLINE_IMPORT) / 1e6);
	pool_fail_import(i->pool, why, err);
}

/* Code that does not fork on request is not trusted any more: its session loses
   its jail. */
static void
fail_late_branch(struct worker *i)
{
	struct worker *parent = i->parent;
	bool hangs = parent->forking == i;
	struct remit_error err;

	deadline_missed(&err, i->state == WORKER_BUILDING ? DEADLINE_START
							  : DEADLINE_COPY);
	parent->forking = NULL;
	worker_failed(i, &err);
	if (hangs)
		worker_failed(parent, &err);
}

void
worker_on_deadline(void *owner)
{
	struct worker *i = owner;
	struct remit_error err;

	if (i->state == WORKER_DYING) {
		report_run_end(i);
		return;
	}
	if (i->parent) {
		fail_late_branch(i);
		return;
	}
	if (worker_is_importing(i))
		fail_late_import(i, &err);
	else
		deadline_missed(&err, DEADLINE_START);
	worker_failed(i, &err);
}

/* ---- the end ---- */

static void
end_early(struct worker *i, const struct exit_report *end)
{
	struct remit_error err;

	if (WIFSIGNALED(end->wait_status))
		fail(&err, REMIT_E_INTERNAL,
		     "the interpreter was killed by signal %d before the "
		     "program began",
		     WTERMSIG(end->wait_status));
	else
		fail(&err, REMIT_E_INTERNAL,
		     "the interpreter ended before the program began (exit "
		     "code %d)",
		     WEXITSTATUS(end->wait_status));
	if (worker_is_importing(i))
		worker_fail_import(i, &err);
	worker_failed(i, &err);
}

/* Handles the end of a worker without a session. A spent worker may exit by
   itself: that must not count as a failure of the pool. */
static void
end_without_session(struct worker *i, const struct exit_report *end)
{
	if (i->state == WORKER_SPENT)
		worker_kill(i);
	else if (i->state != WORKER_DYING)
		end_early(i, end);
}

/* Without its proxy a worker has no network. The program must not continue as
   if it were connected. A worker that is dying already ignores this error. */
static void
fail_lost_proxy(struct worker *i)
{
	struct remit_error err;

	fail(&err, REMIT_E_INTERNAL, "the network proxy died");
	worker_failed(i, &err);
}

void
worker_run_ended(struct worker *i, const struct exit_report *end)
{
	i->run_ended = true;
	i->end = *end;
	if (i->state == WORKER_DYING && i->branches)
		report_run_end(i);
	else if (i->session)
		session_post(i->session, SESSION_CODE_ENDED);
	else
		end_without_session(i, end);
}

bool
worker_reaped(struct worker *i, pid_t pid, const struct exit_report *end)
{
	if (proxy_reaped(&i->proxy, pid)) {
		fail_lost_proxy(i);
		return true;
	}
	switch (jail_reaped(&i->jail, pid)) {
	case JAIL_NOT_MINE:
		return false;
	case JAIL_RUN_DEAD:
		/* The pool may have lost its zygote meanwhile. */
		if (i->pool->zygote_server)
			zygote_server_note_end(i->pool->zygote_server,
					       end->wait_status);
		worker_run_ended(i, end);
		return true;
	case JAIL_INIT_DEAD:
		worker_read_last_frames(i);
		i->last_end = *end;
		if (i->session)
			session_post(i->session, SESSION_JAIL_DEAD);
		else
			end_without_session(i, end);
		keeper_bury_worker(i->keeper, i);
		return true;
	}
	return false;
}
