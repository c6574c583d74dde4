#include "jail/lock/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/file/fd.h"
#include "base/file/io.h"
#include "jail/linux_abi.h"
#include "jail/seccomp/filter.h"
#include "wire/frame.h"

#define THREAD_STACK ((size_t)1 << 20)

static int
recv_params(struct lock_params *params)
{
	unsigned char header[FRAME_HEADER], want[FRAME_HEADER];

	frame_header(want, FRAME_LOCK_PARAMS, sizeof(*params));
	if (io_read_exactly(LOCK_CHANNEL_FD, header, sizeof(header)) < 0)
		return -1;
	/* Parameters of another release may be shorter: do not wait for
	   more. */
	if (memcmp(header, want, sizeof(header))) {
		errno = EPROTO;
		return -1;
	}
	if (io_read_exactly(LOCK_CHANNEL_FD, params, sizeof(*params)) < 0)
		return -1;
	if (params->magic != LOCK_MAGIC || params->size != sizeof(*params) ||
	    params->filter > FILTER_FLAGS || params->closing > CLOSING_FLAGS) {
		errno = EPROTO;
		return -1;
	}
#ifndef REMIT_HOLES
	if (params->skip || params->fail_step) {
		errno = EPROTO;
		return -1;
	}
#endif
	return 0;
}

/*
 * If the address space is the memory limit, do not spend it on mere
 * reservations: malloc reserves 64 MiB for each arena, and each thread 8 MiB
 * for its stack.
 */
static int
spare_address_space(const struct lock_params *params)
{
#ifdef __GLIBC__
	pthread_attr_t attr;

	if (!(params->filter & FILTER_STRICT_MEMORY) &&
	    !params->limits[LOCK_LIMIT_AS])
		return 0;
	mallopt(M_ARENA_MAX, 1);
	if (pthread_getattr_default_np(&attr) ||
	    pthread_attr_setstacksize(&attr, THREAD_STACK) ||
	    pthread_setattr_default_np(&attr))
		return -1;
#else
	(void)params;
#endif
	return 0;
}

static int
step_close(const struct lock_params *params, uint32_t *detail)
{
	int last = params->skip & LOCK_SKIP_LANDLOCK || params->branch
			   ? LOCK_CHANNEL_FD
			   : LOCK_RULESET_FD;

	(void)detail;
	if (params->branch)
		return (int)syscall(SYS_close_range, last + 1, ~0u, 0);
	/* Prevent core dumps, wherever the kernel would write them. */
	if (spare_address_space(params) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_close_range, last + 1, ~0u, 0);
}

int
lock_scope_make(int *out)
{
	const struct ll_ruleset attr = {
		.scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL,
	};

	*out = -1;
	if (sys_landlock_create(NULL, 0, LL_CREATE_VERSION) < 6)
		return 0;
	*out = sys_landlock_create(&attr, sizeof(attr), 0);
	return *out < 0 ? -1 : 0;
}

int
lock_scope(int scope)
{
	return scope < 0 ? 0 : sys_landlock_restrict(scope);
}

static int
step_landlock(const struct lock_params *params, uint32_t *detail)
{
	(void)detail;
	if (params->skip & LOCK_SKIP_LANDLOCK)
		return 0;
	if (sys_landlock_restrict(LOCK_RULESET_FD) < 0)
		return -1;
	return close(LOCK_RULESET_FD);
}

static int
send_listener(int listener)
{
	unsigned char header[FRAME_HEADER];

	frame_header(header, FRAME_LISTENER, 0);
	return pass_send(LOCK_CHANNEL_FD, header, sizeof(header), &listener, 1,
			 0) == sizeof(header)
		       ? 0
		       : -1;
}

static int
limit_files(const struct lock_params *params)
{
	uint64_t most = params->limits[LOCK_LIMIT_NOFILE];

	return most ? enter_limit(RLIMIT_NOFILE, most) : 0;
}

/*
 * Loading the filter creates the listener, so what sends it can be forbidden
 * only afterwards, by a second filter. A descriptor cannot be sent while more
 * than RLIMIT_NOFILE of this user's are in flight (unix(7), ETOOMANYREFS), and
 * the user of this keeper may have thousands: so that limit is set here too.
 */
static int
step_seccomp(const struct lock_params *params, uint32_t *detail)
{
	unsigned variant = filter_of_code(params->filter, params->bare);
	unsigned closing = params->closing;
	own_fd int listener = -1;

	if (params->skip & LOCK_SKIP_SECCOMP)
		return limit_files(params);
	*detail = 1;
	if (filter_load_with_listener(variant, &listener) < 0)
		return -1;
	*detail = 2;
	if (listener >= 0 && send_listener(listener) < 0)
		return -1;
	*detail = 3;
	if (limit_files(params) < 0)
		return -1;
	*detail = 4;
	if (params->bare ||
	    params->filter & (FILTER_STRICT_MEMORY | FILTER_WASM))
		closing |= CLOSING_STRICT;
	if (filter_load_closing(closing) < 0)
		return -1;
	*detail = 0;
	return 0;
}

static const struct {
	enum step_id step;
	int (*run)(const struct lock_params *params, uint32_t *detail);
	bool is_branch_step; /* the others are inherited */
} lock_steps[] = {
	{ STEP_CLOSE, step_close, true },
	{ STEP_LANDLOCK, step_landlock, false },
	{ STEP_SECCOMP, step_seccomp, false },
	{ STEP_SELF_TEST, self_test, true },
};

static int
lock_report(struct step_report *report, int failed)
{
	report->sys_errno = failed;
	if (step_send_report(LOCK_CHANNEL_FD, report) < 0)
		return -1;
	return failed ? -1 : 0;
}

int
lock_params_read(struct lock_params *params, struct step_report *report)
{
	*report = (struct step_report){ .step = STEP_PARAMS };
	if (recv_params(params) < 0)
		return lock_report(report, errno);
	if (params->fail_step == STEP_PARAMS)
		return lock_report(report, EIO);
	return 0;
}

int
lock_down(const struct lock_params *params, struct step_report *report)
{
	*report = (struct step_report){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(lock_steps); i++) {
		report->step = lock_steps[i].step;
		if (params->branch && !lock_steps[i].is_branch_step)
			continue;
		if (report->step == params->fail_step)
			return lock_report(report, EIO);
		if (lock_steps[i].run(params, &report->detail) < 0)
			return lock_report(report, errno);
	}
	report->step = STEP_READY;
	return lock_report(report, 0);
}
