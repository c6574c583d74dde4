#include "jail/seccomp/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "jail/linux_abi.h"
#include "jail/seccomp/filter.h"

#include "syscall_names.h"

void
notice_prepare(int listener)
{
	/* Older kernels lack this flag and only answer more slowly. */
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
	      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int
notice_recv(int listener, struct notice *out)
{
	struct seccomp_notif n = { 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		return -1;
	*out = (struct notice){
		.listener = listener,
		.id = n.id,
		.thread = (pid_t)n.pid,
		.call = n.data,
	};
	return 0;
}

size_t
notice_read(const struct notice *n, uint64_t at, void *to, size_t size)
{
	struct iovec ours = { to, size };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = page - at % page;
	/* Each range is read completely or not at all: so read up to the end of
	   the page, and then the rest. */
	struct iovec theirs[] = {
		{ (void *)(uintptr_t)at, first < size ? first : size },
		{ (void *)(uintptr_t)(at + first),
		  first < size ? size - first : 0 },
	};
	ssize_t got;

	if (!at || n->thread <= 0)
		return 0;
	got = process_vm_readv(n->thread, &ours, 1, theirs, ARRAY_LEN(theirs),
			       0);
	if (got <= 0 ||
	    ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) < 0)
		return 0;
	return (size_t)got;
}

void
notice_refuse(const struct notice *n, unsigned filter)
{
	uint32_t verdict = filter_verdict(filter_native(filter), &n->call);
	struct seccomp_notif_resp answer = {
		.id = n->id,
		.error = -(int)(verdict & SECCOMP_RET_DATA),
	};

	/* An error of 0 would make the call succeed. */
	if ((verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_USER_NOTIF ||
	    !answer.error)
		answer.error = -EPERM;
	/* This fails if the caller was killed meanwhile, and then no answer is
	   needed. */
	ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int
notice_continue(const struct notice *n)
{
	struct seccomp_notif_resp answer = {
		.id = n->id,
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	return ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int
notice_inject(const struct notice *n, int fd, int as)
{
	struct seccomp_notif_addfd add = {
		.id = n->id,
		.flags = SECCOMP_ADDFD_FLAG_SETFD,
		.srcfd = (uint32_t)fd,
		.newfd = (uint32_t)as,
		.newfd_flags = O_CLOEXEC,
	};

	return ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -1 : 0;
}

int
notice_refuse_until(int fd, int listener, unsigned filter, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
	};
	struct notice n;

	while (poll(p, ARRAY_LEN(p), timeout_ms) > 0) {
		if (p[0].revents)
			return 0;
		if (!(p[1].revents & POLLIN))
			p[1].fd =
				-1; /* every process with this filter is dead */
		else if (notice_recv(listener, &n) == 0)
			notice_refuse(&n, filter);
	}
	return -1;
}

const char *
notice_call_name(int number)
{
	const size_t count = ARRAY_LEN(syscall_names[0]);

	if (number < 0 || (size_t)number >= count)
		return NULL;
	return syscall_names[FILTER_NATIVE][number];
}
