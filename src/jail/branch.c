/*
 * jail_branch: the jail of a branch, nested in the jail of its session. Its
 * user namespace is owned by the code's user and is a child of the code's user
 * namespace, so that a copy of the code may join it. Its pid namespace must be
 * a child too: a copy cannot leave the one it was created in.
 *
 * A helper process enters the session's jail, since the keeper could not return
 * from there. A pid namespace can only be created by a process inside the one
 * above (pid_namespaces(7)), so a child of the helper, the maker, creates pid
 * 1. It creates it as a sibling (CLONE_PARENT), a child of the helper, so that
 * when the helper ends the keeper adopts it, and not the parent jail's pid 1.
 *
 *	keeper ── fork ──> helper ── setns × 3, fork ──> maker
 *	maker ── clone ──> pid 1
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/proc.h"
#include "jail/linux_abi.h"
#include "jail/mount/idmap.h"
#include "jail/part.h"

/* The report of the helper about pid 1. */
struct built {
	int32_t pid; /* pid 1, as the keeper sees it */
	int32_t sys_errno;
	uint32_t step;
};

/* Enter the session's jail as its user. */
static int
enter_parent_jail(const struct jail *parent, const struct blueprint *b)
{
	const int *at = parent->entry;

	if (setns(at[JOIN_USER_NS], CLONE_NEWUSER) < 0 ||
	    setns(at[JOIN_MOUNT_NS], CLONE_NEWNS) < 0 ||
	    setns(at[JOIN_PID_NS], CLONE_NEWPID) < 0)
		return -1;
	if (b->by_root && setgroups(0, NULL) < 0)
		return -1;
	if (setresgid(JAIL_UID, JAIL_UID, JAIL_UID) < 0 ||
	    setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
		return -1;
	/* If this process were undumpable, the id maps of its child in /proc
	   would belong to root. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* A process's pid in the keeper's namespace. `proc` is the keeper's /proc. */
static pid_t
pid_of_pidfd(int proc, int pidfd)
{
	char path[48], text[512];
	own_fd int fd = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "self/fdinfo/%d", pidfd);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, "Pid:");
	return at ? (pid_t)strtol(at + strlen("Pid:"), NULL, 10) : -1;
}

static void
clone_branch_init(struct blueprint *b, struct built *out)
{
	int pidfd = -1;
	/* Pid 1 joins its cgroups itself: the maker lacks the rights to clone
	   into them. */
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PARENT |
			 CLONE_CLEAR_SIGHAND | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	pid_t inside = sys_clone3(&args);

	if (inside == 0)
		child_run(b);
	if (inside < 0)
		return;
	out->step = STEP_MAPS;
	out->pid = pid_of_pidfd(b->proc, pidfd);
	if (out->pid <= 0 || step_is_to_fail(STEP_MAPS) ||
	    idmap_write_at(b->proc, out->pid, JAIL_UID, JAIL_UID) < 0) {
		int why = errno;

		sys_pidfd_kill(pidfd, SIGKILL);
		errno = why;
		return;
	}
	out->step = STEP_READY;
}

static void __attribute__((noreturn))
helper_report(const struct built *built, int to)
{
	_exit(write(to, built, sizeof(*built)) == sizeof(*built) ? 0 : 1);
}

static void __attribute__((noreturn))
helper_main(const struct jail *parent, struct blueprint *b, int report)
{
	struct built built = { .pid = -1, .step = STEP_CLONE };
	pid_t maker = -1;

	if (!step_is_to_fail(STEP_CLONE) && enter_parent_jail(parent, b) == 0)
		maker = fork();
	if (maker == 0)
		clone_branch_init(b, &built);
	if (maker <= 0) {
		built.sys_errno = errno;
		helper_report(&built, report);
	}
	(void)proc_wait(maker, NULL);
	_exit(0);
}

static int
branch_fail(const struct built *built, struct remit_error *err)
{
	errno = built->sys_errno;
	/* namespaces(7) allows 32 levels, and `branches` sets another limit. */
	if (errno == EUSERS || errno == ENOSPC)
		return fail_refused(
			err, "branches",
			"Branch from a session that is not a branch itself, or "
			"from an earlier one.",
			"the kernel allows no deeper nesting: this session is "
			"a branch of a branch, too many times over");
	fail_sys(err, REMIT_E_KERNEL, "create namespaces of a branch");
	return step_failed_at(err, (enum step_id)built->step);
}

/* When this returns, the helper is gone and pid 1 is a child of the keeper. */
static int
run_helper(struct jail *j, const struct jail *parent, struct blueprint *b,
	   struct remit_error *err)
{
	struct built built = { .pid = -1, .step = STEP_CLONE };
	own_fd int ours = -1, theirs = -1;
	int pair[2];
	pid_t helper;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	ours = pair[0];
	theirs = pair[1];
	helper = fork();
	if (helper < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	if (helper == 0)
		helper_main(parent, b, theirs);
	own_fd_close(&theirs);
	theirs = -1;
	/* Pid 1 has a copy of the pipe's other end, so end of file would not
	   come: wait for the helper and read what is there. */
	(void)proc_wait(helper, NULL);
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 ||
	    read(ours, &built, sizeof(built)) != sizeof(built))
		built.sys_errno = ECHILD;
	if (built.pid > 0)
		j->init_pid = built.pid;
	return built.step == STEP_READY ? 0 : branch_fail(&built, err);
}

static int
branch_lay_out(struct jail *j, struct blueprint *b,
	       const struct jail_site *site, int in, const char *name,
	       struct remit_error *err)
{
	jail_fill_params(&b->params, b->plan);
	b->contents = &b->own;
	b->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->proc < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open /proc");
	if (jail_move_up(&b->proc, err) < 0 ||
	    jail_move_up(&b->slot, err) < 0 ||
	    jail_make_ends(j, b, in, err) < 0 ||
	    jail_acquire_groups(j, b->plan, site, name, err) < 0)
		return -1;
	/* These descriptors are for the copied interpreter, not for pid 1. */
	j->entry[JOIN_IN] = take_fd(&b->in);
	j->entry[JOIN_OUT] = take_fd(&b->out);
	j->entry[JOIN_ERR] = take_fd(&b->err);
	j->entry[JOIN_CHANNEL] = take_fd(&b->channel);
	if (cgroup_open_joins(&j->group, true, b->groups, err) < 0)
		return -1;
	return cgroup_open_joins(&j->group, true, j->entry + JOIN_GROUP, err);
}

int
jail_branch(struct jail *j, const struct plan *plan,
	    const struct jail_site *site, const struct jail *parent, int *slot,
	    int in, const char *name, struct remit_error *err)
{
	own(blueprint) struct blueprint b =
		BLUEPRINT_FOR(plan, site, BLUEPRINT_BRANCH);

	b.slot = take_fd(slot);
	j->branch = true;
	j->unbuilt = true;
	j->host_uid = parent->host_uid;
	if (branch_lay_out(j, &b, site, in, name, err) < 0 ||
	    blueprint_list_kept(&b, err) < 0 ||
	    run_helper(j, parent, &b, err) < 0 ||
	    jail_open_namespaces(j, false, err) < 0)
		return -1;
	if (send(j->lifeline.fd, "g", 1, MSG_NOSIGNAL) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "release pid 1");
	return 0;
}

void
jail_branch_command(const struct jail *j, const struct plan *plan,
		    struct join_command *out)
{
	*out = (struct join_command){ .magic = LOCK_MAGIC };
	jail_fill_params(&out->params, plan);
	out->params.branch = 1;
	for (int i = 0; i < JOIN_FDS; i++)
		if (j->entry[i] >= 0)
			out->has |= UINT32_C(1) << i;
	jail_note_fail_step(&out->params, STEP_ONE_THREAD, STEP_WARM_FORK);
	jail_note_fail_step(&out->params, STEP_SESSION, STEP_CAPABILITIES);
	jail_note_fail_step(&out->params, STEP_CLOSE, STEP_SELF_TEST);
}

void
jail_branch_joined(struct jail *j)
{
	jail_close_entry(j, true);
}
