/*
 * self_test: attempts from inside the jail that must fail, made after the
 * lock-down and before any foreign byte is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/linux_abi.h"
#include "jail/lock/lock.h"
#include "jail/seccomp/filter.h"

/* A file that no Landlock rule covers: in the jail's root, or, for a bare jail,
   next to the workspace, where the code starts. */
#define SENTINEL      "/.sentinel"
#define SENTINEL_BARE "../.sentinel"

static bool
path_opens(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* A missing file means that this is the wrong root, which is as bad as
	   a readable file. */
	if (fd < 0)
		return errno != EACCES;
	close(fd);
	return true;
}

static bool
sentinel_opens(const struct lock_params *params)
{
	return path_opens(params->bare ? SENTINEL_BARE : SENTINEL);
}

/* A bare jail can see the host's paths, but must not be able to open them. */
static bool
host_is_seen(const struct lock_params *params)
{
	struct stat st;

	if (!params->bare)
		return stat("/proc/self", &st) == 0 ||
		       stat("/etc/shadow", &st) == 0;
	return path_opens("/proc/self/status") || path_opens("/");
}

/* In a bare jail the keeper is visible and may have the same user. */
static bool
keeper_is_reached(const struct lock_params *params)
{
	return params->bare &&
	       (kill((pid_t)params->keeper, 0) == 0 || errno != EPERM);
}

static bool
mode_is_changed(const struct lock_params *params)
{
	return params->bare && (chmod(".", 0700) == 0 || errno != EPERM);
}

/*
 * The next three make calls that request nothing. The kernel alone would return
 * other errors, and the filter reports no denial to the keeper
 * (syscall_check.c).
 */
static bool
socket_opens(const struct lock_params *params)
{
	int want = params->filter & FILTER_NETWORK ? ENOSYS : EPERM;

	return syscall(SYS_socket, AF_UNSPEC, 0, 0) >= 0 || errno != want;
}

static bool
exec_is_tried(const struct lock_params *params)
{
	if (params->filter & FILTER_SUBPROCESS)
		return false;
	return syscall(SYS_execve, NULL, NULL, NULL) == 0 || errno != EPERM;
}

static bool
namespace_is_made(const struct lock_params *params)
{
	(void)params;
	return syscall(SYS_unshare, 0) == 0 || errno != EPERM;
}

static bool
limit_is_raised(const struct lock_params *params)
{
	struct rlimit none = { 0, 0 };

	(void)params;
	return syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL) == 0 ||
	       errno != EPERM;
}

static bool
user_is_wrong(const struct lock_params *params)
{
	return getuid() != params->uid || geteuid() != params->uid;
}

static bool
rights_remain(const struct lock_params *params)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };

	(void)params;
	/* A loaded filter refuses capget. Then the keeper's check of
	   /proc/PID/status is the proof. */
	if (syscall(SYS_capget, &head, data) < 0)
		return errno != EPERM && errno != ENOSYS;
	return data[0].permitted || data[1].permitted;
}

static bool
descriptor_remains(const struct lock_params *params)
{
	(void)params;
	for (int fd = LOCK_CHANNEL_FD + 1; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return true;
	return false;
}

/* Each function must return false. */
static const struct {
	bool (*escapes)(const struct lock_params *params);
	uint32_t unless_skipped;
} self_tests[] = {
	{ user_is_wrong, 0 },
	{ rights_remain, 0 },
	{ descriptor_remains, 0 },
	{ sentinel_opens, LOCK_SKIP_LANDLOCK },
	{ host_is_seen, LOCK_SKIP_ROOT },
	{ keeper_is_reached, LOCK_SKIP_SECCOMP },
	{ mode_is_changed, LOCK_SKIP_SECCOMP },
	{ socket_opens, LOCK_SKIP_SECCOMP },
	{ exec_is_tried, LOCK_SKIP_SECCOMP },
	{ namespace_is_made, LOCK_SKIP_SECCOMP },
	{ limit_is_raised, LOCK_SKIP_SECCOMP },
};

int
self_test(const struct lock_params *params, uint32_t *which)
{
	for (size_t i = 0; i < sizeof(self_tests) / sizeof(self_tests[0]);
	     i++) {
		if (params->skip & self_tests[i].unless_skipped)
			continue;
		if (self_tests[i].escapes(params)) {
			*which = (uint32_t)i + 1;
			errno = EACCES;
			return -1;
		}
	}
	return 0;
}
