/*
 * jail_identify: which process is at the other end of a jail's channel, and
 * whether the kernel confirms that it is locked down as planned.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "jail/attest.h"
#include "jail/jail.h"
#include "jail/linux_abi.h"
#include "jail/seccomp/notice.h"

/* Receive the first bytes of the channel, with the sender's pid as the kernel
   reports it and the descriptor that came with them. */
static int
recv_first_message(struct jail *j, struct remit_error *err)
{
	int got[PASS_MAX];
	char bytes[512];
	size_t count, expected;
	ssize_t n = pass_recv_from(j->channel.fd, bytes, sizeof(bytes), got,
				   &count, &j->run_pid, MSG_DONTWAIT);

	if (n < 0)
		return fail_sys(err, REMIT_E_KERNEL, "recvmsg");
	/* Expect the listener and nothing else. A branch sends none: it shares
	   its session's. Close whatever else a session's code sends. */
	expected = j->branch ? 0 : 1;
	for (size_t i = expected; i < count; i++)
		close(got[i]);
	if (expected && count)
		j->listener = got[0];
	if (count > expected)
		return fail(err, REMIT_E_PROTOCOL,
			    "the first message has %zu descriptors", count);
	if (j->run_pid < 0)
		return fail(err, REMIT_E_INTERNAL,
			    "the kernel did not add a pid to the first "
			    "message of the jail");
	if (buf_add(&j->channel.in, bytes, (size_t)n) < 0)
		return fail_memory(err, "receive buffer");
	return 0;
}

/* Without a pid namespace another process could be at the other end, and only
   the keeper can end the code. */
static int
check_single_process(const struct jail *j, struct remit_error *err)
{
	if (j->run_pid != j->init_pid)
		return fail(err, REMIT_E_INTERNAL,
			    "process %d is at the other end of the channel of "
			    "process %d",
			    (int)j->run_pid, (int)j->init_pid);
	if (sys_pidfd_kill(j->run_pidfd, 0) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"the keeper may not send signals to the code");
	return 0;
}

int
jail_identify(struct jail *j, struct remit_error *err)
{
	if (j->unjailed)
		return 0;
	if (recv_first_message(j, err) < 0)
		return -1;
	j->run_pidfd = sys_pidfd_open(j->run_pid);
	if (j->run_pidfd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pidfd_open");
	if (j->listener >= 0)
		notice_prepare(j->listener);
	return 0;
}

int
jail_attest(const struct jail *j, const struct plan *plan,
	    struct remit_error *err)
{
	struct attest_want want = {
		.uid = j->host_uid,
		/* The parent of a zygote's child may still be the zygote's
		   helper. */
		.parent = j->warm      ? 0
			  : j->no_init ? getpid()
				       : j->init_pid,
		.bounded = !j->no_init && plan->filter & PLAN_FILTER_SUBPROCESS,
		/* The jail inherits the keeper's filters, and adds two and that
		   of its zygote. */
		.filters = plan_keeps(plan, MECH(SECCOMP))
				   ? attest_own_filters() + 2 + j->warm
				   : 0,
	};

	if (j->branch)
		return fail(err, REMIT_E_INTERNAL,
			    "a branch is attested by branch_attest()");
	if (j->unjailed)
		return 0;
	if (j->no_init && check_single_process(j, err) < 0)
		return -1;
	if (cgroup_check(&j->group, j->run_pid, err) < 0)
		return -1;
	return attest(j->run_pid, &want, err);
}
