#include "jail/lock/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/file/io.h"
#include "base/file/pass.h"
#include "jail/linux_abi.h"
#include "jail/lock/enter.h"
#include "jail/lock/self_test.h"
#include "jail/seccomp/filter.h"
#include "wire/frame.h"

#define THREAD_STACK ((size_t)1 << 20)

static int
step_order(struct lock_order *order)
{
	unsigned char header[FRAME_HEADER], want[FRAME_HEADER];

	frame_header(want, FRAME_ORDER, sizeof(*order));
	if (io_read_exactly(ORDER_CHANNEL_FD, header, sizeof(header)) < 0)
		return -1;
	/* An order of another release may be shorter: do not wait for more. */
	if (memcmp(header, want, sizeof(header))) {
		errno = EPROTO;
		return -1;
	}
	if (io_read_exactly(ORDER_CHANNEL_FD, order, sizeof(*order)) < 0)
		return -1;
	if (order->magic != ORDER_MAGIC || order->size != sizeof(*order) ||
	    order->filter >= FILTER_INIT) {
		errno = EPROTO;
		return -1;
	}
#ifndef REMIT_HOLES
	if (order->skip || order->fail_step) {
		errno = EPROTO;
		return -1;
	}
#endif
	return 0;
}

/*
 * Where the address space is the memory limit, it must not be spent on what is
 * only reserved: 64 MiB for each arena of malloc, 8 MiB for each thread.
 */
static int
spare_address_space(const struct lock_order *order)
{
#ifdef __GLIBC__
	pthread_attr_t attr;

	if (!(order->filter & FILTER_STRICT_MEMORY))
		return 0;
	mallopt(M_ARENA_MAX, 1);
	if (pthread_getattr_default_np(&attr) ||
	    pthread_attr_setstacksize(&attr, THREAD_STACK) ||
	    pthread_setattr_default_np(&attr))
		return -1;
#else
	(void)order;
#endif
	return 0;
}

static int
step_close(const struct lock_order *order, uint32_t *detail)
{
	int last = order->skip & ORDER_SKIP_LANDLOCK || order->branch
			   ? ORDER_CHANNEL_FD
			   : ORDER_RULESET_FD;

	(void)detail;
	if (order->branch)
		return (int)syscall(SYS_close_range, last + 1, ~0u, 0);
	/* No core, wherever the kernel would send it. */
	if (spare_address_space(order) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_close_range, last + 1, ~0u, 0);
}

int
lock_scope(void)
{
	const struct ll_ruleset attr = {
		.scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL,
	};
	own_fd int ruleset = -1;

	if (sys_landlock_create(NULL, 0, LL_CREATE_VERSION) < 6)
		return 0;
	ruleset = sys_landlock_create(&attr, sizeof(attr), 0);
	return ruleset < 0 ? -1 : sys_landlock_restrict(ruleset);
}

static int
step_landlock(const struct lock_order *order, uint32_t *detail)
{
	(void)detail;
	if (order->skip & ORDER_SKIP_LANDLOCK)
		return 0;
	if (sys_landlock_restrict(ORDER_RULESET_FD) < 0)
		return -1;
	return close(ORDER_RULESET_FD);
}

static int
send_listener(int listener)
{
	unsigned char header[FRAME_HEADER];

	frame_header(header, FRAME_LISTENER, 0);
	return pass_send(ORDER_CHANNEL_FD, header, sizeof(header), &listener, 1,
			 0) == sizeof(header)
		       ? 0
		       : -1;
}

static int
limit_files(const struct lock_order *order)
{
	uint64_t most = order->limits[ORDER_LIMIT_NOFILE];

	return most ? enter_limit(RLIMIT_NOFILE, most) : 0;
}

/*
 * The listener is made by the filter, so what sends it can be forbidden only
 * after that, by a second one. A descriptor is not sent if more than
 * RLIMIT_NOFILE of this user's are on their way (unix(7), ETOOMANYREFS), and
 * its own caller may have thousands: so that limit comes here too.
 */
static int
step_seccomp(const struct lock_order *order, uint32_t *detail)
{
	unsigned variant = filter_of_code(order->filter, order->bare);
	own_fd int listener = -1;

	if (order->skip & ORDER_SKIP_SECCOMP)
		return limit_files(order);
	*detail = 1;
	if (filter_load_heard(variant, &listener) < 0)
		return -1;
	*detail = 2;
	if (listener >= 0 && send_listener(listener) < 0)
		return -1;
	*detail = 3;
	if (limit_files(order) < 0)
		return -1;
	*detail = 4;
	if (filter_load_closing(order->bare ||
					order->filter & FILTER_STRICT_MEMORY,
				order->direct) < 0)
		return -1;
	*detail = 0;
	return 0;
}

static const struct {
	enum step_id step;
	int (*run)(const struct lock_order *order, uint32_t *detail);
	bool of_branch; /* the others are inherited */
} lock_steps[] = {
	{ STEP_CLOSE, step_close, true },
	{ STEP_LANDLOCK, step_landlock, false },
	{ STEP_SECCOMP, step_seccomp, false },
	{ STEP_SELF_TEST, self_test, true },
};

static int
tell(struct step_report *report, int failed)
{
	report->sys_errno = failed;
	if (step_send_report(ORDER_CHANNEL_FD, report) < 0)
		return -1;
	return failed ? -1 : 0;
}

int
lock_order_read(struct lock_order *order, struct step_report *report)
{
	*report = (struct step_report){ .step = STEP_ORDER };
	if (step_order(order) < 0)
		return tell(report, errno);
	if (order->fail_step == STEP_ORDER)
		return tell(report, EIO);
	return 0;
}

int
lock_down(const struct lock_order *order, struct step_report *report)
{
	*report = (struct step_report){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(lock_steps); i++) {
		report->step = lock_steps[i].step;
		if (order->branch && !lock_steps[i].of_branch)
			continue;
		if (report->step == order->fail_step)
			return tell(report, EIO);
		if (lock_steps[i].run(order, &report->detail) < 0)
			return tell(report, errno);
	}
	report->step = STEP_READY;
	return tell(report, 0);
}
