/*
 * enter: the stage of the lock-down that runs in the process of the code:
 * before it becomes the interpreter (cold), or right after it was forked from
 * one (warm). Allocates nothing.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/deadline.h"
#include "base/own.h"
#include "jail/linux_abi.h"
#include "jail/lock/lock.h"
#include "jail/lock/rights.h"
#include "jail/seccomp/filter.h"

typedef int enter_step(const struct lock_params *params,
		       struct enter_ends *ends, uint32_t *detail);

static int
step_session(const struct lock_params *params, struct enter_ends *ends,
	     uint32_t *detail)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)ends;
	(void)detail;
	/* A separate process group, so that kill(0) reaches no other process.
	   The copy keeps its signal handlers and umask. */
	if (params->branch)
		return setsid() < 0 ? -1 : 0;
	/* A warm interpreter has set its handlers already. The call fails for
	   SIGKILL, SIGSTOP and the C library's own signals. */
	for (int s = 1; s < 65 && !params->warm; s++)
		sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -1;
	umask(022);
	return setsid() < 0 ? -1 : 0;
}

/* Keyrings of dead processes count against the user's quota (keyrings(7)) until
   the kernel has collected them. That takes a moment, or seconds on a busy
   machine. */
static int
join_keyring(void)
{
	const uint64_t pause_us = 5000;

	for (uint64_t us = deadline_us(DEADLINE_KEYRING); us > pause_us;
	     us -= pause_us) {
		if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
			return 0;
		if (errno != EDQUOT)
			return -1;
		usleep(pause_us);
	}
	errno = EDQUOT;
	return -1;
}

static int
step_keyring(const struct lock_params *params, struct enter_ends *ends,
	     uint32_t *detail)
{
	(void)ends;
	(void)detail;
	if (join_keyring() == 0)
		return 0;
	/* A kernel without keyrings has none to leak. If a container's filter
	   forbids keyctl here, it forbids it to the code too. */
	return errno == ENOSYS || (params->bare && errno == EPERM) ? 0 : -1;
}

static int
step_stdio(const struct lock_params *params, struct enter_ends *ends,
	   uint32_t *detail)
{
	const int from[] = { ends->in, ends->out, ends->err, ends->channel,
			     ends->ruleset };

	(void)params;
	(void)detail;
	/* The descriptors are above all targets, and dup2 clears close-on-exec.
	   All others close at exec, or in the step that closes them. */
	for (int to = 0; to < (int)ARRAY_LEN(from); to++)
		if (from[to] >= 0 && dup2(from[to], to) < 0)
			return -1;
	ends->channel = LOCK_CHANNEL_FD;
	return (int)syscall(SYS_close_range, LOCK_RULESET_FD + 1, ~0u,
			    CLOSE_RANGE_CLOEXEC);
}

static int
step_workdir(const struct lock_params *params, struct enter_ends *ends,
	     uint32_t *detail)
{
	(void)detail;
	return ends->workdir >= 0 ? fchdir(ends->workdir)
				  : chdir(params->workspace);
}

/* A lower limit is good enough: the process cannot raise the one it
   inherited. */
int
enter_limit(int which, uint64_t want)
{
	struct rlimit now, next = { want, want };

	if (getrlimit(which, &now) < 0)
		return -1;
	if (now.rlim_max < want)
		next.rlim_cur = next.rlim_max = now.rlim_max;
	return setrlimit(which, &next);
}

static int
step_rlimits(const struct lock_params *params, struct enter_ends *ends,
	     uint32_t *detail)
{
	const uint64_t *l = params->limits;
	const struct {
		int which;
		uint64_t value; /* 0: leave unchanged */
	} limits[] = {
		{ RLIMIT_AS, l[LOCK_LIMIT_AS] },
		{ RLIMIT_DATA, l[LOCK_LIMIT_DATA] },
		{ RLIMIT_CPU, l[LOCK_LIMIT_CPU] },
		{ RLIMIT_NPROC, l[LOCK_LIMIT_NPROC] },
		/* RLIMIT_NOFILE comes last of all: see lock.c. */
		{ RLIMIT_FSIZE, l[LOCK_LIMIT_FSIZE] },
		/* 1, not 0: only 1 prevents a core from being piped to a
		   program (core(5), "Piping core dumps to a program"). */
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_STACK, UINT64_C(8) << 20 },
		{ RLIMIT_MEMLOCK, UINT64_C(64) << 10 },
		{ RLIMIT_MSGQUEUE, 1 },
		{ RLIMIT_SIGPENDING, 256 },
	};

	(void)ends;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		*detail = (uint32_t)i + 1;
		if (limits[i].value &&
		    enter_limit(limits[i].which, limits[i].value) < 0)
			return -1;
	}
	return 0;
}

static int
step_affinity(const struct lock_params *params, struct enter_ends *ends,
	      uint32_t *detail)
{
	(void)ends;
	(void)detail;
	if (!params->has_cpus)
		return 0;
	return sched_setaffinity(0, sizeof(params->cpus), &params->cpus);
}

static int
step_capabilities(const struct lock_params *params, struct enter_ends *ends,
		  uint32_t *detail)
{
	(void)ends;
	(void)detail;
	if (params->bare)
		return rights_drop_own();
	return rights_drop(params->filter & FILTER_SUBPROCESS);
}

static int
step_no_new_privs(const struct lock_params *params, struct enter_ends *ends,
		  uint32_t *detail)
{
	(void)params;
	(void)ends;
	(void)detail;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int
enter_die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -1;
	/* It may have died before the call. */
	errno = ESRCH;
	return getppid() == parent ? 0 : -1;
}

static int
step_die_with_keeper(const struct lock_params *params, struct enter_ends *ends,
		     uint32_t *detail)
{
	(void)ends;
	(void)detail;
	if (!params->keeper)
		return 0;
	return enter_die_with((pid_t)params->keeper);
}

static enter_step *const enter_steps[STEP_COUNT] = {
	[STEP_SESSION] = step_session,
	[STEP_KEYRING] = step_keyring,
	[STEP_STDIO] = step_stdio,
	[STEP_WORKDIR] = step_workdir,
	[STEP_RLIMITS] = step_rlimits,
	[STEP_AFFINITY] = step_affinity,
	[STEP_CAPABILITIES] = step_capabilities,
	[STEP_NO_NEW_PRIVS] = step_no_new_privs,
	[STEP_DIE_WITH_KEEPER] = step_die_with_keeper,
};

/* A copy of locked code inherits limits, processors, keyring and
   no_new_privs. */
static bool
is_branch_step(uint32_t step)
{
	return step == STEP_SESSION || step == STEP_STDIO ||
	       step == STEP_CAPABILITIES;
}

int
enter_run(const struct lock_params *params, struct enter_ends *ends,
	  uint32_t *step, uint32_t *detail)
{
	for (*step = STEP_SESSION; *step <= STEP_DIE_WITH_KEEPER; ++*step) {
		*detail = 0;
		if (params->branch && !is_branch_step(*step))
			continue;
		if (step_is_to_fail((enum step_id) * step) ||
		    *step == params->fail_step) {
			errno = EIO;
			return -1;
		}
		if (enter_steps[*step](params, ends, detail) < 0)
			return -1;
	}
	return 0;
}
