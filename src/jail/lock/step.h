/*
 * step: the lock-down, in order. The table is the security argument on one
 * screen: what happens, where, in which order, and which capability of the host
 * it proves. Every step must succeed. The first that fails ends the run, and
 * the error names it.
 */
#ifndef REMIT_STEP_H
#define REMIT_STEP_H

#include <stdint.h>
#include <sys/types.h>

#include "policy/host.h"

enum stage {
	STAGE_KEEPER, /* in the keeper, before and around the clone */
	STAGE_BUILD,  /* in pid 1 of the jail */
	STAGE_JOIN,   /* warm only: between the zygote and its new child */
	STAGE_ENTER,  /* in pid 2, before the interpreter is executed */
	STAGE_LOCK,   /* in the interpreter, before any foreign byte is read */
};

enum step_id {
	STEP_RESOLVE,
	STEP_CLONE,
	STEP_MAPS,
	STEP_GROUPS,
	STEP_MEMFD_NOEXEC,
	STEP_IDS,
	STEP_PRIVATE_MOUNTS,
	STEP_ROOT,
	STEP_LINKS,
	STEP_NETWORK,
	STEP_WORKSPACE,
	STEP_OVERLAYS,
	STEP_RUNTIME,
	STEP_DEVICES,
	STEP_NO_USER_NAMESPACES,
	STEP_PIVOT,
	STEP_READ_ONLY,
	STEP_HOSTNAME,
	STEP_LANDLOCK_RULES,
	STEP_FORK,
	STEP_ONE_THREAD,
	STEP_JOIN_GROUPS,
	STEP_JOIN,
	STEP_WARM_FORK,
	STEP_JAIL_USER,
	STEP_SESSION,
	STEP_KEYRING,
	STEP_STDIO,
	STEP_WORKDIR,
	STEP_RLIMITS,
	STEP_AFFINITY,
	STEP_CAPABILITIES,
	STEP_NO_NEW_PRIVS,
	STEP_DIE_WITH_KEEPER,
	STEP_EXEC,
	STEP_PARAMS,
	STEP_CLOSE,
	STEP_LANDLOCK,
	STEP_SECCOMP,
	STEP_SELF_TEST,
	STEP_READY, /* not a step: every step is done */
	STEP_COUNT,
};

struct step {
	const char *name;
	enum stage stage;
	enum capability proves;
	const char *why_here; /* what must come before or after, and why */
};

extern const struct step steps[STEP_COUNT];

/* Record in *err at which step it happened. Returns -1. */
int step_failed_at(struct remit_error *err, enum step_id step);
/* The step that step_failed_at() recorded, or STEP_READY. */
enum step_id step_of_error(const struct remit_error *err);

/*
 * Test builds can make one step fail (REMIT_FAIL_STEP, by its name), to prove
 * that every step is required. They can also stop before a step once, named
 * "remit-waits", until SIGCONT (REMIT_WAIT_STEP), so that a test can kill
 * something at that moment. In a release build this function always returns
 * false.
 */
#ifdef REMIT_HOLES
bool step_is_to_fail(enum step_id step);
#else
static inline bool
step_is_to_fail(enum step_id step)
{
	(void)step;
	return false;
}
#endif

/* What the jail reports over its channel: the failed step, or STEP_READY. */
struct step_report {
	uint32_t step;
	int32_t sys_errno;
	uint32_t detail; /* which item of the step; 0 if it has only one */
};

/* Send the report as a frame. Returns -1 with errno. Allocates nothing. */
int step_send_report(int channel, const struct step_report *r);

/* How a process ended, as pid 1 reports it or the keeper observes it. */
struct exit_report {
	int32_t wait_status;
	uint32_t max_rss_kib;
	uint64_t cpu_us;
	int32_t pid; /* in the pid namespace where it was reaped */
	uint32_t none;
};

/* Reap any dead child. Returns its pid, or what wait4() returned. */
pid_t exit_report_wait(struct exit_report *out);

#endif
