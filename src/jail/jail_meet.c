/*
 * jail_meet: who speaks for a jail, and whether the kernel says of him what
 * the plan does.
 */
#include <string.h>
#include <sys/socket.h>

#include "attest.h"
#include "jail.h"
#include "linux_abi.h"
#include "notice.h"

/* The descriptor that came with a message, or -1. */
static int
descriptor_of(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	for (; c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static pid_t
sender_of(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	for (; c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_type == SCM_CREDENTIALS)
			return ((struct ucred *)(void *)CMSG_DATA(c))->pid;
	return -1;
}

/* The first bytes of the channel: by whom, by the kernel's word, and with
   which descriptor. */
static int
take_first_words(struct jail *j, struct remit_error *err)
{
	char bytes[512], control[CMSG_SPACE(sizeof(struct ucred)) +
				 CMSG_SPACE(sizeof(int))];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n =
		recvmsg(j->channel.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	j->run_pid = -1;
	if (n < 0)
		return fail_sys(err, REMIT_E_KERNEL, "recvmsg");
	j->listener = descriptor_of(&msg);
	j->run_pid = sender_of(&msg);
	if (j->run_pid < 0)
		return fail(err, REMIT_E_INTERNAL, "no credentials");
	if (buf_add(&j->channel.in, bytes, (size_t)n) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "receive buffer");
	return 0;
}

/* No pid namespace hides others who might speak, and nobody but us ends it. */
static int
check_alone(const struct jail *j, struct remit_error *err)
{
	if (j->run_pid != j->init_pid)
		return fail(err, REMIT_E_INTERNAL,
			    "process %d speaks for process %d", (int)j->run_pid,
			    (int)j->init_pid);
	if (sys_pidfd_kill(j->run_pidfd, 0) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"the keeper may not kill the code");
	return 0;
}

int
jail_meet(struct jail *j, struct remit_error *err)
{
	if (j->unjailed)
		return 0;
	if (take_first_words(j, err) < 0)
		return -1;
	j->run_pidfd = sys_pidfd_open(j->run_pid);
	if (j->run_pidfd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pidfd_open");
	if (j->listener >= 0)
		notice_set_up(j->listener);
	return 0;
}

int
jail_attest(const struct jail *j, const struct plan *plan,
	    struct remit_error *err)
{
	struct attest_want want = {
		.uid = j->host_uid,
		/* A zygote's child may still have its helper for a parent. */
		.parent = j->warm    ? 0
			  : j->alone ? getpid()
				     : j->init_pid,
		.bounded = !j->alone && plan->filter & PLAN_FILTER_SUBPROCESS,
		/* What the keeper has the jail inherits; its own two come on
		   top, and that of the zygote. */
		.filters = plan_keeps(plan, MECH(SECCOMP))
				   ? attest_own_filters() + 2 + j->warm
				   : 0,
	};

	if (j->branch)
		return fail(err, REMIT_E_INTERNAL, "a branch is seen to apart");
	if (j->unjailed)
		return 0;
	if (j->alone && check_alone(j, err) < 0)
		return -1;
	if (cgroup_check(&j->group, j->run_pid, err) < 0)
		return -1;
	return attest(j->run_pid, &want, err);
}
