#include "jail.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "attest.h"
#include "blueprint.h"
#include "filter.h"
#include "idmap.h"
#include "init.h"
#include "linux_abi.h"
#include "order.h"
#include "proc.h"

_Static_assert((int)PLAN_FILTER_NETWORK == (int)FILTER_NETWORK &&
		       (int)PLAN_FILTER_SUBPROCESS == (int)FILTER_SUBPROCESS &&
		       (int)PLAN_FILTER_FORKABLE == (int)FILTER_FORKABLE &&
		       (int)PLAN_FILTER_STRICT_MEMORY ==
			       (int)FILTER_STRICT_MEMORY,
	       "the plan and the filters agree on the bits");

/* The jail's ends lie above the numbers they will get inside. */
#define FIRST_FREE_FD 16

static void
report(int channel, uint32_t step, uint32_t detail)
{
	struct step_report r = {
		.step = step,
		.sys_errno = errno,
		.detail = detail,
	};

	/* If nobody hears it, nobody waits for it either. */
	if (step_send_report(channel, &r) < 0)
		_exit(1);
}

/* Pid 1, from its first instruction on. */
static void __attribute__((noreturn)) child_main(struct blueprint *b)
{
	uint32_t step = STEP_MAPS, detail = 0;
	sigset_t child;
	pid_t pid;
	char go;

	blueprint_close_others(b);
	if (read(b->lifeline, &go, 1) != 1)
		_exit(1);
	if (build_run(b, &step, &detail) < 0) {
		report(b->channel, step, detail);
		_exit(1);
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = step_is_to_fail(STEP_FORK) ? -1 : fork();
	if (pid < 0) {
		report(b->channel, STEP_FORK, 0);
		_exit(1);
	}
	if (pid == 0) {
		enter_run(b, &step, &detail);
		report(b->channel, step, detail);
		_exit(1);
	}
	init_run(b->lifeline, pid);
}

static int
move_up(int *fd, struct remit_error *err)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	if (up < 0)
		return fail_sys(err, REMIT_E_KERNEL, "dup");
	own_fd_close(fd);
	*fd = up;
	return 0;
}

static int
make_socket(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*ours = pair[0];
	*theirs = pair[1];
	return move_up(theirs, err);
}

static int
make_pipe(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	*ours = pair[0];
	*theirs = pair[1];
	if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fcntl");
	return move_up(theirs, err);
}

static int
make_ends(struct jail *j, struct blueprint *b, int in, struct remit_error *err)
{
	int channel = -1, lifeline = -1, yes = 1;

	b->in = fcntl(in, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (b->in < 0)
		return fail_sys(err, REMIT_E_KERNEL, "dup");
	if (make_pipe(&j->out, &b->out, err) < 0 ||
	    make_pipe(&j->err, &b->err, err) < 0 ||
	    make_socket(&channel, &b->channel, err) < 0)
		return -1;
	link_open(&j->channel, channel, PARTY_JAIL);
	if (make_socket(&lifeline, &b->lifeline, err) < 0)
		return -1;
	link_open(&j->lifeline, lifeline, PARTY_INIT);
	if (setsockopt(channel, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "SO_PASSCRED");
	return 0;
}

/* As many processors as the plan says, from a random one on. */
static void
choose_cpus(cpu_set_t *out, uint64_t count)
{
	cpu_set_t all;
	unsigned start = 0;
	int cpu;

	CPU_ZERO(out);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	if (getrandom(&start, sizeof(start), 0) < 0)
		start = 0;
	cpu = (int)(start % CPU_SETSIZE);
	for (int i = 0; i < CPU_SETSIZE && count; i++) {
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, out);
			count--;
		}
		cpu = (cpu + 1) % CPU_SETSIZE;
	}
}

static int
send_order(struct jail *j, const struct plan *plan, uint32_t uid,
	   struct remit_error *err)
{
	struct lock_order order = {
		.magic = ORDER_MAGIC,
		.size = sizeof(order),
		.filter = plan->filter,
		.uid = uid,
	};

	if (!plan_keeps(plan, MECH(LANDLOCK)))
		order.skip |= ORDER_SKIP_LANDLOCK;
	if (!plan_keeps(plan, MECH(SECCOMP)))
		order.skip |= ORDER_SKIP_SECCOMP;
	if (!plan_keeps(plan, MECH(MOUNT_NAMESPACE)))
		order.skip |= ORDER_SKIP_ROOT;
	/* The interpreter has no environment to look at. */
	for (uint32_t s = STEP_ORDER; s < STEP_READY; s++)
		if (step_is_to_fail((enum step_id)s))
			order.fail_step = s;
	if (link_send(&j->channel, FRAME_ORDER, &order, sizeof(order), err) < 0)
		return -1;
	return link_flush(&j->channel, err);
}

/*
 * The keeper itself stays undumpable; for the time of the clone it is not, so
 * that the child's maps can be written by an ordinary user.
 */
static pid_t
clone_init(struct jail *j, const struct plan *plan)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&j->init_pidfd,
		.exit_signal = SIGCHLD,
	};
	int group = cgroup_clone_fd(&j->group);
	pid_t pid;

	if (plan->own_network)
		args.flags |= CLONE_NEWNET;
	if (group >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group;
	}
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	pid = sys_clone3(&args);
	if (pid != 0)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return pid;
}

static int
start(struct jail *j, struct blueprint *b, struct remit_error *err)
{
	uint32_t gid = j->lease.fd >= 0 ? j->host_uid : getegid();

	j->init_pid = step_is_to_fail(STEP_CLONE) ? -1 : clone_init(j, b->plan);
	if (j->init_pid < 0) {
		j->init_pid = 0;
		fail_sys(err, REMIT_E_KERNEL, "create namespaces");
		return step_failed_at(err, STEP_CLONE);
	}
	if (j->init_pid == 0)
		child_main(b);
	if (step_is_to_fail(STEP_MAPS)) {
		fail_sys(err, REMIT_E_KERNEL, "map ids");
		return step_failed_at(err, STEP_MAPS);
	}
	if (idmap_write(j->init_pid, JAIL_UID, j->host_uid, JAIL_UID, gid,
			err) < 0)
		return step_failed_at(err, STEP_MAPS);
	if (send(j->lifeline.fd, "g", 1, MSG_NOSIGNAL) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "release pid 1");
	return 0;
}

int
jail_open(struct jail *j, const struct plan *plan, const struct jail_site *site,
	  int in, const char *name, struct remit_error *err)
{
	char *argv[] = {
		plan->interpreter->executable, "-I", "-S", "-u", "-X", "utf8",
		JAIL_RUNTIME "/boot.py",       NULL,
	};
	own(blueprint) struct blueprint b = {
		.plan = plan,
		.channel = -1,
		.lifeline = -1,
		.in = -1,
		.out = -1,
		.err = -1,
		.root = -1,
		.groups = { -1, -1, -1, -1 },
		.argv = argv,
		.runtime_dir = site->runtime_dir,
		.by_root = plan->by_root,
		.probe = site->probe,
	};

	j->host_uid = geteuid();
	if (plan->by_root) {
		if (uid_lease_take(&j->lease, err) < 0)
			return -1;
		j->host_uid = j->lease.uid;
	}
	if (step_is_to_fail(STEP_RESOLVE)) {
		fail_sys(err, REMIT_E_KERNEL, "resolve");
		return step_failed_at(err, STEP_RESOLVE);
	}
	choose_cpus(&b.cpus, plan->limits.cpus);
	if (blueprint_resolve(&b, j->host_uid, err) < 0 ||
	    make_ends(j, &b, in, err) < 0 ||
	    cgroup_make(&j->group, site->cgroups, &plan->limits, name, err) <
		    0 ||
	    cgroup_open_joins(&j->group, b.groups, err) < 0 ||
	    blueprint_list_kept(&b, err) < 0 ||
	    send_order(j, plan, JAIL_UID, err) < 0)
		return -1;
	return start(j, &b, err);
}

/* Who wrote the first bytes of the channel, by the kernel's word. */
static int
speaker(struct jail *j, struct remit_error *err)
{
	char byte, control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	j->run_pid = -1;
	if (recvmsg(j->channel.fd, &msg, MSG_PEEK | MSG_DONTWAIT) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "recvmsg");
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_CREDENTIALS)
		return fail(err, REMIT_E_INTERNAL, "no credentials");
	j->run_pid = ((struct ucred *)(void *)CMSG_DATA(c))->pid;
	return 0;
}

int
jail_meet(struct jail *j, const struct plan *plan, struct remit_error *err)
{
	struct attest_want want = {
		.uid = j->host_uid,
		.parent = j->init_pid,
		/* What the keeper has the jail inherits; its own comes on
		   top. */
		.filters = plan_keeps(plan, MECH(SECCOMP))
				   ? attest_own_filters() + 1
				   : 0,
	};

	if (j->unjailed)
		return 0;
	if (speaker(j, err) < 0)
		return -1;
	j->run_pidfd = sys_pidfd_open(j->run_pid);
	if (j->run_pidfd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pidfd_open");
	if (cgroup_check(&j->group, j->run_pid, err) < 0)
		return -1;
	return attest(j->run_pid, &want, err);
}

int
jail_step_failed(const struct step_report *r, const struct plan *plan,
		 struct remit_error *err)
{
	const struct step *s;

	if (r->step >= STEP_READY)
		return fail(err, REMIT_E_PROTOCOL, "a report of no step");
	s = &steps[r->step];
	errno = r->sys_errno;
	fail_sys(err, REMIT_E_KERNEL, "lock-down step \"%s\" failed", s->name);
	step_failed_at(err, (enum step_id)r->step);
	if (r->step == STEP_LANDLOCK_RULES && r->sys_errno == ENOENT)
		snprintf(err->remedy, sizeof(err->remedy),
			 "A mounted path is not where it was put.");
	else if (r->step == STEP_RUNTIME && r->detail &&
		 r->detail <= plan->mount_count)
		snprintf(err->remedy, sizeof(err->remedy),
			 "A mount point could not be made: the jail paths of "
			 "mounts must not lie inside each other or inside the "
			 "interpreter's folders.");
	else
		snprintf(err->remedy, sizeof(err->remedy), "%s",
			 capabilities[s->proves].remedy);
	return -1;
}

void
jail_sample(const struct jail *j, struct exit_report *out)
{
	struct timespec t;
	clockid_t clock;
	uint64_t peak;

	if (j->run_pid <= 0)
		return;
	if (clock_getcpuclockid(j->run_pid, &clock) == 0 &&
	    clock_gettime(clock, &t) == 0)
		out->cpu_us = (uint64_t)t.tv_sec * 1000000 +
			      (uint64_t)t.tv_nsec / 1000;
	if (proc_status_number(j->run_pid, "VmHWM", &peak) == 0)
		out->max_rss_kib = (uint32_t)peak;
}

void
jail_interrupt(struct jail *j)
{
	if (j->run_pidfd >= 0)
		sys_pidfd_kill(j->run_pidfd, SIGINT);
}

void
jail_kill(struct jail *j)
{
	if (j->unjailed && j->init_pid)
		kill(-j->init_pid, SIGKILL);
	cgroup_kill(&j->group);
	if (j->init_pidfd >= 0)
		sys_pidfd_kill(j->init_pidfd, SIGKILL);
}

bool
jail_is_dead(struct jail *j, int *status)
{
	siginfo_t info = { 0 };

	if (!j->init_pid)
		return true;
	if (waitid(P_PID, (id_t)j->init_pid, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0)
		return false;
	*status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
					     : info.si_status;
	j->init_pid = 0;
	return true;
}

void
jail_free(struct jail *j)
{
	int status;

	if (j->init_pid) {
		jail_kill(j);
		waitpid(j->init_pid, &status, 0);
		j->init_pid = 0;
	}
	own_fd_close(&j->init_pidfd);
	own_fd_close(&j->run_pidfd);
	own_fd_close(&j->out);
	own_fd_close(&j->err);
	link_free(&j->channel);
	link_free(&j->lifeline);
	cgroup_free(&j->group);
	uid_lease_free(&j->lease);
	*j = (struct jail)JAIL_INIT;
}
