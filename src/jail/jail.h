/*
 * jail: the namespaces, root, limits and filters built from a plan, with one
 * interpreter inside that waits for its code.
 *
 * Cold (jail_open) the interpreter is started inside. Warm (jail_prepare) the
 * jail is built first; when pid 1 has said so (jail_recv_built), a zygote's
 * child joins it (jail_join), and is the keeper's own child from then on.
 *
 * The owner watches the links `channel` (the interpreter) and `lifeline` (pid
 * 1), the pipes out and err, and its own dead children: once pid 1 is reaped
 * (jail_reaped), all of the jail is dead. Closing the lifeline kills it.
 *
 * A bare jail (tier landlock) is one process without namespaces: the code is
 * the keeper's own child, there is no pid 1 and no lifeline, and the kernel
 * kills it when the keeper dies.
 */
#ifndef REMIT_JAIL_H
#define REMIT_JAIL_H

#include "base/proc.h"
#include "jail/cgroup/cgroup.h"
#include "jail/lock/join.h"
#include "jail/lock/step.h"
#include "jail/mount/workspace.h"
#include "jail/uid_pool.h"
#include "policy/plan/plan.h"
#include "wire/link.h"

struct jail_site {
	const char *runtime_dir; /* with the module and the runner */
	const struct cgroup_home *cgroups;
	struct cgroup_stock *spare_groups; /* NULL: each run's are its own */
	bool probe; /* lock down without an interpreter, then wait */
	/* Cold: where a plan that is proxied sends its listeners; else -1. */
	int egress;
};

struct root_template;
struct zygote;

/* A directory of mode rw: the host's, and what was written. */
struct write_root {
	int host, upper;
};

#define WRITE_ROOT_INIT      \
	{                    \
		.host = -1,  \
		.upper = -1, \
	}

static inline void
write_root_close(struct write_root *w)
{
	own_fd_close(&w->host);
	own_fd_close(&w->upper);
	*w = (struct write_root)WRITE_ROOT_INIT;
}

/* Standard input, output and error of the code, and its channel. */
#define JAIL_ENDS (LOCK_CHANNEL_FD + 1)

struct jail {
	pid_t init_pid; /* 0 once it is reaped */
	pid_t run_pid;	/* 0 until jail_identify(), -1 if nobody spoke */
	int run_pidfd;
	uint64_t roots;	 /* jail_roots() of what was mounted */
	bool warm;	 /* the code is a child of the keeper */
	bool run_reaped; /* warm only */
	/* Warm: what the zygote's child needs, or -1. The namespaces stay open
	   if it can have branches. */
	int entry[JOIN_FDS];
	struct link channel;
	struct link lifeline;
	int out, err;
	int listener; /* tells what is refused; -1: the kernel does not */
	int export;   /* the workspace, if the plan exports; else -1 */
	struct write_root write_roots[PLAN_WRITE_ROOTS_MAX];
	/* Workspaces that its branches, and theirs, can have; -1: given away */
	int slots[PLAN_BRANCHES_MAX];
	/* The code's first descriptors, if it may have branches. */
	struct proc_file ends[JAIL_ENDS];
	bool branch;	   /* its code is a copy of another jail's */
	bool unbuilt;	   /* pid 1 has yet to say that it is */
	uint32_t host_uid; /* of the code */
	struct uid_lease lease;
	struct cgroup group;
	struct cgroup_stock *spare_groups; /* where they go, or NULL */
	bool no_init;  /* the first process is the code: no pid 1 */
	bool unjailed; /* the unsafe tier: a plain process, no jail */
	struct workspace workspace; /* of a bare jail */
};

#define JAIL_INIT                                             \
	{ .run_pidfd = -1,                                    \
	  .channel = LINK_INIT,                               \
	  .lifeline = LINK_INIT,                              \
	  .out = -1,                                          \
	  .err = -1,                                          \
	  .listener = -1,                                     \
	  .export = -1,                                       \
	  .write_roots = { [0 ... PLAN_WRITE_ROOTS_MAX - 1] = \
				   WRITE_ROOT_INIT },         \
	  .slots = { [0 ... PLAN_BRANCHES_MAX - 1] = -1 },    \
	  .entry = { [0 ... JOIN_FDS - 1] = -1 },             \
	  .lease = UID_LEASE_INIT,                            \
	  .group = CGROUP_INIT,                               \
	  .workspace = WORKSPACE_INIT }

/*
 * Build a jail and start the interpreter in it. `in` becomes its standard
 * input (the caller keeps its descriptor). `name` is the run's. The jail then
 * reports over its channel that it is ready, or which step failed.
 */
int jail_open(struct jail *j, const struct plan *plan,
	      const struct jail_site *site, int in, const char *name,
	      struct remit_error *err) must_check;

/*
 * Build a jail for a child of a zygote, which the user `owner` is to be (by
 * root; else it is our own), from a root template if there is one. Pid 1 then
 * says over the lifeline that it is built, or which step failed.
 */
int jail_prepare(struct jail *j, const struct plan *plan,
		 const struct jail_site *site,
		 const struct root_template *root_template, uint32_t owner,
		 int in, const char *name, struct remit_error *err) must_check;
/* Which directories the policy's paths lead to now (device and inode). */
uint64_t jail_roots(const struct plan *plan);
/* When the lifeline of one that is unbuilt is readable for the first time. A
   cold one is only if something of it is looked at in the end. */
int jail_recv_built(struct jail *j, const struct plan *plan,
		    struct remit_error *err) must_check;
/* Send the zygote the command that puts a child into the jail. */
int jail_join(struct jail *j, const struct plan *plan, struct zygote *z,
	      struct remit_error *err) must_check;

/*
 * Build a jail for a branch of `parent`'s code, inside of that one's user and
 * pid namespaces, with a copy of its workspace in `slot`, which is taken over.
 * Then as for jail_prepare(); jail_branch_command() says what the code is to be
 * told, and which descriptors it is to be given.
 */
int jail_branch(struct jail *j, const struct plan *plan,
		const struct jail_site *site, const struct jail *parent,
		int *slot, int in, const char *name,
		struct remit_error *err) must_check;
void jail_branch_command(const struct jail *j, const struct plan *plan,
			 struct join_command *out);
/* The branch is there: what only it needed is closed. */
void jail_branch_joined(struct jail *j);

/* The unsafe tier: the interpreter as a plain child of the keeper. */
int jail_open_unsafe(struct jail *j, const struct plan *plan,
		     const struct jail_site *site, int in,
		     struct remit_error *err) must_check;

/*
 * When the channel is readable for the first time: learn from the kernel who
 * speaks, and take the listener if it brings one. What the lock-down itself
 * tries then waits for an answer (notice.h).
 */
int jail_identify(struct jail *j, struct remit_error *err) must_check;
/*
 * When it says that it is locked: check from outside that its groups, filters,
 * rights and user are what the plan says.
 */
int jail_attest(const struct jail *j, const struct plan *plan,
		struct remit_error *err) must_check;

/* The variant of filter.h that the code of this plan has. */
unsigned jail_filter(const struct plan *plan);

/* An error from a report that names a failed step. */
int jail_step_failed(const struct step_report *r, const struct plan *plan,
		     struct remit_error *err);
/* The error of a runtime directory that is of another release. Returns -1. */
int jail_fail_release(struct remit_error *err);

/* The code's processor time and memory so far, by the kernel's word; nothing
   is changed where they cannot be read. */
void jail_sample(const struct jail *j, struct exit_report *out);

void jail_interrupt(struct jail *j); /* SIGINT to the code */
/* SIGSTOP and SIGCONT. It takes a moment (proc.h). */
void jail_stop(struct jail *j);
void jail_resume(struct jail *j);
void jail_kill(struct jail *j);

enum jail_death {
	JAIL_NOT_MINE,
	JAIL_RUN_DEAD,	/* the code: its end is in *out */
	JAIL_INIT_DEAD, /* pid 1, and so everything */
};
/* The keeper has reaped this child. */
enum jail_death jail_reaped(struct jail *j, pid_t pid);
/* Kills what is left and waits for it; a warm one must be dead already. */
void jail_free(struct jail *j);

#endif
