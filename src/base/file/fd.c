#include "base/file/fd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- sending descriptors ---- */

uint32_t
pass_mask(const int *fds, size_t count)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			mask |= UINT32_C(1) << i;
	return mask;
}

ssize_t
pass_send(int socket, const void *bytes, size_t len, const int *fds,
	  size_t count, int flags)
{
	char control[CMSG_SPACE(PASS_MAX * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		if (n == PASS_MAX) {
			errno = EINVAL;
			return -1;
		}
		memcpy(CMSG_DATA(c) + n++ * sizeof(int), &fds[i], sizeof(int));
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	msg.msg_controllen = n ? CMSG_SPACE(n * sizeof(int)) : 0;
	return sendmsg(socket, &msg, flags | MSG_NOSIGNAL);
}

ssize_t
pass_recv(int socket, void *bytes, size_t len, int got[PASS_MAX], size_t *count,
	  int flags)
{
	pid_t sender;

	return pass_recv_from(socket, bytes, len, got, count, &sender, flags);
}

ssize_t
pass_recv_from(int socket, void *bytes, size_t len, int got[PASS_MAX],
	       size_t *count, pid_t *sender, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred)) +
		     CMSG_SPACE(PASS_MAX * sizeof(int))];
	struct iovec iov = { bytes, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	*count = 0;
	*sender = -1;
	for (; c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS)
			*sender = ((struct ucred *)(void *)CMSG_DATA(c))->pid;
		/* There is at most one: the kernel puts all descriptors into
		   one control message. */
		if (c->cmsg_type == SCM_RIGHTS) {
			*count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(got, CMSG_DATA(c), *count * sizeof(int));
		}
	}
	return n;
}

int
pass_place(const int *got, size_t got_count, uint32_t mask, int *fds,
	   size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		bool has = mask & UINT32_C(1) << i;

		if (has && n == got_count)
			return -1;
		fds[i] = has ? got[n++] : -1;
	}
	return n == got_count ? 0 : -1;
}

/* ---- closing descriptors ---- */

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void
fds_sort(int *fds, size_t count)
{
	qsort(fds, count, sizeof(*fds), by_number);
}

void
fds_close_others(const int *sorted, size_t count)
{
	unsigned from = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned kept = (unsigned)sorted[i];

		if (kept > from)
			syscall(SYS_close_range, from, kept - 1, 0);
		from = kept + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}
