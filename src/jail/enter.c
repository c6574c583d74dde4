/*
 * enter: the stage of the lock-down that pid 2 carries out before it becomes
 * the interpreter.
 */
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "blueprint.h"
#include "linux_abi.h"
#include "lock.h"
#include "order.h"
#include "rights.h"
#include "rules.h"
#include "step.h"

static int
step_session(struct blueprint *b, uint32_t *detail)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)b;
	(void)detail;
	for (int s = 1; s < 65; s++)
		sigaction(s, &dfl, NULL); /* KILL, STOP and libc's refuse */
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -1;
	umask(022);
	return setsid() < 0 ? -1 : 0;
}

static int
step_keyring(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		return 0;
	/* A kernel without keys has none to leak. */
	return errno == ENOSYS ? 0 : -1;
}

static int
step_stdio(struct blueprint *b, uint32_t *detail)
{
	const int from[] = { b->in, b->out, b->err, b->channel };

	(void)detail;
	/* The descriptors lie above all targets (jail_open moved them there),
	   and dup2 clears close-on-exec; all others close at exec. */
	for (int to = 0; to < (int)ARRAY_LEN(from); to++)
		if (dup2(from[to], to) < 0)
			return -1;
	b->channel = ORDER_CHANNEL_FD;
	return (int)syscall(SYS_close_range, ORDER_RULESET_FD, ~0u,
			    CLOSE_RANGE_CLOEXEC);
}

static int
step_workdir(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	return chdir(JAIL_WORKSPACE);
}

static int
step_landlock_rules(struct blueprint *b, uint32_t *detail)
{
	int fd;

	if (!plan_keeps(b->plan, MECH(LANDLOCK)))
		return 0;
	fd = rules_make(b, detail);
	if (fd < 0)
		return -1;
	if (fd == ORDER_RULESET_FD)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, ORDER_RULESET_FD) < 0 ? -1 : 0;
}

/* Lower than asked for is as good: the caller's own limit is the bound. */
static int
set_limit(int which, uint64_t want)
{
	struct rlimit now, next = { want, want };

	if (getrlimit(which, &now) < 0)
		return -1;
	if (now.rlim_max < want)
		next.rlim_cur = next.rlim_max = now.rlim_max;
	return setrlimit(which, &next);
}

static int
step_rlimits(struct blueprint *b, uint32_t *detail)
{
	const struct plan_limits *l = &b->plan->limits;
	const struct {
		int which;
		uint64_t value; /* 0: leave it */
	} limits[] = {
		{ RLIMIT_AS, l->address_space_bytes },
		{ RLIMIT_CPU, l->cpu_rlimit_s },
		{ RLIMIT_NPROC, l->nproc },
		{ RLIMIT_NOFILE, l->open_files },
		{ RLIMIT_FSIZE, l->file_bytes },
		/* 1, not 0: only 1 stops a core that goes to a pipe
		   (core(5), "Piping core dumps to a program"). */
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_STACK, UINT64_C(8) << 20 },
		{ RLIMIT_MEMLOCK, UINT64_C(64) << 10 },
		{ RLIMIT_MSGQUEUE, 1 },
		{ RLIMIT_SIGPENDING, 256 },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		*detail = (uint32_t)i + 1;
		if (limits[i].value &&
		    set_limit(limits[i].which, limits[i].value) < 0)
			return -1;
	}
	return 0;
}

static int
step_affinity(struct blueprint *b, uint32_t *detail)
{
	(void)detail;
	if (!b->plan->limits.cpus)
		return 0;
	return sched_setaffinity(0, sizeof(b->cpus), &b->cpus);
}

static int
step_capabilities(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	return rights_drop();
}

static int
step_no_new_privs(struct blueprint *b, uint32_t *detail)
{
	(void)b;
	(void)detail;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int
step_exec(struct blueprint *b, uint32_t *detail)
{
	/* Nothing of the environment: LD_ variables would act before the
	   lock-down. The runner sets what the policy names. */
	char *const none[] = { NULL };

	(void)detail;
	if (b->probe) {
		struct step_report r;

		if (lock_down(&r) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	execve(b->plan->interpreter->real, b->argv, none);
	return -1;
}

static int (*const run[STEP_COUNT])(struct blueprint *b, uint32_t *detail) = {
	[STEP_SESSION] = step_session,
	[STEP_KEYRING] = step_keyring,
	[STEP_STDIO] = step_stdio,
	[STEP_WORKDIR] = step_workdir,
	[STEP_LANDLOCK_RULES] = step_landlock_rules,
	[STEP_RLIMITS] = step_rlimits,
	[STEP_AFFINITY] = step_affinity,
	[STEP_CAPABILITIES] = step_capabilities,
	[STEP_NO_NEW_PRIVS] = step_no_new_privs,
	[STEP_EXEC] = step_exec,
};

int
enter_run(struct blueprint *b, uint32_t *step, uint32_t *detail)
{
	for (*step = STEP_SESSION; *step <= STEP_EXEC; ++*step) {
		*detail = 0;
		if (step_is_to_fail(*step) || run[*step](b, detail) < 0)
			return -1;
	}
	return -1;
}
