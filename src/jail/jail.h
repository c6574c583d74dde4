/*
 * jail: the namespaces, root, limits and filters built from a plan, with one
 * interpreter inside that waits for its code.
 *
 * The owner watches four descriptors: init_pidfd (readable: all of the jail is
 * dead), the links `channel` (the interpreter) and `lifeline` (pid 1), and the
 * pipes out and err. Closing the lifeline kills the jail.
 */
#ifndef REMIT_JAIL_H
#define REMIT_JAIL_H

#include "cgroup.h"
#include "link.h"
#include "plan.h"
#include "step.h"
#include "uid_pool.h"

struct jail_site {
	const char *runtime_dir; /* with the module and the runner */
	const struct cgroup_home *cgroups;
	bool probe; /* lock down without an interpreter, then wait */
};

struct jail {
	pid_t init_pid;
	int init_pidfd;
	pid_t run_pid; /* 0 until jail_meet(), -1 if nobody spoke */
	int run_pidfd;
	struct link channel;
	struct link lifeline;
	int out, err;
	uint32_t host_uid; /* of the code */
	struct uid_lease lease;
	struct cgroup group;
	bool unjailed; /* the unsafe tier: a plain process, no jail */
};

#define JAIL_INIT                                                        \
	{                                                                \
		.init_pidfd = -1, .run_pidfd = -1, .channel = LINK_INIT, \
		.lifeline = LINK_INIT, .out = -1, .err = -1,             \
		.lease = UID_LEASE_INIT, .group = CGROUP_INIT            \
	}

/*
 * Build a jail and start the interpreter in it. `in` becomes its standard
 * input (the caller keeps its descriptor). `name` is the run's. The jail then
 * reports over its channel that it is ready, or which step failed.
 */
int jail_open(struct jail *j, const struct plan *plan,
	      const struct jail_site *site, int in, const char *name,
	      struct remit_error *err) must_check;

/* The unsafe tier: the interpreter as a plain child of the keeper. */
int jail_open_unsafe(struct jail *j, const struct plan *plan,
		     const struct jail_site *site, int in,
		     struct remit_error *err) must_check;

/*
 * When the channel is readable for the first time: learn from the kernel who
 * speaks, attach it to the groups, and check from outside that its filters,
 * rights and user are what the plan says.
 */
int jail_meet(struct jail *j, const struct plan *plan,
	      struct remit_error *err) must_check;

/* An error from a report that names a failed step. */
int jail_step_failed(const struct step_report *r, const struct plan *plan,
		     struct remit_error *err);

/* The code's processor time and memory so far, by the kernel's word; nothing
   is changed where they cannot be read. */
void jail_sample(const struct jail *j, struct exit_report *out);

void jail_interrupt(struct jail *j); /* SIGINT to the code */
void jail_kill(struct jail *j);
/* True once everything in the jail is dead and pid 1 is reaped; *status is
   the wait status of the child the keeper reaped. */
bool jail_is_dead(struct jail *j, int *status);
/* Kills what is left and waits for it. */
void jail_free(struct jail *j);

#endif
