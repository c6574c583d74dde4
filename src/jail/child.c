/*
 * jail_child: the first process of a jail. It builds the jail, then starts the
 * interpreter or waits for one that joins.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file/fd.h"
#include "jail/lock/lock.h"
#include "jail/part.h"

static void
child_report(int channel, uint32_t step, uint32_t detail)
{
	struct step_report r = {
		.step = step,
		.sys_errno = errno,
		.detail = detail,
	};

	/* If the keeper is gone, it does not need the report either. */
	if (step_send_report(channel, &r) < 0)
		_exit(1);
}

/* The last step before the interpreter. Returns only if it fails. */
static int
step_exec(const struct blueprint *b)
{
	/* Pass an empty environment: LD_ variables would take effect before the
	   lock-down. The runner sets the variables that the policy names. */
	char *const none[] = { NULL };

	if (b->probe) {
		struct lock_params params;
		struct step_report r;

		if (lock_params_read(&params, &r) < 0 ||
		    lock_down(&params, &r) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	if (!step_is_to_fail(STEP_EXEC))
		execve(b->plan->interpreter->real, b->argv, none);
	return -1;
}

static void __attribute__((noreturn))
child_exec_code(const struct blueprint *b)
{
	struct enter_ends ends = { b->in,      b->out,	   b->err,
				   b->channel, b->ruleset, b->writable[0] };
	uint32_t step = STEP_EXEC, detail = 0;

	if (enter_run(&b->params, &ends, &step, &detail) == 0) {
		step = STEP_EXEC;
		step_exec(b);
	}
	child_report(ends.channel, step, detail);
	_exit(1);
}

/*
 * Send the keeper what it cannot open from outside: the Landlock ruleset for
 * the child that will join, and the written files, to be read after every
 * process is dead.
 */
static int
send_built(const struct blueprint *b, bool warm)
{
	int all[BUILT_FDS + PLAN_BRANCHES_MAX] = {
		[BUILT_RULESET] = warm ? b->ruleset : -1,
		[BUILT_WORKSPACE] = b->workspace,
	};
	struct step_report r = { .step = STEP_READY };

	memcpy(all + BUILT_UPPER, b->uppers, sizeof(b->uppers));
	r.detail = pass_mask(all, BUILT_FDS);
	memcpy(all + BUILT_FDS, b->slots, sizeof(b->slots));

	return pass_send(b->lifeline, &r, sizeof(r), all, ARRAY_LEN(all), 0) ==
			       sizeof(r)
		       ? 0
		       : -1;
}

static void __attribute__((noreturn))
report_built(const struct blueprint *b, uint32_t step, uint32_t detail)
{
	struct step_report r = { step, errno, detail };

	send(b->lifeline, &r, sizeof(r), MSG_NOSIGNAL);
	_exit(1);
}

void
child_run_bare(struct blueprint *b)
{
	uint32_t step, detail;

	blueprint_close_others(b);
	if (build_run(b, &step, &detail) < 0) {
		child_report(b->channel, step, detail);
		_exit(1);
	}
	child_exec_code(b);
}

void
child_run(struct blueprint *b)
{
	bool warm = b->kind == BLUEPRINT_WARM || b->kind == BLUEPRINT_CLONE ||
		    b->kind == BLUEPRINT_BRANCH;
	uint32_t step = STEP_MAPS, detail = 0;
	sigset_t child;
	pid_t pid = 0;
	char go;

	blueprint_close_others(b);
	if (read(b->lifeline, &go, 1) != 1)
		_exit(1);
	if (build_run(b, &step, &detail) < 0) {
		if (warm)
			report_built(b, step, detail);
		child_report(b->channel, step, detail);
		_exit(1);
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if ((warm || jail_sends_built(b->plan)) && send_built(b, warm) < 0)
		_exit(1);
	own_fd_close(&b->workspace);
	b->workspace = -1;
	for (int i = 0; i < PLAN_WRITE_ROOTS_MAX; i++) {
		own_fd_close(&b->uppers[i]);
		b->uppers[i] = -1;
	}
	for (int i = 0; i < PLAN_BRANCHES_MAX; i++) {
		own_fd_close(&b->slots[i]);
		b->slots[i] = -1;
	}
	if (!warm) {
		pid = step_is_to_fail(STEP_FORK) ? -1 : fork();
		if (pid < 0) {
			child_report(b->channel, STEP_FORK, 0);
			_exit(1);
		}
		if (pid == 0)
			child_exec_code(b);
	}
	init_run(b->lifeline, pid, b->plan->forkable);
}
