#include "keeper/pool/branch.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/proc.h"
#include "jail/attest.h"
#include "jail/linux_abi.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/session/session.h"

/* The flags of the C library's fork() and vfork(), where they call clone(). */
#define FORK_FLAGS  (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)
#define VFORK_FLAGS (CLONE_VM | CLONE_VFORK | SIGCHLD)

int
branch_begin(struct worker *i, struct remit_error *err)
{
	struct link *channel = &i->parent->jail.channel;
	struct join_command cmd;

	if (i->parent->state != WORKER_IN_USE)
		return fail(err, REMIT_E_GONE, "the session has ended");
	jail_branch_command(&i->jail, &i->pool->plan, &cmd);
	i->fork = FORK_REQUESTED;
	i->parent->forking = i;
	i->parent->fork_requested = true;
	if (link_send(channel, FRAME_FORK, &cmd, sizeof(cmd), err) < 0)
		return -1;
	return link_flush(channel, err);
}

/* ---- the calls of a fork ---- */

static bool
is_vfork(const struct seccomp_data *call)
{
#ifdef SYS_vfork
	if (call->nr == SYS_vfork)
		return true;
#endif
	return call->nr == SYS_clone && call->args[0] == VFORK_FLAGS;
}

/* The code waits in this call, so its state cannot change during the check. */
static bool
let_fork(struct worker *i, const struct notice *n)
{
	if (n->thread != i->parent->jail.run_pid || !is_vfork(&n->call))
		return false;
	if (branch_check_alone(&i->parent->jail, &i->pool->plan,
			       &i->copy_error) < 0) {
		notice_refuse(n, jail_filter(&i->pool->plan));
		i->fork = FORK_REFUSED;
		return true;
	}
	if (notice_continue(n) == 0)
		i->fork = FORK_JOINING;
	return true;
}

static bool
is_helper(struct worker *i, const struct notice *n)
{
	uint64_t parent, group;

	if (i->helper)
		return n->thread == i->helper;
	return proc_status_number(n->thread, "PPid", &parent) == 0 &&
	       proc_status_number(n->thread, "Tgid", &group) == 0 &&
	       parent == (uint64_t)i->parent->jail.run_pid &&
	       group == (uint64_t)n->thread;
}

static int
arm_helper(struct worker *i, const struct notice *n)
{
	struct remit_error err;

	if (i->helper)
		return 0;
	i->helper = n->thread;
	i->helper_fd = sys_pidfd_open(n->thread);
	if (i->helper_fd < 0 || worker_watch_helper(i, &err) < 0)
		return -1;
	for (int fd = 0; fd < JOIN_FDS; fd++)
		if (i->jail.entry[fd] >= 0 &&
		    notice_inject(n, i->jail.entry[fd], JOIN_FIRST_FD + fd) < 0)
			return -1;
	return 0;
}

static bool
let_join(struct worker *i, const struct notice *n)
{
	const struct join_space *space = &join_spaces[i->joined_namespaces];

	if (n->call.nr != SYS_setns ||
	    n->call.args[0] != (uint64_t)(JOIN_FIRST_FD + space->fd) ||
	    n->call.args[1] != (uint64_t)space->type || !is_helper(i, n))
		return false;
	if (arm_helper(i, n) < 0 || notice_continue(n) < 0)
		return false;
	i->joined_namespaces++;
	if (join_spaces[i->joined_namespaces].fd == JOIN_NET_NS)
		i->fork = FORK_FORKING;
	return true;
}

static bool
let_copy(struct worker *i, const struct notice *n)
{
	if (n->thread != i->helper || n->call.nr != SYS_clone ||
	    n->call.args[0] != FORK_FLAGS)
		return false;
	if (notice_continue(n) == 0)
		i->fork = FORK_COPIED;
	return true;
}

static bool
let_pass(struct worker *i, const struct notice *n)
{
	switch (i->fork) {
	case FORK_REQUESTED:
		return let_fork(i, n);
	case FORK_JOINING:
		return let_join(i, n);
	case FORK_FORKING:
		return let_copy(i, n);
	default:
		return false;
	}
}

bool
branch_notice(struct worker *root, const struct notice *n)
{
	for (struct worker *i = root->keeper->workers; i; i = i->next)
		if (i->parent && i->root == root &&
		    i->state == WORKER_JOINING && let_pass(i, n))
			return true;
	return false;
}

bool
branch_fork_is_pending(const struct worker *root)
{
	for (const struct worker *i = root->keeper->workers; i; i = i->next)
		if (i->parent && i->root == root && i->state == WORKER_JOINING)
			return true;
	return false;
}

/* ---- the outcome ---- */

static void
kill_if_child(pid_t pid, pid_t parent)
{
	own_fd int fd = sys_pidfd_open(pid);
	uint64_t of;

	/* Check the parent after opening the pidfd: the pid may have been
	   reused. */
	if (fd >= 0 && proc_status_number(pid, "PPid", &of) == 0 &&
	    of == (uint64_t)parent)
		sys_pidfd_kill(fd, SIGKILL);
}

/* The helper is not known yet because it has made no call. Without it the code
   has no children, so kill all of them. */
static void
kill_children(pid_t parent)
{
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0)
			kill_if_child(pid, parent);
	}
	if (d)
		closedir(d);
}

void
branch_end_helper(struct worker *i)
{
	if (i->fork < FORK_JOINING)
		return;
	if (i->helper_fd >= 0)
		sys_pidfd_kill(i->helper_fd, SIGKILL);
	else
		kill_children(i->parent->jail.run_pid);
}

void
branch_forked(struct worker *parent, const struct step_report *r)
{
	struct worker *i = parent->forking;
	struct remit_error err;

	parent->forking = NULL;
	parent->fork_requested = false;
	if (!i)
		return;
	if (r->step == STEP_READY) {
		worker_check_branch(i);
		return;
	}
	if (i->fork == FORK_REFUSED)
		err = i->copy_error;
	else if (r->step == UINT32_MAX)
		fail_refused(&err, "forkable",
			     "Wait for the tasks to end, or cancel them.",
			     "the session cannot be copied: its event loop has "
			     "pending tasks");
	else if (jail_step_failed(r, &i->pool->plan, &err) == 0)
		return;
	worker_failed(i, &err);
}

int
branch_verify(struct worker *i, struct remit_error *err)
{
	const struct worker *p = i->parent;

	if (i->fork != FORK_COPIED)
		return fail(err, REMIT_E_INTERNAL,
			    "a branch reported that it is ready before "
			    "its session was copied");
	if (branch_attest(&i->jail, &i->pool->plan, &p->jail,
			  i->root->jail.warm, &i->outer_pid, err) < 0)
		return -1;
	/* The helper may have changed the memory that it shared with the
	   code. */
	return branch_check_alone(&p->jail, &i->pool->plan, err);
}

bool
branch_is_asleep(const struct worker *i, uint64_t *switches)
{
	uint64_t code, copy;

	if (!proc_sleeps(i->parent->jail.run_pid, &code) ||
	    !proc_sleeps(i->jail.run_pid, &copy))
		return false;
	*switches = code + copy;
	return true;
}

struct worker *
branch_of_thread(struct worker *root, pid_t thread)
{
	uint64_t group;

	if (!root->has_branched)
		return root;
	if (proc_status_number(thread, "Tgid", &group) < 0)
		return NULL;
	for (struct worker *i = root->keeper->workers; i; i = i->next)
		if (i->root == root && (uint64_t)i->jail.run_pid == group)
			return i;
	return NULL;
}

struct worker *
branch_of_child(struct worker *parent, pid_t pid)
{
	for (struct worker *i = parent->keeper->workers; i; i = i->next)
		if (i->parent == parent && i->outer_pid == pid)
			return i;
	return NULL;
}
