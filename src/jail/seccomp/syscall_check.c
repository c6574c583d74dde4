/*
 * syscall_check: the calls that are checked by their arguments. One check per
 * rule, with the reasons next to the rules.
 */
#define _GNU_SOURCE

#include "jail/seccomp/syscall_table.h"

#include "base/own.h"
#include "jail/lock/rights.h"
#include "jail/seccomp/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CHECK(list, other)                \
	{                                 \
		.clauses = (list),        \
		.count = ARRAY_LEN(list), \
		.otherwise = (other),     \
	}

/* Modes. */

#define PLAIN_MODE(n) ALLOW_IF(BITS(n, S_ISUID | S_ISGID, 0))

static const struct clause mode_1[] = { PLAIN_MODE(1) };
static const struct clause mode_2[] = { PLAIN_MODE(2) };
static const struct clause mode_3[] = { PLAIN_MODE(3) };

const struct check check_mode_1 = CHECK(mode_1, REFUSE(EPERM));
const struct check check_mode_2 = CHECK(mode_2, REFUSE(EPERM));
const struct check check_mode_3 = CHECK(mode_3, REFUSE(EPERM));

/* The kernel reads 16 bits of a mode. */
#define FIFO_MODE(n) ALLOW_IF(BITS(n, S_IFMT | S_ISUID | S_ISGID, S_IFIFO))

static const struct clause fifo_1[] = { FIFO_MODE(1) };
static const struct clause fifo_2[] = { FIFO_MODE(2) };

const struct check check_fifo_1 = CHECK(fifo_1, EXPLAIN(EPERM));
const struct check check_fifo_2 = CHECK(fifo_2, EXPLAIN(EPERM));

/* Each direct read of a file of the host would go to the disk and bypass
   memory. File systems without direct reads return EINVAL. */
#define NO_DIRECT_READS(n) REFUSE_IF(EINVAL, BITS(n, O_DIRECT, O_DIRECT))

static const struct clause open_flags[] = { NO_DIRECT_READS(1), PLAIN_MODE(2) };
static const struct clause openat_flags[] = { NO_DIRECT_READS(2),
					      PLAIN_MODE(3) };

/* RWF_DSYNC, RWF_SYNC, RWF_NOWAIT and RWF_APPEND. With RWF_DONTCACHE (0x80),
   reading a file of the host drops its pages from memory. Kernels that do not
   know a flag return EOPNOTSUPP. */
#define PLAIN_READS_AND_WRITES 0x1eu

static const struct clause vector_flags[] = {
	ALLOW_IF(BITS(5, UINT32_MAX & ~PLAIN_READS_AND_WRITES, 0)),
};

const struct check check_vector = CHECK(vector_flags, REFUSE(EOPNOTSUPP));
const struct check check_open = CHECK(open_flags, REFUSE(EPERM));
const struct check check_openat = CHECK(openat_flags, REFUSE(EPERM));

/* Children. */

/*
 * pthread_create of glibc and of musl, by the exact value: any subset of these
 * bits creates something other than a thread of this process.
 */
#define THREAD_FLAGS                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |               \
	 CLONE_CHILD_CLEARTID)
#define THREAD_FLAGS_MUSL (THREAD_FLAGS | CLONE_DETACHED)

/*
 * No namespaces, no child of another process, no hidden child. Only clone3
 * knows bits above 31, and CLONE_NEWTIME is not a flag of clone, so refusing
 * these costs nothing.
 */
#define CHILD_FORBIDDEN                                                \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME | \
	 CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT |                \
	 UINT64_C(0xffffffff00000000))

static const struct clause thread_flags[] = {
	ALLOW_IF(WORD(0, THREAD_FLAGS)),
	ALLOW_IF(WORD(0, THREAD_FLAGS_MUSL)),
};

static const struct clause any_child_flags[] = {
	ALLOW_IF(BITS(0, CHILD_FORBIDDEN, 0)),
};

const struct check check_thread = CHECK(thread_flags, EXPLAIN(EPERM));
const struct check check_any_child = CHECK(any_child_flags, EXPLAIN(EPERM));

/*
 * A call that requests nothing is refused without an explanation: the self-test
 * makes such calls in every jail, and the keeper does not need to know
 * (self_test.c).
 */
static const struct clause exec_nothing[] = { REFUSE_IF(EPERM, WORD(0, 0)) };
static const struct clause unshare_zero[] = { REFUSE_IF(EPERM, WORD(0, 0)) };

const struct check check_no_exec = CHECK(exec_nothing, EXPLAIN(EPERM));
const struct check check_no_unshare = CHECK(unshare_zero, EXPLAIN(EPERM));

/* AT_EMPTY_PATH would execute a descriptor that no path leads to. */
static const struct clause execveat_by_path[] = {
	ALLOW_IF(INT(4, 0)),
};

const struct check check_execveat = CHECK(execveat_by_path, EXPLAIN(EPERM));

/* The kernel refuses this to a process with threads, and that is what it is
   used for. */
static const struct clause unshare_thread[] = {
	ALLOW_IF(WORD(0, CLONE_THREAD)),
};

const struct check check_unshare_nothing =
	CHECK(unshare_thread, EXPLAIN(EPERM));

/* PIDFD_NONBLOCK is O_NONBLOCK. */
static const struct clause pidfd_flags[] = {
	ALLOW_IF(BITS(1, UINT32_MAX & ~(uint32_t)O_NONBLOCK, 0)),
};

const struct check check_pidfd_open = CHECK(pidfd_flags, REFUSE(EINVAL));

/* Signals: raise() and abort() need only the process's own pid. */

static const struct clause kill_self[] = {
	ALLOW_IF(INT(0, FILTER_RUN_PID)),
	ALLOW_IF(INT(0, 0)), /* its process group */
};

static const struct clause tgkill_self[] = {
	ALLOW_IF(INT(0, FILTER_RUN_PID)),
};

const struct check check_kill_self = CHECK(kill_self, REFUSE(EPERM));
const struct check check_tgkill_self = CHECK(tgkill_self, REFUSE(EPERM));

static const struct clause kill_own[] = {
	ALLOW_IF(INT(0, FILTER_OWN_PID)),
	ALLOW_IF(INT(0, 0)), /* its process group, which has one process */
};

static const struct clause tgkill_own[] = {
	ALLOW_IF(INT(0, FILTER_OWN_PID)),
};

const struct check check_kill_own = CHECK(kill_own, REFUSE(EPERM));
const struct check check_tgkill_own = CHECK(tgkill_own, REFUSE(EPERM));

/* Memory and the process itself. */

/*
 * ENOMEM, since allocators try huge pages and continue without them. Huge pages
 * come from a pool that our limits do not count, and a growing stack mapping
 * grows without another call.
 */
#define MMAP_REFUSED                                                      \
	REFUSE_IF(ENOMEM, BITS(3, MAP_HUGETLB, MAP_HUGETLB)),             \
		REFUSE_IF(ENOMEM, BITS(3, MAP_GROWSDOWN, MAP_GROWSDOWN)), \
		REFUSE_IF(EPERM, BITS(3, MAP_LOCKED, MAP_LOCKED))

#define MAP_SHARED_ANONYMOUS (MAP_SHARED | MAP_ANONYMOUS)

static const struct clause mmap_flags[] = {
	MMAP_REFUSED,
};

/* The kernel counts shared anonymous pages as a file, not as the process's
   data. */
static const struct clause mmap_flags_strict[] = {
	MMAP_REFUSED,
	REFUSE_IF(ENOMEM, BITS(3, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS)),
};

const struct check check_mmap = CHECK(mmap_flags, ALLOW);
const struct check check_mmap_strict = CHECK(mmap_flags_strict, ALLOW);

/* Private anonymous memory that cannot be executed. */
#define MMAP_PLAIN                                                         \
	(MAP_TYPE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | MAP_LOCKED | \
	 MAP_GROWSDOWN)

static const struct clause mmap_flags_data[] = {
	ALLOW_IF(BITS(2, PROT_EXEC, 0),
		 BITS(3, MMAP_PLAIN, MAP_PRIVATE | MAP_ANONYMOUS)),
};

const struct check check_mmap_data = CHECK(mmap_flags_data, REFUSE(EPERM));
/* The memory of a guest, and that of malloc: private, of no file, and never
   executable. All of it is writable or not accessible, because RLIMIT_DATA does
   not count pages that have become read-only. */
static const struct clause mmap_guest[] = {
	ALLOW_IF(INT(2, PROT_READ | PROT_WRITE),
		 INT(3, MAP_PRIVATE | MAP_ANONYMOUS)),
	ALLOW_IF(INT(2, PROT_NONE), INT(3, MAP_PRIVATE | MAP_ANONYMOUS)),
};

static const struct clause mprotect_guest[] = {
	ALLOW_IF(INT(2, PROT_READ | PROT_WRITE)),
};

const struct check check_mmap_guest = CHECK(mmap_guest, REFUSE(EPERM));
const struct check check_mprotect_guest = CHECK(mprotect_guest, REFUSE(EPERM));

/* linux/memfd.h of older kernels lacks some of these. */
#define MEMFD_CLOEXEC	    0x1
#define MEMFD_ALLOW_SEALING 0x2
#define MEMFD_HUGETLB	    0x4
#define MEMFD_NOEXEC_SEAL   0x8
#define MEMFD_EXEC	    0x10
#define MEMFD_PLAIN \
	(MEMFD_CLOEXEC | MEMFD_ALLOW_SEALING | MEMFD_NOEXEC_SEAL | MEMFD_EXEC)

/* A memfd with huge pages takes them from the same pool as MAP_HUGETLB. */
static const struct clause memfd_flags[] = {
	ALLOW_IF(BITS(1, UINT32_MAX & ~(uint32_t)MEMFD_PLAIN, 0)),
	REFUSE_IF(ENOMEM, BITS(1, MEMFD_HUGETLB, MEMFD_HUGETLB)),
};

const struct check check_memfd = CHECK(memfd_flags, REFUSE(EINVAL));

/* Older headers lack these. The numbers are those of the kernel's mman.h. */
#define ADVICE_POPULATE_READ   22
#define ADVICE_POPULATE_WRITE  23
#define ADVICE_DONTNEED_LOCKED 24
#define ADVICE_COLLAPSE	       25
#define ADVICE_GUARD_INSTALL   102
#define ADVICE_GUARD_REMOVE    103

/*
 * Deliberately not allowed: MADV_MERGEABLE (the time a write takes would reveal
 * what others have in memory), MADV_COLD and MADV_PAGEOUT (they age pages of
 * files that others use), MADV_COLLAPSE (it reshapes such pages). A kernel
 * without them returns EINVAL. MADV_WILLNEED is ignored: it would read a file
 * ahead without waiting, as the refused readahead does, but programs expect
 * this advice to succeed.
 */
#define PLAIN_ADVICE                                                          \
	ALLOW_IF(INT(2, MADV_NORMAL)), ALLOW_IF(INT(2, MADV_RANDOM)),         \
		ALLOW_IF(INT(2, MADV_SEQUENTIAL)),                            \
		IGNORE_IF(INT(2, MADV_WILLNEED)),                             \
		ALLOW_IF(INT(2, MADV_DONTNEED)), ALLOW_IF(INT(2, MADV_FREE)), \
		ALLOW_IF(INT(2, MADV_REMOVE)),                                \
		ALLOW_IF(INT(2, MADV_DONTFORK)),                              \
		ALLOW_IF(INT(2, MADV_DOFORK)),                                \
		ALLOW_IF(INT(2, MADV_HUGEPAGE)),                              \
		ALLOW_IF(INT(2, MADV_NOHUGEPAGE)),                            \
		ALLOW_IF(INT(2, MADV_DONTDUMP)),                              \
		ALLOW_IF(INT(2, MADV_DODUMP)),                                \
		ALLOW_IF(INT(2, MADV_WIPEONFORK)),                            \
		ALLOW_IF(INT(2, MADV_KEEPONFORK)),                            \
		ALLOW_IF(INT(2, ADVICE_POPULATE_READ)),                       \
		ALLOW_IF(INT(2, ADVICE_POPULATE_WRITE)),                      \
		ALLOW_IF(INT(2, ADVICE_DONTNEED_LOCKED)),                     \
		ALLOW_IF(INT(2, ADVICE_GUARD_INSTALL)),                       \
		ALLOW_IF(INT(2, ADVICE_GUARD_REMOVE))

static const struct clause madvise_advice[] = {
	PLAIN_ADVICE,
};

/* A zygote converts its memory to huge pages before it forks (runtime/huge.c),
   under the keeper's filter. */
static const struct clause madvise_advice_zygote[] = {
	PLAIN_ADVICE,
	ALLOW_IF(INT(2, ADVICE_COLLAPSE)),
};

const struct check check_madvise = CHECK(madvise_advice, REFUSE(EINVAL));
const struct check check_madvise_zygote =
	CHECK(madvise_advice_zygote, REFUSE(EINVAL));

/*
 * The priority-inheritance and requeue operations have a long history of kernel
 * bugs, and glibc uses none of them unless asked to. glibc expects ENOSYS where
 * they are missing. musl wakes the waiters of a condition with FUTEX_REQUEUE:
 * to run a musl Python, allow that one.
 */
#define FUTEX_DOES(op) \
	BITS(1, UINT32_MAX & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME), op)

static const struct clause futex_ops[] = {
	ALLOW_IF(FUTEX_DOES(FUTEX_WAIT)),
	ALLOW_IF(FUTEX_DOES(FUTEX_WAKE)),
	ALLOW_IF(FUTEX_DOES(FUTEX_WAIT_BITSET)),
	ALLOW_IF(FUTEX_DOES(FUTEX_WAKE_BITSET)),
};

const struct check check_futex = CHECK(futex_ops, REFUSE(ENOSYS));

#define PRCTL_OPTIONS                                         \
	ALLOW_IF(INT(0, PR_SET_NAME)), /* names of threads */ \
		ALLOW_IF(INT(0, PR_GET_NAME)),                \
		ALLOW_IF(INT(0, PR_GET_DUMPABLE)),            \
		ALLOW_IF(INT(0, PR_GET_TIMERSLACK)),          \
		ALLOW_IF(INT(0, PR_SET_VMA)) /* malloc names its memory */

static const struct clause prctl_options[] = {
	PRCTL_OPTIONS,
};

/* Each of the added options only drops capabilities. */
static const struct clause prctl_options_forkable[] = {
	PRCTL_OPTIONS,
	ALLOW_IF(INT(0, PR_CAPBSET_DROP)),
	ALLOW_IF(INT(0, PR_SET_SECUREBITS), WORD(1, RIGHTS_SECUREBITS)),
	ALLOW_IF(INT(0, PR_CAP_AMBIENT), INT(1, PR_CAP_AMBIENT_CLEAR_ALL)),
};

const struct check check_prctl = CHECK(prctl_options, REFUSE(EPERM));
const struct check check_prctl_forkable =
	CHECK(prctl_options_forkable, REFUSE(EPERM));

/* asm/prctl.h exists only on x86, but the table is built everywhere. */
#define ARCH_SET_FS 0x1002

/* The C library sets the thread pointer when a program starts, and never
   later. */
static const struct clause arch_prctl_options[] = {
	ALLOW_IF(INT(0, ARCH_SET_FS)),
};

const struct check check_arch_prctl = CHECK(arch_prctl_options, REFUSE(EPERM));

/* Reading it is harmless; READ_IMPLIES_EXEC and ADDR_NO_RANDOMIZE are not. */
static const struct clause personality_query[] = {
	ALLOW_IF(INT(0, 0xffffffff)),
};

const struct check check_personality = CHECK(personality_query, REFUSE(EPERM));

/* Limits may be read, with a null pointer for the new ones. */
static const struct clause prlimit_query[] = {
	ALLOW_IF(WORD(2, 0)),
};

const struct check check_prlimit = CHECK(prlimit_query, REFUSE(EPERM));

/* The closing filter forbids setting them. */
static const struct clause prlimit_own[] = {
	ALLOW_IF(INT(0, 0)),
	ALLOW_IF(INT(0, FILTER_OWN_PID)),
};

const struct check check_prlimit_own = CHECK(prlimit_own, REFUSE(EPERM));

/* Lowering the caller's own priority reports success and changes nothing. */
static const struct clause setpriority_lower[] = {
	IGNORE_IF(INT(0, PRIO_PROCESS), INT(1, 0), BITS(2, 0xffffffe0, 0)),
};

const struct check check_setpriority = CHECK(setpriority_lower, REFUSE(EPERM));

/* Descriptors. */

/*
 * Deliberately not allowed: F_SETPIPE_SZ (a megabyte of kernel memory per
 * pipe), F_SETLEASE and F_NOTIFY (they affect files of others), F_SETOWN and
 * F_SETSIG (signals that the kernel sends on our behalf).
 */
static const struct clause fcntl_commands[] = {
	REFUSE_IF(EINVAL, INT(1, F_SETFL), BITS(2, O_DIRECT, O_DIRECT)),
	ALLOW_IF(INT(1, F_DUPFD)),
	ALLOW_IF(INT(1, F_GETFD)),
	ALLOW_IF(INT(1, F_SETFD)),
	ALLOW_IF(INT(1, F_GETFL)),
	ALLOW_IF(INT(1, F_SETFL)),
	ALLOW_IF(INT(1, F_GETLK)),
	ALLOW_IF(INT(1, F_SETLK)),
	ALLOW_IF(INT(1, F_SETLKW)),
	ALLOW_IF(INT(1, F_OFD_GETLK)),
	ALLOW_IF(INT(1, F_OFD_SETLK)),
	ALLOW_IF(INT(1, F_OFD_SETLKW)),
	ALLOW_IF(INT(1, F_DUPFD_CLOEXEC)),
	ALLOW_IF(INT(1, F_GETPIPE_SZ)),
};

const struct check check_fcntl = CHECK(fcntl_commands, REFUSE(EPERM));

/* Record locks use kernel memory that no limit counts. */
static const struct clause fcntl_commands_strict[] = {
	REFUSE_IF(EINVAL, INT(1, F_SETFL), BITS(2, O_DIRECT, O_DIRECT)),
	ALLOW_IF(INT(1, F_DUPFD)),
	ALLOW_IF(INT(1, F_GETFD)),
	ALLOW_IF(INT(1, F_SETFD)),
	ALLOW_IF(INT(1, F_GETFL)),
	ALLOW_IF(INT(1, F_SETFL)),
	ALLOW_IF(INT(1, F_GETLK)),
	ALLOW_IF(INT(1, F_OFD_GETLK)),
	ALLOW_IF(INT(1, F_DUPFD_CLOEXEC)),
	ALLOW_IF(INT(1, F_GETPIPE_SZ)),
};

const struct check check_fcntl_strict =
	CHECK(fcntl_commands_strict, REFUSE(EPERM));

static const struct clause fcntl_commands_proxy[] = {
	ALLOW_IF(INT(1, F_SETPIPE_SZ)),
};

const struct check check_fcntl_proxy =
	CHECK(fcntl_commands_proxy, REFUSE(EPERM));

static const struct clause fcntl_commands_watcher[] = {
	/* fdopendir(3) */
	ALLOW_IF(INT(1, F_GETFL)),
	ALLOW_IF(INT(1, F_SETFD)),
};

const struct check check_fcntl_watcher =
	CHECK(fcntl_commands_watcher, REFUSE(EPERM));
/* The self-test asks for descriptors; a guest sets O_APPEND and O_NONBLOCK. */
static const struct clause fcntl_commands_guest[] = {
	REFUSE_IF(EINVAL, INT(1, F_SETFL), BITS(2, O_DIRECT, O_DIRECT)),
	ALLOW_IF(INT(1, F_GETFD)),
	ALLOW_IF(INT(1, F_GETFL)),
	ALLOW_IF(INT(1, F_SETFL)),
};

const struct check check_fcntl_guest =
	CHECK(fcntl_commands_guest, REFUSE(EPERM));

static const struct clause ioctl_requests_guest[] = {
	ALLOW_IF(INT(1, SIOCOUTQ)), /* the runner waits for its reader */
};

const struct check check_ioctl_guest =
	CHECK(ioctl_requests_guest, REFUSE(ENOTTY));

/* ENOTTY is the kernel's own error for "not on this descriptor". */
static const struct clause ioctl_requests[] = {
	ALLOW_IF(INT(1, TCGETS)), /* isatty() on every open file */
	ALLOW_IF(INT(1, TIOCGWINSZ)),
	ALLOW_IF(INT(1, FIONREAD)),
	ALLOW_IF(INT(1, SIOCOUTQ)), /* the runner waits for its reader */
	ALLOW_IF(INT(1, FIONBIO)),
	ALLOW_IF(INT(1, FIOCLEX)), /* set_inheritable() */
	ALLOW_IF(INT(1, FIONCLEX)),
};

const struct check check_ioctl = CHECK(ioctl_requests, REFUSE(ENOTTY));

/* Programs may use pseudo-terminals, of which the jail has its own. No request
   types into a terminal for another process (TIOCSTI), reaches the console
   (TIOCLINUX, TIOCCONS), or loads a line discipline (TIOCSETD). */
static const struct clause ioctl_terminal_requests[] = {
	ALLOW_IF(INT(1, TCGETS)),
	ALLOW_IF(INT(1, TIOCGWINSZ)),
	ALLOW_IF(INT(1, FIONREAD)),
	ALLOW_IF(INT(1, SIOCOUTQ)), /* TIOCOUTQ */
	ALLOW_IF(INT(1, FIONBIO)),
	ALLOW_IF(INT(1, FIOCLEX)),
	ALLOW_IF(INT(1, FIONCLEX)),
	/* openpty(3) */
	ALLOW_IF(INT(1, TIOCGPTN)),
	ALLOW_IF(INT(1, TIOCSPTLCK)),
	ALLOW_IF(INT(1, TIOCGPTPEER)),
	/* termios(3) */
	ALLOW_IF(INT(1, TCSETS)),
	ALLOW_IF(INT(1, TCSETSW)),
	ALLOW_IF(INT(1, TCSETSF)),
	ALLOW_IF(INT(1, TCSBRK)),
	ALLOW_IF(INT(1, TCXONC)),
	ALLOW_IF(INT(1, TCFLSH)),
	/* the jobs of a shell, and the size */
	ALLOW_IF(INT(1, TIOCSCTTY)),
	ALLOW_IF(INT(1, TIOCNOTTY)),
	ALLOW_IF(INT(1, TIOCGPGRP)),
	ALLOW_IF(INT(1, TIOCSPGRP)),
	ALLOW_IF(INT(1, TIOCGSID)),
	ALLOW_IF(INT(1, TIOCSWINSZ)),
};

const struct check check_ioctl_terminal =
	CHECK(ioctl_terminal_requests, REFUSE(ENOTTY));

/* Sockets. */

static const struct clause socketpair_unix[] = {
	ALLOW_IF(INT(0, AF_UNIX)), /* asyncio uses one to wake itself up */
};

const struct check check_socketpair =
	CHECK(socketpair_unix, REFUSE(EAFNOSUPPORT));

/* A datagram socket queues twice as much as a stream socket. */
static const struct clause socketpair_stream[] = {
	ALLOW_IF(INT(0, AF_UNIX), INT(1, SOCK_STREAM)),
	ALLOW_IF(INT(0, AF_UNIX), INT(1, SOCK_STREAM | SOCK_CLOEXEC)),
	ALLOW_IF(INT(0, AF_UNIX), INT(1, SOCK_STREAM | SOCK_NONBLOCK)),
	ALLOW_IF(INT(0, AF_UNIX),
		 INT(1, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)),
};

const struct check check_socketpair_strict =
	CHECK(socketpair_stream, REFUSE(EAFNOSUPPORT));

/* The ends of these pairs stay connected: the kernel ignores or refuses another
   address. One end of a datagram pair can send to any socket that is a file. */
static const struct clause socketpair_connected[] = {
	ALLOW_IF(INT(0, AF_UNIX),
		 BITS(1, UINT32_MAX & ~(uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC),
		      SOCK_STREAM)),
	ALLOW_IF(INT(0, AF_UNIX),
		 BITS(1, UINT32_MAX & ~(uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC),
		      SOCK_SEQPACKET)),
};

const struct check check_socketpair_connected =
	CHECK(socketpair_connected, REFUSE(EAFNOSUPPORT));

/* Hardly any program sends urgent data over unix sockets, and the kernel's code
   for it had a flaw with which one could take the kernel over (CVE-2025-38236).
   A filter sees only the flags, so internet sockets have none either. This is
   the kernel's answer for sockets without urgent data. */
#define NOT_URGENT(argument) \
	REFUSE_IF(EOPNOTSUPP, BITS(argument, MSG_OOB, MSG_OOB))

/* send() is sendto() without an address, and can reach only the peer. */
static const struct clause send_connected[] = {
	NOT_URGENT(3),
	ALLOW_IF(WORD(4, 0)),
};

/* sendto() and sendmmsg() have their flags in the same place. */
static const struct clause send_anywhere[] = {
	NOT_URGENT(3),
};

static const struct clause sendmsg_flags[] = {
	NOT_URGENT(2),
};

const struct check check_send_connected = CHECK(send_connected, EXPLAIN(EPERM));
const struct check check_send_anywhere = CHECK(send_anywhere, ALLOW);
const struct check check_sendmsg = CHECK(sendmsg_flags, ALLOW);

/*
 * TCP and UDP, and nothing with a parser in the kernel. Other families return
 * EAFNOSUPPORT, as on a kernel without them: getaddrinfo works without netlink.
 * AF_UNIX returns EPERM, since it exists but is forbidden.
 */
#define SOCKET_TYPE(t) \
	BITS(1, UINT32_MAX & ~(uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC), t)
#define SOCKET(family, type, protocol) \
	ALLOW_IF(INT(0, family), SOCKET_TYPE(type), INT(2, protocol))
#define SOCKET_INTERNET                                     \
	SOCKET(AF_INET, SOCK_STREAM, 0),                    \
		SOCKET(AF_INET, SOCK_STREAM, IPPROTO_TCP),  \
		SOCKET(AF_INET, SOCK_DGRAM, 0),             \
		SOCKET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),   \
		SOCKET(AF_INET6, SOCK_STREAM, 0),           \
		SOCKET(AF_INET6, SOCK_STREAM, IPPROTO_TCP), \
		SOCKET(AF_INET6, SOCK_DGRAM, 0),            \
		SOCKET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP)

/* Not explained: the C library tries these for every name and every user that
   it looks up. */
static const struct clause socket_none[] = {
	REFUSE_IF(EPERM, INT(0, AF_UNSPEC)),
	REFUSE_IF(EPERM, INT(0, AF_UNIX)),
	REFUSE_IF(EPERM, INT(0, AF_NETLINK)),
};

static const struct clause socket_network[] = {
	SOCKET_INTERNET,
	REFUSE_IF(ENOSYS, INT(0, AF_UNSPEC)),
	REFUSE_IF(EPERM, INT(0, AF_UNIX)),
	REFUSE_IF(EAFNOSUPPORT, INT(0, AF_NETLINK)),
};

#define SOCKET_UNIX                                                      \
	SOCKET(AF_UNIX, SOCK_STREAM, 0), SOCKET(AF_UNIX, SOCK_DGRAM, 0), \
		SOCKET(AF_UNIX, SOCK_SEQPACKET, 0)

/* The refusals that code without FILTER_UNIX gets. */
static const struct clause socket_unix[] = {
	SOCKET_UNIX,
	REFUSE_IF(EPERM, INT(0, AF_UNSPEC)),
	REFUSE_IF(EPERM, INT(0, AF_NETLINK)),
};

static const struct clause socket_unix_network[] = {
	SOCKET_UNIX,
	SOCKET_INTERNET,
	REFUSE_IF(ENOSYS, INT(0, AF_UNSPEC)),
	REFUSE_IF(EAFNOSUPPORT, INT(0, AF_NETLINK)),
};

static const struct clause socket_keeper[] = {
	ALLOW_IF(INT(0, AF_UNIX)),
};

static const struct clause socket_keeper_network[] = {
	ALLOW_IF(INT(0, AF_UNIX)),
	SOCKET_INTERNET,
};

const struct check check_socket_none = CHECK(socket_none, EXPLAIN(EPERM));
const struct check check_socket_network =
	CHECK(socket_network, EXPLAIN(EAFNOSUPPORT));
const struct check check_socket_unix = CHECK(socket_unix, EXPLAIN(EPERM));
const struct check check_socket_unix_network =
	CHECK(socket_unix_network, EXPLAIN(EAFNOSUPPORT));
/* The keeper's filter has no listener. The explanation is for the jails below
   it, which inherit this filter. */
const struct check check_socket_keeper =
	CHECK(socket_keeper, EXPLAIN(EAFNOSUPPORT));
const struct check check_socket_keeper_network =
	CHECK(socket_keeper_network, EXPLAIN(EAFNOSUPPORT));

/*
 * One half of a socketpair can be bound too, and with the host's network its
 * name would be among the host's abstract names: Landlock scopes only the
 * process that connects. The filter cannot read the family, which is behind a
 * pointer, but it sees the length. For AF_UNIX that is 2 plus the length of the
 * name, at most 110; with 2 alone the kernel chooses a name. So allow only the
 * lengths of internet addresses (unix names of exactly these lengths pass too,
 * see SECURITY.md), and one that AF_UNIX refuses, for programs that pass a
 * sockaddr_storage.
 */
static const struct clause bind_internet[] = {
	ALLOW_IF(INT(2, sizeof(struct sockaddr_in))),
	ALLOW_IF(INT(2, sizeof(struct sockaddr_in6))),
	ALLOW_IF(INT(2, sizeof(struct sockaddr_storage))),
};

const struct check check_bind = CHECK(bind_internet, REFUSE(EINVAL));

/*
 * Deliberately not allowed: TCP_ULP (kernel TLS), TCP_REPAIR, TCP_MD5SIG,
 * SO_ATTACH_*, UDP_ENCAP, XFRM policies and multicast.
 */
#define OPTION(level, name) ALLOW_IF(INT(1, level), INT(2, name))

/* glibc's resolver gives up on a name server without IP_RECVERR and
   IPV6_RECVERR. */
#define SOCKET_OPTIONS                                                        \
	OPTION(SOL_SOCKET, SO_REUSEADDR), OPTION(SOL_SOCKET, SO_BROADCAST),   \
		OPTION(SOL_SOCKET, SO_SNDBUF), OPTION(SOL_SOCKET, SO_RCVBUF), \
		OPTION(SOL_SOCKET, SO_KEEPALIVE),                             \
		OPTION(SOL_SOCKET, SO_LINGER),                                \
		OPTION(SOL_SOCKET, SO_RCVTIMEO),                              \
		OPTION(SOL_SOCKET, SO_SNDTIMEO),                              \
		OPTION(IPPROTO_TCP, TCP_NODELAY),                             \
		OPTION(IPPROTO_TCP, TCP_KEEPIDLE),                            \
		OPTION(IPPROTO_TCP, TCP_KEEPINTVL),                           \
		OPTION(IPPROTO_TCP, TCP_KEEPCNT),                             \
		OPTION(IPPROTO_TCP, TCP_DEFER_ACCEPT),                        \
		OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),                        \
		OPTION(IPPROTO_IP, IP_TOS), OPTION(IPPROTO_IP, IP_RECVERR),   \
		OPTION(IPPROTO_IPV6, IPV6_RECVERR),                           \
		OPTION(IPPROTO_IPV6, IPV6_V6ONLY)

static const struct clause socket_options[] = {
	SOCKET_OPTIONS,
};

/*
 * In a network that only the jail has. SO_REUSEPORT lets processes of one user
 * share a port, and on the host these could be the user's other processes.
 * Servers of FTP and telnet set SO_OOBINLINE. The others make the kernel
 * deliver what it knows of a datagram (RFC 3542).
 */
static const struct clause socket_options_private[] = {
	SOCKET_OPTIONS,
	OPTION(SOL_SOCKET, SO_REUSEPORT),
	OPTION(SOL_SOCKET, SO_OOBINLINE),
	OPTION(IPPROTO_IPV6, IPV6_RECVPKTINFO),
	OPTION(IPPROTO_IPV6, IPV6_RECVHOPLIMIT),
	OPTION(IPPROTO_IPV6, IPV6_RECVTCLASS),
};

const struct check check_setsockopt = CHECK(socket_options, REFUSE(EPERM));
const struct check check_setsockopt_private =
	CHECK(socket_options_private, REFUSE(EPERM));
