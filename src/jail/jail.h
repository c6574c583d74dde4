/*
 * jail: the namespaces, root, limits and filters built from a plan, with one
 * interpreter inside that waits for its code.
 *
 * A cold jail (jail_open) starts its interpreter inside. A warm jail
 * (jail_prepare) is built first. When pid 1 has reported that it is built
 * (jail_recv_built), a child of a zygote joins it (jail_join) and becomes a
 * child of the keeper.
 *
 * The owner watches the links `channel` (to the interpreter) and `lifeline` (to
 * pid 1), the pipes out and err, and its dead children. Once pid 1 is reaped
 * (jail_reaped), every process in the jail is dead. Closing the lifeline kills
 * the jail.
 *
 * A bare jail (tier landlock) is one process without namespaces: the code is a
 * child of the keeper, there is no pid 1 and no lifeline, and the kernel kills
 * the code when the keeper dies.
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
	const char *runtime_dir; /* contains the module and the runner */
	const struct cgroup_home *cgroups;
	struct cgroup_stock
		*spare_groups; /* NULL: every run makes new cgroups */
	bool probe;	       /* lock down without an interpreter, then wait */
	/* the socket to the proxy of a cold jail, or -1 if it has none */
	int egress;
};

struct root_template;
struct zygote;

/* A directory of mode rw: on the host, and the overlay's upper directory. */
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

/* The code's standard input, output and error, and its channel. */
#define JAIL_ENDS (LOCK_CHANNEL_FD + 1)

struct jail {
	pid_t init_pid; /* 0 once it has been reaped */
	pid_t run_pid;	/* 0 until jail_identify(); -1: not known */
	int run_pidfd;
	uint64_t roots;	 /* jail_roots() when the jail was built */
	bool warm;	 /* the code is a child of the keeper */
	bool run_reaped; /* warm only */
	/* Warm: what the zygote's child needs, or -1. The namespaces stay open
	   if the session can have branches, packages can be installed, or its
	   code can listen. */
	int entry[JOIN_FDS];
	struct link channel;
	struct link lifeline;
	int out, err;
	int listener; /* for refused calls; -1: unsupported */
	int export;   /* the workspace, if the plan exports files or lets a
			 client watch them; else -1 */
	struct write_root write_roots[PLAN_WRITE_ROOTS_MAX];
	/* Writable file systems for its branches and theirs; -1: already
	   used. */
	int slots[PLAN_BRANCHES_MAX];
	/* The code's first descriptors, recorded if it may have branches. */
	struct proc_file ends[JAIL_ENDS];
	bool branch;  /* its code is a copy of another jail's code */
	bool unbuilt; /* pid 1 has not yet reported that the jail is built */
	uint32_t host_uid; /* the code's user on the host */
	struct uid_lease lease;
	struct cgroup group;
	struct cgroup_stock
		*spare_groups; /* where its cgroups go afterwards, or NULL */
	bool no_init;  /* the first process is the code itself: no pid 1 */
	bool unjailed; /* tier unsafe: a plain process without a jail */
	struct workspace workspace; /* bare jails only */
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
 * input; the caller keeps its descriptor. `name` is the run's name. The jail
 * then reports over its channel that it is ready, or which step failed.
 */
int jail_open(struct jail *j, const struct plan *plan,
	      const struct jail_site *site, int in, const char *name,
	      struct remit_error *err) must_check;

/*
 * Build a jail for a child of a zygote that runs as user `owner` (if not root,
 * this is the keeper's user), from a root template unless that is NULL. Pid 1
 * then reports over the lifeline that the jail is built, or which step failed.
 */
int jail_prepare(struct jail *j, const struct plan *plan,
		 const struct jail_site *site,
		 const struct root_template *root_template, uint32_t owner,
		 int in, const char *name, struct remit_error *err) must_check;
/* A hash of the directories (device and inode) that the policy's paths lead to
   now. */
uint64_t jail_roots(const struct plan *plan);
/* Called when the lifeline of an unbuilt jail becomes readable for the first
   time. Cold jails report only if jail_sends_built(). */
int jail_recv_built(struct jail *j, const struct plan *plan,
		    struct remit_error *err) must_check;
/* Send the zygote the command to put a child into the jail. */
int jail_join(struct jail *j, const struct plan *plan, struct zygote *z,
	      struct remit_error *err) must_check;

/*
 * Build a jail for a branch of `parent`'s code, inside the user and pid
 * namespaces of `parent`. Copies the workspace into *slot, and takes
 * ownership of it. All else is as in jail_prepare(). jail_branch_command()
 * fills in the command for the code, with the descriptors it will get.
 */
int jail_branch(struct jail *j, const struct plan *plan,
		const struct jail_site *site, const struct jail *parent,
		int *slot, int in, const char *name,
		struct remit_error *err) must_check;
void jail_branch_command(const struct jail *j, const struct plan *plan,
			 struct join_command *out);
/* Called when the copy has joined the branch: closes what only joining
   needed. */
void jail_branch_joined(struct jail *j);

/*
 * Mount a directory of the host, read-only, on an empty directory of a jail
 * while code runs in it: JAIL_INSTALLED/`slot`. Only for jails whose plan
 * installs packages. The code cannot change what is mounted, and the host and
 * other jails do not see it.
 */
int jail_attach(const struct jail *j, int directory, size_t slot,
		struct remit_error *err) must_check;

/* The maximum of sockets that are made at a time. */
#define JAIL_SOCKETS_MAX 8

/*
 * Make TCP sockets (IPv4, non-blocking) in the network of a jail whose plan has
 * has_ports. Such a socket connects only to programs in the jail, also in other
 * processes. The caller owns all `count` descriptors.
 */
int jail_make_sockets(const struct jail *j, int *fds, size_t count,
		      struct remit_error *err) must_check;

/* Tier unsafe: start the interpreter as a plain child of the keeper. */
int jail_open_unsafe(struct jail *j, const struct plan *plan,
		     const struct jail_site *site, int in,
		     struct remit_error *err) must_check;

/*
 * Called when the channel becomes readable for the first time: learn from the
 * kernel which process is at its other end, and receive the listener if it
 * sends one. From then on the system calls that the lock-down itself attempts
 * wait for an answer (notice.h).
 */
int jail_identify(struct jail *j, struct remit_error *err) must_check;
/*
 * Called when the code reports that it is locked: check from outside that its
 * cgroups, filters, capabilities and user are those of the plan.
 */
int jail_attest(const struct jail *j, const struct plan *plan,
		struct remit_error *err) must_check;

/* The filter variant (filter.h) for the code of this plan. */
unsigned jail_filter(const struct plan *plan);

/* Make an error from a report that names a failed step. Returns -1. */
int jail_step_failed(const struct step_report *r, const struct plan *plan,
		     struct remit_error *err);
/* The error for a runtime directory of another release. Returns -1. */
int jail_fail_release(struct remit_error *err);

/* The code's processor time and memory so far, as the kernel reports them. A
   value that cannot be read is left unchanged. */
void jail_sample(const struct jail *j, struct exit_report *out);

void jail_interrupt(struct jail *j); /* send SIGINT to the code */
/* Send SIGSTOP and SIGCONT. They take effect a moment later (proc.h). */
void jail_stop(struct jail *j);
void jail_resume(struct jail *j);
void jail_kill(struct jail *j);

enum jail_death {
	JAIL_NOT_MINE,
	JAIL_RUN_DEAD,	/* the code; jail_sample() or wait4() has its usage */
	JAIL_INIT_DEAD, /* pid 1, and so every process */
};
/* Called when the keeper has reaped this child. */
enum jail_death jail_reaped(struct jail *j, pid_t pid);
/* Kill what is left and wait for pid 1. The code of a warm jail must be dead
   already. */
void jail_free(struct jail *j);

#endif
