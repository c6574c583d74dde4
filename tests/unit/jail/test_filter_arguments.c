/*
 * The calls that are checked by their arguments, tried with every value that
 * means something to the kernel, and the calls that must never be allowed.
 * expect() tests both architectures.
 */
#include "base/own.h"
#include "filter_query.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#define THREAD	    UINT64_C(0x3d0f00)
#define THREAD_MUSL UINT64_C(0x7d0f00)
#define FORK	    UINT64_C(0x1200011)
#define SPAWN	    UINT64_C(0x4111)

static void
expect_in_all(const char *const *names, size_t n, uint32_t action)
{
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (size_t i = 0; i < n; i++)
			expect(v, names[i], action, 0);
}

#define EXPECT_IN_ALL(names, action) \
	expect_in_all(names, ARRAY_LEN(names), action)

/* Children. */

/* Try each of the 64 bits alone, and each one flipped in a value that
   passes. */
static void
expect_no_neighbour(unsigned variant, uint64_t flags)
{
	expect(variant, "clone", ALLOW, flags);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t other = flags ^ BIT(bit);

		if (other == THREAD || other == THREAD_MUSL)
			continue;
		expect(variant, "clone", REFUSE(EPERM), other);
	}
}

static void
clone_makes_threads_only_with_two_flag_values(void **state)
{
	static const unsigned variants[] = {
		0,
		FILTER_NETWORK,
		FILTER_STRICT_MEMORY,
		FILTER_NETWORK | FILTER_STRICT_MEMORY,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		expect_no_neighbour(variants[i], THREAD);
		expect_no_neighbour(variants[i], THREAD_MUSL);
		expect(variants[i], "clone", REFUSE(EPERM), 0);
		expect(variants[i], "clone", REFUSE(EPERM), FORK);
		expect(variants[i], "clone", REFUSE(EPERM), SIGCHLD);
		expect(variants[i], "clone", REFUSE(EPERM), SPAWN);
		for (unsigned bit = 0; bit < 64; bit++)
			expect(variants[i], "clone", REFUSE(EPERM), BIT(bit));
	}
}

/* Each of these must be explained: the keeper could not let a plain refusal
   pass. */
static void
expect_explained(const char *name, uint64_t arg)
{
	const uint64_t args[QUERY_ARGS] = { arg };

	for (unsigned arch = 0; arch < FILTER_ARCHES; arch++) {
		int nr = query_number(arch, name);

		assert_true(nr >= 0);
		assert_int_equal(
			query_call(arch, FILTER_FORKABLE, (unsigned)nr, args)
				.action,
			EXPLAIN(EPERM));
	}
}

static void
forkable_code_cannot_exec_and_needs_the_keeper_to_fork(void **state)
{
	(void)state;
	expect_no_neighbour(FILTER_FORKABLE, THREAD);
	expect_explained("clone", FORK);
	expect_explained("clone", SIGCHLD);
	expect_explained("clone", SPAWN);
	expect_explained("setns", 3);
	expect_explained("unshare", CLONE_NEWUSER);
	expect(FILTER_FORKABLE, "fork", REFUSE(EPERM), 0);
	expect(FILTER_FORKABLE, "vfork", REFUSE(EPERM), 0);
	expect(FILTER_FORKABLE, "clone3", REFUSE(ENOSYS), 0);
	expect(FILTER_FORKABLE, "execve", REFUSE(EPERM), 0);
	expect(FILTER_FORKABLE, "execveat", REFUSE(EPERM), 0);
	expect(FILTER_FORKABLE, "mount", REFUSE(EPERM), 0);
	expect(FILTER_FORKABLE, "ptrace", REFUSE(EPERM), 0);
}

static void
forkable_code_can_only_drop_rights(void **state)
{
	(void)state;
	expect(FILTER_FORKABLE, "prctl", ALLOW, PR_CAPBSET_DROP);
	expect(FILTER_FORKABLE, "prctl", REFUSE(EPERM), PR_SET_SECUREBITS);
	expect(FILTER_FORKABLE, "prctl", REFUSE(EPERM), PR_CAP_AMBIENT);
	expect(FILTER_FORKABLE, "prctl", REFUSE(EPERM), PR_SET_KEEPCAPS);
	expect(FILTER_FORKABLE, "prctl", REFUSE(EPERM), PR_SET_DUMPABLE);
	expect(FILTER_FORKABLE, "setuid", REFUSE(EPERM), 0);
	expect(0, "prctl", REFUSE(EPERM), PR_CAPBSET_DROP);
	expect(0, "capset", REFUSE(EPERM), 0);
	expect(0, "setsid", REFUSE(EPERM), 0);
}

static void
subprocess_gets_no_namespace_and_no_tracer(void **state)
{
	const uint64_t refused = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
				 CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
				 CLONE_NEWNET | CLONE_NEWTIME | CLONE_PTRACE |
				 CLONE_UNTRACED | CLONE_PARENT |
				 UINT64_C(0xffffffff00000000);

	(void)state;
	expect(FILTER_SUBPROCESS, "clone", ALLOW, FORK);
	expect(FILTER_SUBPROCESS, "clone", ALLOW, SPAWN);
	expect(FILTER_SUBPROCESS, "clone", ALLOW, THREAD);
	expect(FILTER_SUBPROCESS, "clone", ALLOW, THREAD_MUSL);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint32_t want = BIT(bit) & refused ? REFUSE(EPERM) : ALLOW;

		expect(FILTER_SUBPROCESS, "clone", want, BIT(bit));
		expect(FILTER_SUBPROCESS, "clone", want, FORK | BIT(bit));
		expect(FILTER_SUBPROCESS, "clone", want, SPAWN | BIT(bit));
	}
}

static void
clone3_is_enosys_for_code(void **state)
{
	static const char *const names[] = { "clone3" };

	(void)state;
	EXPECT_IN_ALL(names, REFUSE(ENOSYS));
	expect(FILTER_INIT, "clone3", KILL, 0);
	expect(FILTER_KEEPER, "clone3", ALLOW, 0);
}

static void
exec_needs_subprocess_and_a_path(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		bool may = v & FILTER_SUBPROCESS;
		uint32_t want = may ? ALLOW : REFUSE(EPERM);

		expect(v, "execve", want, 0);
		expect(v, "vfork", want, 0);
		expect(v, "setsid", v & FILTER_FORKABLE ? ALLOW : want, 0);
		expect(v, "setpgid", want, 0);
		expect(v, "execveat", want, 3, 0, 0, 0, 0);
		expect(v, "execveat", want, 3, 0, 0, 0, HIGH);
		for (unsigned bit = 0; bit < 32; bit++)
			expect(v, "execveat", REFUSE(EPERM), 3, 0, 0, 0,
			       BIT(bit));
	}
}

/* Signals. */

static void
code_can_signal_only_itself(void **state)
{
	static const uint64_t others[] = {
		1, 3, 4, 100, 0xffffffff, UINT64_MAX, BIT(31), 0xfffffffe,
	};

	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		if (v & FILTER_SUBPROCESS)
			continue;
		expect(v, "kill", ALLOW, FILTER_RUN_PID, SIGTERM);
		expect(v, "kill", ALLOW, HIGH | FILTER_RUN_PID, SIGTERM);
		expect(v, "kill", ALLOW, 0, SIGTERM);
		expect(v, "tgkill", ALLOW, FILTER_RUN_PID, 7, SIGTERM);
		expect(v, "tgkill", REFUSE(EPERM), 0, 7, SIGTERM);
		expect(v, "tkill", REFUSE(EPERM), FILTER_RUN_PID, SIGTERM);
		for (size_t i = 0; i < ARRAY_LEN(others); i++) {
			expect(v, "kill", REFUSE(EPERM), others[i]);
			expect(v, "tgkill", REFUSE(EPERM), others[i]);
		}
	}
}

static void
subprocess_can_signal_its_pid_namespace(void **state)
{
	(void)state;
	expect(FILTER_SUBPROCESS, "kill", ALLOW, 17, SIGTERM);
	expect(FILTER_SUBPROCESS, "kill", ALLOW, UINT64_MAX, SIGTERM);
	expect(FILTER_SUBPROCESS, "tgkill", ALLOW, 17, 18, SIGTERM);
	expect(FILTER_SUBPROCESS, "rt_sigqueueinfo", REFUSE(EPERM), 17);
}

/* O_NONBLOCK is PIDFD_NONBLOCK. Descriptors of processes do not help to take
   theirs: see newer_calls_are_enosys(). */
static void
pidfds_need_subprocess_and_a_known_flag(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		bool may = v & FILTER_SUBPROCESS;

		expect(v, "pidfd_open", may ? ALLOW : REFUSE(ENOSYS), 17, 0);
		expect(v, "pidfd_open", may ? ALLOW : REFUSE(ENOSYS), 17,
		       O_NONBLOCK);
		expect(v, "pidfd_open", may ? REFUSE(EINVAL) : REFUSE(ENOSYS),
		       17, O_EXCL);
		expect(v, "pidfd_send_signal", may ? ALLOW : REFUSE(ENOSYS),
		       17);
		expect(v, "pidfd_getfd", REFUSE(ENOSYS), 17);
	}
}

/* The process itself. */

static void
prctl_allows_only_five_options(void **state)
{
	static const uint64_t allowed[] = {
		PR_SET_NAME,	   PR_GET_NAME, PR_GET_DUMPABLE,
		PR_GET_TIMERSLACK, 0x53564d41,
	};

	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		for (uint64_t option = 0; option <= 80; option++) {
			bool drops = v & FILTER_FORKABLE &&
				     option == PR_CAPBSET_DROP;
			uint32_t want = IS_ONE_OF(option, allowed) || drops
						? ALLOW
						: REFUSE(EPERM);

			expect(v, "prctl", want, option);
			expect(v, "prctl", want, option | HIGH);
		}
		expect(v, "prctl", ALLOW, 0x53564d41);
		expect(v, "prctl", REFUSE(EPERM), 0x59616d61); /* PTRACER */
		expect(v, "prctl", REFUSE(EPERM), UINT64_MAX);
	}
}

static void
arch_prctl_allows_only_the_thread_pointer(void **state)
{
	(void)state;
	for (uint64_t option = 0x1000; option < 0x6000; option++)
		expect(0, "arch_prctl",
		       option == 0x1002 ? ALLOW : REFUSE(EPERM), option);
}

static void
personality_can_be_read_but_not_changed(void **state)
{
	(void)state;
	expect(0, "personality", ALLOW, 0xffffffff);
	expect(0, "personality", ALLOW, UINT64_MAX);
	expect(0, "personality", REFUSE(EPERM), 0);
	expect(0, "personality", REFUSE(EPERM), UINT64_C(0xffffffff00000000));
	for (unsigned bit = 0; bit < 32; bit++) {
		expect(0, "personality", REFUSE(EPERM), BIT(bit));
		expect(0, "personality", REFUSE(EPERM), 0xffffffff ^ BIT(bit));
	}
}

static void
limits_can_be_read_but_not_set(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		expect(v, "prlimit64", ALLOW, 0, 7, 0, 0x1000);
		expect(v, "setrlimit", REFUSE(EPERM), 7);
		expect(v, "getrlimit", ALLOW, 7);
	}
	/* The last limit is set after the first filter and before the
	   second. */
	for (unsigned v = FILTER_CLOSING; v < FILTER_VARIANTS; v++) {
		expect(v, "prlimit64", ALLOW, 0, 7, 0, 0x1000);
		for (unsigned bit = 0; bit < 64; bit++)
			expect(v, "prlimit64", REFUSE(EPERM), 0, 7, BIT(bit));
	}
}

static void
sched_setaffinity_is_refused(void **state)
{
	static const char *const names[] = {
		"sched_setaffinity", "sched_setscheduler", "sched_setparam",
		"sched_setattr",     "ioprio_set",
	};

	(void)state;
	EXPECT_IN_ALL(names, REFUSE(EPERM));
}

/* A program that yields to others is told that it does; nothing changes. */
static void
setpriority_ignores_only_lowering_the_own_priority(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		bool may = v & FILTER_SUBPROCESS;

		for (uint64_t n = 0; n < 20; n++)
			expect(v, "setpriority", may ? IGNORE : REFUSE(EPERM),
			       PRIO_PROCESS, 0, n);
		for (int64_t n = -40; n < 0; n++) {
			expect(v, "setpriority", REFUSE(EPERM), PRIO_PROCESS, 0,
			       (uint64_t)n);
			expect(v, "setpriority", REFUSE(EPERM), PRIO_PROCESS, 0,
			       (uint32_t)n);
		}
		for (uint64_t which = 1; which < 4; which++)
			expect(v, "setpriority", REFUSE(EPERM), which, 0, 1);
		for (unsigned bit = 0; bit < 32; bit++)
			expect(v, "setpriority", REFUSE(EPERM), PRIO_PROCESS,
			       BIT(bit), 1);
	}
}

/* On these errors programs continue: the file system seems to have no
   attributes, and the kernel no timers. */
static void
attributes_and_timers_are_missing_and_not_forbidden(void **state)
{
	static const char *const attributes[] = {
		"setxattr",    "lsetxattr",    "fsetxattr",
		"removexattr", "lremovexattr", "fremovexattr",
	};
	static const char *const timers[] = {
		"timer_create",	    "timer_settime", "timer_gettime",
		"timer_getoverrun", "timer_delete",
	};

	(void)state;
	EXPECT_IN_ALL(attributes, REFUSE(EOPNOTSUPP));
	EXPECT_IN_ALL(timers, REFUSE(ENOSYS));
}

static void
futex_allows_only_wait_and_wake(void **state)
{
	static const uint64_t allowed[] = {
		FUTEX_WAIT,
		FUTEX_WAKE,
		FUTEX_WAIT_BITSET,
		FUTEX_WAKE_BITSET,
	};

	(void)state;
	for (uint64_t op = 0; op < 128; op++) {
		uint32_t want = IS_ONE_OF(op, allowed) ? ALLOW : REFUSE(ENOSYS);

		expect(0, "futex", want, 0, op);
		expect(0, "futex", want, 0, op | FUTEX_PRIVATE_FLAG);
		expect(0, "futex", want, 0, op | FUTEX_CLOCK_REALTIME);
		expect(0, "futex", want, 0, op | HIGH);
		for (unsigned bit = 9; bit < 32; bit++)
			expect(0, "futex", REFUSE(ENOSYS), 0, op | BIT(bit));
	}
}

/* Memory. */

static void
mmap_refuses_pages_that_no_limit_counts(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			uint64_t flags = MAP_PRIVATE | BIT(bit);
			uint32_t want = ALLOW;

			if (BIT(bit) & (MAP_HUGETLB | MAP_GROWSDOWN))
				want = REFUSE(ENOMEM);
			if (BIT(bit) & MAP_LOCKED)
				want = REFUSE(EPERM);
			expect(v, "mmap", want, 0, 4096, 7, flags);
			expect(v, "mmap", want, 0, 4096, 7, flags | HIGH);
		}
		expect(v, "mmap", ALLOW, 0, 4096, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_FIXED);
		expect(v, "mmap", ALLOW, 0, 4096, PROT_READ, MAP_SHARED, 3);
	}
}

/* Bit 2 is MFD_HUGETLB, bits 26 to 31 are the size of its pages. */
static void
memfd_gets_no_huge_pages(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_STRICT_MEMORY; v++)
		for (uint64_t flags = 0; flags < 64; flags++) {
			uint32_t want = flags & 4    ? REFUSE(ENOMEM)
					: flags < 32 ? ALLOW
						     : REFUSE(EINVAL);

			expect(v, "memfd_create", want, 1, flags | HIGH);
			expect(v, "memfd_create",
			       flags & 4 ? REFUSE(ENOMEM) : REFUSE(EINVAL), 1,
			       flags | BIT(30));
		}
}

/* Descriptors. */

static void
direct_reads_are_refused(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		expect(v, "open", REFUSE(EINVAL), 0, O_RDONLY | O_DIRECT);
		expect(v, "openat", REFUSE(EINVAL), 0, 0, O_RDONLY | O_DIRECT);
		expect(v, "openat", ALLOW, 0, 0, O_RDONLY | O_DIRECTORY);
		expect(v, "preadv2", ALLOW, 0, 0, 0, 0, 0, 0x1e);
		expect(v, "preadv2", REFUSE(EOPNOTSUPP), 0, 0, 0, 0, 0, 0x80);
		expect(v, "pwritev2", REFUSE(EOPNOTSUPP), 0, 0, 0, 0, 0, 0x82);
		expect(v, "pwritev2", REFUSE(EOPNOTSUPP), 0, 0, 0, 0, 0, 1);
		expect(v, "fcntl", REFUSE(EINVAL), 0, F_SETFL, O_DIRECT);
	}
}

static void
fcntl_allows_only_thirteen_commands(void **state)
{
	static const uint64_t allowed[] = {
		F_DUPFD,      F_GETFD,	   F_SETFD,	 F_GETFL,
		F_SETFL,      F_GETLK,	   F_SETLK,	 F_SETLKW,
		F_OFD_GETLK,  F_OFD_SETLK, F_OFD_SETLKW, F_DUPFD_CLOEXEC,
		F_GETPIPE_SZ,
	};

	(void)state;
	for (uint64_t command = 0; command < 1100; command++) {
		uint32_t want =
			IS_ONE_OF(command, allowed) ? ALLOW : REFUSE(EPERM);

		expect(0, "fcntl", want, 0, command);
		expect(0, "fcntl", want, 0, command | HIGH);
	}
	for (unsigned v = 0; v < FILTER_INIT; v++)
		expect(v, "fcntl", REFUSE(EPERM), 0, F_SETPIPE_SZ, 1 << 20);
}

static void
ioctl_allows_only_seven_requests(void **state)
{
	static const uint64_t allowed[] = {
		TCGETS,	 TIOCGWINSZ, FIONREAD, FIONBIO,
		FIOCLEX, FIONCLEX,   SIOCOUTQ,
	};

	(void)state;
	for (uint64_t request = 0; request <= 0xffff; request++) {
		uint32_t want =
			IS_ONE_OF(request, allowed) ? ALLOW : REFUSE(ENOTTY);

		expect(0, "ioctl", want, 0, request);
		expect(0, "ioctl", want, 0, request | HIGH);
		/* the same number with a direction and a size */
		expect(0, "ioctl", REFUSE(ENOTTY), 0, request | 0x80040000);
	}
}

static void
ioctl_of_programs_allows_terminals(void **state)
{
	static const uint64_t allowed[] = {
		TCGETS,	  TIOCGWINSZ, FIONREAD,	 FIONBIO,    FIOCLEX,
		FIONCLEX, SIOCOUTQ,   TIOCGPTN,	 TIOCSPTLCK, TIOCGPTPEER,
		TCSETS,	  TCSETSW,    TCSETSF,	 TCSBRK,     TCXONC,
		TCFLSH,	  TIOCSCTTY,  TIOCNOTTY, TIOCGPGRP,  TIOCSPGRP,
		TIOCGSID, TIOCSWINSZ,
	};

	(void)state;
	for (uint64_t request = 0; request <= 0xffff; request++) {
		uint32_t want =
			IS_ONE_OF(request, allowed) ? ALLOW : REFUSE(ENOTTY);

		expect(FILTER_SUBPROCESS, "ioctl", want, 0, request);
		expect(FILTER_SUBPROCESS, "ioctl", want, 0, request | HIGH);
	}
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		expect(FILTER_SUBPROCESS, "ioctl", ALLOW, 0, allowed[i]);
}

static void
ioctl_ignores_the_high_bits_of_a_request(void **state)
{
	static const uint64_t bad[] = { TIOCSTI, TIOCLINUX, TIOCSETD,
					TIOCCONS };

	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
			expect(v, "ioctl", REFUSE(ENOTTY), 0, bad[i]);
			for (unsigned bit = 32; bit < 64; bit++)
				expect(v, "ioctl", REFUSE(ENOTTY), 0,
				       bad[i] | BIT(bit));
		}
	expect(0, "ioctl", ALLOW, 0, TCGETS | HIGH);
	for (unsigned v = 0; v < FILTER_INIT; v++)
		if (!(v & FILTER_SUBPROCESS))
			expect(v, "ioctl", REFUSE(ENOTTY), 0, TIOCSCTTY);
}

/* Calls that are never allowed. */

static void
calls_that_a_filter_cannot_inspect_get_enosys(void **state)
{
	static const char *const names[] = {
		"io_uring_setup",
		"io_uring_enter",
		"io_uring_register",
		"userfaultfd",
		"bpf",
		"perf_event_open",
		"memfd_secret",
		"kcmp",
		"tee",
		"vmsplice",
		"fanotify_init",
		"name_to_handle_at",
		"open_by_handle_at",
		"pidfd_getfd",
		"pkey_mprotect",
		"shmget",
		"msgget",
		"semget",
		"mq_open",
		"futex_waitv",
		"futex_requeue",
	};

	(void)state;
	EXPECT_IN_ALL(names, REFUSE(ENOSYS));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (unsigned v = FILTER_INIT + 1; v < FILTER_CLOSING; v++)
			expect(v, names[i], REFUSE(ENOSYS), 0);
}

static void
lock_down_calls_are_refused_afterwards(void **state)
{
	static const char *const missing[] = {
		"landlock_create_ruleset",
		"landlock_add_rule",
		"landlock_restrict_self",
		"fsopen",
		"fsmount",
		"move_mount",
		"open_tree",
		"mount_setattr",
	};
	static const char *const refused[] = {
		"mount",    "umount2",	 "pivot_root",	     "chroot",
		"unshare",  "setns",	 "setuid",	     "setgid",
		"setreuid", "setgroups", "keyctl",	     "setresuid",
		"setfsuid", "chown",	 "fchownat",	     "mknod",
		"mknodat",  "ptrace",	 "process_vm_readv",
	};

	(void)state;
	EXPECT_IN_ALL(missing, REFUSE(ENOSYS));
	EXPECT_IN_ALL(refused, REFUSE(EPERM));
	for (unsigned v = 0; v < FILTER_INIT; v++)
		expect(v, "capset", v & FILTER_FORKABLE ? ALLOW : REFUSE(EPERM),
		       0);
	/* The second filter forbids it. The first must allow loading the
	   second. */
	expect(FILTER_CLOSING, "seccomp", REFUSE(ENOSYS), 0);
	expect(FILTER_CLOSING_STRICT, "seccomp", REFUSE(ENOSYS), 0);
}

static void
exploit_only_calls_are_killed_in_every_variant(void **state)
{
	static const char *const names[] = {
		"kexec_load",	"kexec_file_load", "init_module",
		"finit_module", "delete_module",   "modify_ldt",
		"uselib",	"lookup_dcookie",  "nfsservctl",
	};

	(void)state;
	for (unsigned v = 0; v < FILTER_CLOSING; v++)
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			expect(v, names[i], KILL, 0);
}

/* The special variants. */

static void
init_is_killed_by_all_but_seven_calls(void **state)
{
	static const char *const killed[] = {
		"open",	  "openat",	"mmap",	  "mprotect", "clone",	"fork",
		"socket", "socketpair", "prctl",  "ioctl",    "fcntl",	"futex",
		"brk",	  "unlinkat",	"tgkill", "execve",   "setns",	"kill",
		"write",  "sendmsg",	"bpf",	  "splice",   "getpid",
	};
	static const char *const allowed[] = {
		"read", "ppoll", "wait4", "exit_group", "restart_syscall",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(killed); i++)
		expect(FILTER_INIT, killed[i], KILL, 0);
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		expect(FILTER_INIT, allowed[i], ALLOW, 0);
	expect(FILTER_INIT, "sendto", ALLOW, 3, 0x1000, 1, 0, 0);
	expect(FILTER_INIT, "sendto", REFUSE(EPERM), 3, 0x1000, 1, 0, 0x1000);
}

/* An explained refusal would notify the keeper in every jail. */
static void
expect_unexplained(unsigned variant, const char *name)
{
	const uint64_t none[QUERY_ARGS] = { 0 };

	for (enum filter_arch arch = 0; arch < FILTER_ARCHES; arch++) {
		unsigned nr = (unsigned)query_number(arch, name);
		uint32_t action = query_call(arch, variant, nr, none).action;

		assert_int_equal(action & SECCOMP_RET_ACTION_FULL,
				 SECCOMP_RET_ERRNO);
	}
}

static void
no_op_arguments_are_refused_without_explanation(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++) {
		expect_unexplained(v, "unshare");
		expect(v, "unshare", REFUSE(EPERM), 0);
		expect_unexplained(v, "socket");
		expect(v, "socket",
		       v & FILTER_NETWORK ? REFUSE(ENOSYS) : REFUSE(EPERM),
		       AF_UNSPEC, 0, 0);
		if (v & FILTER_SUBPROCESS)
			continue;
		expect_unexplained(v, "execve");
		expect(v, "execve", REFUSE(EPERM), 0, 0, 0);
	}
}

/* More than once, splice has allowed writing to pages of read-only files. */
static void
splice_is_refused_to_code(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		expect(v, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
	expect(FILTER_KEEPER, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
	expect(FILTER_ZYGOTE, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
	expect(FILTER_BARE, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
	expect(FILTER_BARE_NETWORK, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
}

static void
proxy_has_only_socket_calls(void **state)
{
	static const char *const refused[] = {
		"open",	    "openat",	     "mmap",	"mprotect", "clone",
		"fork",	    "socketpair",    "prctl",	"ioctl",    "fcntl",
		"execve",   "listen",	     "sendmsg", "recvmsg",  "kill",
		"unlinkat", "epoll_create1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect(FILTER_PROXY, refused[i], REFUSE(EPERM), 0);
	expect(FILTER_PROXY, "socket", ALLOW, 2, 1, 0);
	expect(FILTER_PROXY, "socket", ALLOW, 10, 2 | 02000000, 17);
	expect(FILTER_PROXY, "socket", REFUSE(EPERM), 1, 1, 0);
	expect(FILTER_PROXY, "connect", ALLOW, 3, 0x1000, 16);
	expect(FILTER_PROXY, "setsockopt", REFUSE(EPERM), 3, 6, 31);
	/* A pipe only moves bytes between sockets and needs nothing else. */
	expect(FILTER_PROXY, "splice", ALLOW, 3, 0, 4, 0, 65536, 3);
	expect(FILTER_PROXY, "fcntl", ALLOW, 3, F_SETPIPE_SZ, 1 << 20);
	expect(FILTER_PROXY, "fcntl", REFUSE(EPERM), 3, F_SETFL, 0);
}

/* A guest that has broken out of WebAssembly would need one of these next. */
static void
guest_has_no_calls_to_go_on_with(void **state)
{
	static const char *const refused[] = {
		"clone",       "fork",	   "vfork",	   "execve",
		"execveat",    "socket",   "socketpair",   "connect",
		"kill",	       "tgkill",   "ptrace",	   "prctl",
		"mremap",      "madvise",  "memfd_create", "rt_sigaction",
		"setsid",      "unshare",  "setns",	   "mount",
		"chmod",       "fchmod",   "fchmodat",	   "open",
		"renameat2",   "dup",	   "dup3",	   "pipe2",
		"recvmsg",     "recvfrom", "sendmmsg",	   "setitimer",
		"epoll_ctl",   "eventfd2", "sendfile",	   "copy_file_range",
		"sigaltstack",
	};
	const uint64_t private = MAP_PRIVATE | MAP_ANONYMOUS;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect(FILTER_GUEST, refused[i], REFUSE(EPERM), 1, 1, 1);
	expect(FILTER_GUEST, "futex", REFUSE(EPERM), 0);
	expect(FILTER_GUEST, "splice", REFUSE(ENOSYS), 3, 0, 4, 0);
	expect(FILTER_GUEST, "io_uring_setup", REFUSE(ENOSYS), 1, 0);

	/* No memory can be executed, and none comes from a file. */
	expect(FILTER_GUEST, "mmap", ALLOW, 0, 4096, 3, private, -1, 0);
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 5, private, -1, 0);
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 7, private, -1, 0);
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 3, MAP_PRIVATE, 5,
	       0);
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 3,
	       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 3,
	       private | MAP_HUGETLB, -1, 0);
	expect(FILTER_GUEST, "mmap", ALLOW, 0, 4096, 0, private, -1, 0);
	expect(FILTER_GUEST, "mprotect", ALLOW, 0x1000, 4096, 3);
	/* RLIMIT_DATA would not count them any longer. */
	expect(FILTER_GUEST, "mmap", REFUSE(EPERM), 0, 4096, 1, private, -1, 0);
	expect(FILTER_GUEST, "mprotect", REFUSE(EPERM), 0x1000, 4096, 1);
	expect(FILTER_GUEST, "mprotect", REFUSE(EPERM), 0x1000, 4096, 0);
	expect(FILTER_GUEST, "mprotect", REFUSE(EPERM), 0x1000, 4096, 4);
	expect(FILTER_GUEST, "mprotect", REFUSE(EPERM), 0x1000, 4096, 5);
	expect(FILTER_GUEST, "mprotect", REFUSE(EPERM), 0x1000, 4096, 7);

	expect(FILTER_GUEST, "ioctl", ALLOW, 3, SIOCOUTQ, 0x1000);
	expect(FILTER_GUEST, "ioctl", REFUSE(ENOTTY), 0, TCGETS, 0x1000);
	expect(FILTER_GUEST, "fcntl", ALLOW, 3, F_GETFL, 0);
	expect(FILTER_GUEST, "fcntl", ALLOW, 3, F_SETFL, O_APPEND);
	expect(FILTER_GUEST, "fcntl", REFUSE(EINVAL), 3, F_SETFL, O_DIRECT);
	expect(FILTER_GUEST, "fcntl", REFUSE(EPERM), 3, F_DUPFD, 0);
	expect(FILTER_GUEST, "mkdirat", REFUSE(EPERM), 3, 0x1000, 02777);
	expect(FILTER_GUEST, "openat", REFUSE(EPERM), 3, 0x1000, O_CREAT,
	       04755);
	expect(FILTER_GUEST, "sendto", REFUSE(EPERM), 3, 0x1000, 1, 0, 0x1000);

	/* The self-test expects these answers. */
	expect_unexplained(FILTER_GUEST, "unshare");
	expect_unexplained(FILTER_GUEST, "socket");
	expect_unexplained(FILTER_GUEST, "execve");
}

static void
filter_of_code_ignores_other_bits_for_a_guest(void **state)
{
	(void)state;
	for (unsigned p = 0; p < FILTER_WASM; p++)
		assert_int_equal(filter_of_code(p | FILTER_WASM, false),
				 FILTER_GUEST);
}

static void
watcher_only_reads_directories(void **state)
{
	static const char *const refused[] = {
		"open",	   "openat",	"write",    "sendmsg",
		"clone",   "execve",	"socket",   "mprotect",
		"prctl",   "setns",	"unlinkat", "renameat",
		"mkdirat", "ftruncate", "fchmod",   "ioctl",
		"dup",	   "pwrite64",	"kill",	    "inotify_init1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect(FILTER_WATCHER, refused[i], REFUSE(EPERM), 0);
	expect(FILTER_WATCHER, "mmap", ALLOW, 0, 4096, PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS);
	expect(FILTER_WATCHER, "mmap", REFUSE(EPERM), 0, 4096,
	       PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	expect(FILTER_WATCHER, "mmap", REFUSE(EPERM), 0, 4096, PROT_READ,
	       MAP_SHARED, 5);
	expect(FILTER_WATCHER, "fcntl", ALLOW, 3, F_GETFL);
	expect(FILTER_WATCHER, "fcntl", REFUSE(EPERM), 3, F_SETFL, 0);
	expect(FILTER_WATCHER, "fcntl", REFUSE(EPERM), 3, F_SETLEASE, 0);
}

static void
keeper_is_refused_unneeded_calls(void **state)
{
	static const char *const refused[] = {
		"mknod",
		"mknodat",
		"sched_setscheduler",
		"ptrace",
		"process_vm_writev",
		"add_key",
		"settimeofday",
		"reboot",
		"swapon",
		"acct",
	};
	static const char *const missing[] = {
		"pidfd_getfd",
		"name_to_handle_at",
		"statmount",
		"listmount",
	};

	(void)state;
	for (unsigned v = FILTER_KEEPER; v <= FILTER_KEEPER_NETWORK; v++) {
		for (size_t i = 0; i < ARRAY_LEN(refused); i++)
			expect(v, refused[i], REFUSE(EPERM), 0);
		for (size_t i = 0; i < ARRAY_LEN(missing); i++)
			expect(v, missing[i], REFUSE(ENOSYS), 0);
		expect(v, "setxattr", REFUSE(EOPNOTSUPP), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clone_makes_threads_only_with_two_flag_values),
		cmocka_unit_test(
			forkable_code_cannot_exec_and_needs_the_keeper_to_fork),
		cmocka_unit_test(forkable_code_can_only_drop_rights),
		cmocka_unit_test(subprocess_gets_no_namespace_and_no_tracer),
		cmocka_unit_test(clone3_is_enosys_for_code),
		cmocka_unit_test(exec_needs_subprocess_and_a_path),
		cmocka_unit_test(code_can_signal_only_itself),
		cmocka_unit_test(subprocess_can_signal_its_pid_namespace),
		cmocka_unit_test(pidfds_need_subprocess_and_a_known_flag),
		cmocka_unit_test(prctl_allows_only_five_options),
		cmocka_unit_test(arch_prctl_allows_only_the_thread_pointer),
		cmocka_unit_test(personality_can_be_read_but_not_changed),
		cmocka_unit_test(limits_can_be_read_but_not_set),
		cmocka_unit_test(sched_setaffinity_is_refused),
		cmocka_unit_test(
			setpriority_ignores_only_lowering_the_own_priority),
		cmocka_unit_test(
			attributes_and_timers_are_missing_and_not_forbidden),
		cmocka_unit_test(futex_allows_only_wait_and_wake),
		cmocka_unit_test(mmap_refuses_pages_that_no_limit_counts),
		cmocka_unit_test(memfd_gets_no_huge_pages),
		cmocka_unit_test(direct_reads_are_refused),
		cmocka_unit_test(fcntl_allows_only_thirteen_commands),
		cmocka_unit_test(ioctl_allows_only_seven_requests),
		cmocka_unit_test(ioctl_of_programs_allows_terminals),
		cmocka_unit_test(ioctl_ignores_the_high_bits_of_a_request),
		cmocka_unit_test(calls_that_a_filter_cannot_inspect_get_enosys),
		cmocka_unit_test(lock_down_calls_are_refused_afterwards),
		cmocka_unit_test(
			exploit_only_calls_are_killed_in_every_variant),
		cmocka_unit_test(init_is_killed_by_all_but_seven_calls),
		cmocka_unit_test(
			no_op_arguments_are_refused_without_explanation),
		cmocka_unit_test(splice_is_refused_to_code),
		cmocka_unit_test(proxy_has_only_socket_calls),
		cmocka_unit_test(watcher_only_reads_directories),
		cmocka_unit_test(guest_has_no_calls_to_go_on_with),
		cmocka_unit_test(filter_of_code_ignores_other_bits_for_a_guest),
		cmocka_unit_test(keeper_is_refused_unneeded_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
