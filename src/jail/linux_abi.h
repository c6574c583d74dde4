/*
 * linux_abi: kernel interfaces newer than Debian 12's headers, and system calls
 * without a wrapper in its C library.
 */
#ifndef REMIT_LINUX_ABI_H
#define REMIT_LINUX_ABI_H

#include <linux/sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The processor-time clock of a process, for clock_gettime(2). It is what
   clock_getcpuclockid(3) returns, without the extra system call by which that
   checks that the process exists. */
#define CPU_CLOCK_OF(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

#ifndef PR_SET_MEMORY_MERGE /* Linux 6.4 */
#define PR_SET_MEMORY_MERGE 67
#endif

/* Landlock, ABI 1 to 7 (Documentation/userspace-api/landlock.rst). */
#define LL_FS_EXECUTE	  (UINT64_C(1) << 0)
#define LL_FS_WRITE_FILE  (UINT64_C(1) << 1)
#define LL_FS_READ_FILE	  (UINT64_C(1) << 2)
#define LL_FS_READ_DIR	  (UINT64_C(1) << 3)
#define LL_FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define LL_FS_REMOVE_FILE (UINT64_C(1) << 5)
#define LL_FS_MAKE_CHAR	  (UINT64_C(1) << 6)
#define LL_FS_MAKE_DIR	  (UINT64_C(1) << 7)
#define LL_FS_MAKE_REG	  (UINT64_C(1) << 8)
#define LL_FS_MAKE_SOCK	  (UINT64_C(1) << 9)
#define LL_FS_MAKE_FIFO	  (UINT64_C(1) << 10)
#define LL_FS_MAKE_BLOCK  (UINT64_C(1) << 11)
#define LL_FS_MAKE_SYM	  (UINT64_C(1) << 12)
#define LL_FS_REFER	  (UINT64_C(1) << 13) /* ABI 2 */
#define LL_FS_TRUNCATE	  (UINT64_C(1) << 14) /* ABI 3 */
#define LL_FS_IOCTL_DEV	  (UINT64_C(1) << 15) /* ABI 5 */

#define LL_NET_BIND_TCP	   (UINT64_C(1) << 0) /* ABI 4 */
#define LL_NET_CONNECT_TCP (UINT64_C(1) << 1)

#define LL_SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL	       (UINT64_C(1) << 1)

#define LL_CREATE_VERSION 1u
#define LL_RULE_PATH	  1

struct ll_ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

struct ll_path {
	uint64_t access;
	int32_t parent_fd;
} __attribute__((packed));

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

/* seccomp_unotify(2): run the waiting process and the one that answers it in
   turn on one processor (Linux 6.6). */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   _IOW('!', 4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (UINT64_C(1) << 0)
#endif

static inline int
sys_landlock_create(const struct ll_ruleset *attr, size_t size, unsigned flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, attr, size, flags);
}

static inline int
sys_landlock_add_path(int ruleset, const struct ll_path *rule)
{
	return (int)syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH, rule,
			    0);
}

static inline int
sys_landlock_restrict(int ruleset)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

static inline pid_t
sys_clone3(struct clone_args *args)
{
	return (pid_t)syscall(SYS_clone3, args, sizeof(*args));
}

static inline int
sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int
sys_pidfd_kill(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

static inline int
sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

#endif
