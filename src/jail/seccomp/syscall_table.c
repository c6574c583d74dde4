#include "jail/seccomp/syscall_table.h"

#include "base/own.h"
#include "jail/seccomp/filter.h"

#include <errno.h>

/*
 * Branches of a session. The fork itself, and the way into the branch's jail,
 * are explained refusals, which the keeper lets pass when it has asked for them
 * (src/keeper/pool/branch.c). What is here gives rights back that were gained
 * on the way: code that has none can do nothing with it.
 */
static const struct call forkable_calls[] = {
	{ "capset", .action = ALLOW },
	{ "prctl", .check = &check_prctl_forkable },
	{ "setsid", .action = ALLOW },
	CALLS_END,
};

static const struct call subprocess_calls[] = {
	{ "clone", .check = &check_any_child },
	{ "fork", .action = ALLOW },
	{ "vfork", .action = ALLOW },
	{ "execve", .action = ALLOW },
	{ "execveat", .check = &check_execveat },

	/* Shells put their jobs into groups. */
	{ "setpgid", .action = ALLOW },
	{ "setsid", .action = ALLOW },

	/* The pid namespace is the border. musl raises by tkill. */
	{ "kill", .action = ALLOW },
	{ "tgkill", .action = ALLOW },
	{ "tkill", .action = ALLOW },
	CALLS_END,
};

static const struct call network_calls[] = {
	{ "socket", .check = &check_socket_network },
	{ "setsockopt", .check = &check_setsockopt },
	{ "bind", .check = &check_bind },
	{ "listen", .action = ALLOW },
	{ "accept", .action = ALLOW },
	{ "accept4", .action = ALLOW },
	{ "connect", .action = ALLOW },
	{ "sendto", .action = ALLOW },
	{ "sendmmsg", .action = ALLOW },
	{ "recvmmsg", .action = ALLOW },
	CALLS_END,
};

static const struct call strict_memory_calls[] = {
	{ "memfd_create", .action = REFUSE(EPERM) },
	{ "mmap", .check = &check_mmap_strict },
	{ "fcntl", .check = &check_fcntl_strict },
	{ "socketpair", .check = &check_socketpair_strict },

	/*
	 * The items of an epoll are as many as files times numbers they ever
	 * had. ENOSYS: then asyncio takes poll.
	 */
	{ "epoll_create", .action = REFUSE(ENOSYS) },
	{ "epoll_create1", .action = REFUSE(ENOSYS) },
	CALLS_END,
};

/* Pid 1 reaps, tells of it, and watches its lifeline: nothing else is meant. */
static const struct call init_calls[] = {
	{ "read", .action = ALLOW },
	{ "poll", .action = ALLOW },
	{ "ppoll", .action = ALLOW },
	{ "wait4", .action = ALLOW },
	{ "exit_group", .action = ALLOW },
	{ "restart_syscall", .action = ALLOW },
	{ "sendto", .check = &check_send_connected },
	/* Its last step: give up what it has of the keeper's memory. */
	{ "munmap", .action = ALLOW },
	CALLS_END,
};

static const struct call keeper_calls[] = {
	/* Children in namespaces, and programs from descriptors. */
	{ "clone", .action = ALLOW },
	{ "clone3", .action = ALLOW },
	{ "execveat", .action = ALLOW },
	{ "unshare", .action = ALLOW },
	{ "setns", .action = ALLOW },

	/* The root of a jail. */
	{ "mount", .action = ALLOW },
	{ "umount2", .action = ALLOW },
	{ "pivot_root", .action = ALLOW },
	{ "chroot", .action = ALLOW }, /* back from a root template */
	{ "fsopen", .action = ALLOW },
	{ "fsconfig", .action = ALLOW },
	{ "fsmount", .action = ALLOW },
	{ "move_mount", .action = ALLOW },
	{ "open_tree", .action = ALLOW },
	{ "mount_setattr", .action = ALLOW },
	{ "sethostname", .action = ALLOW },
	{ "setdomainname", .action = ALLOW },
	{ "chown", .action = ALLOW },
	{ "fchown", .action = ALLOW },
	{ "lchown", .action = ALLOW },
	{ "fchownat", .action = ALLOW },

	/* Lock-down: the filters of code are loaded on top of this one. */
	{ "prctl", .action = ALLOW },
	{ "seccomp", .action = ALLOW },
	{ "landlock_create_ruleset", .action = ALLOW },
	{ "landlock_add_rule", .action = ALLOW },
	{ "landlock_restrict_self", .action = ALLOW },
	{ "capget", .action = ALLOW },
	{ "capset", .action = ALLOW },
	{ "setuid", .action = ALLOW },
	{ "setgid", .action = ALLOW },
	{ "setreuid", .action = ALLOW },
	{ "setregid", .action = ALLOW },
	{ "setresuid", .action = ALLOW },
	{ "setresgid", .action = ALLOW },
	{ "setfsuid", .action = ALLOW },
	{ "setfsgid", .action = ALLOW },
	{ "setgroups", .action = ALLOW },
	{ "setrlimit", .action = ALLOW },
	{ "prlimit64", .action = ALLOW },
	{ "keyctl", .action = ALLOW },
	{ "sched_setaffinity", .action = ALLOW },
	{ "setpriority", .action = ALLOW },
	{ "madvise", .check = &check_madvise_zygote },

	/* Directories of the host. */
	{ "openat2", .action = ALLOW },
	{ "fchmod", .action = ALLOW },
	{ "fsetxattr", .action = ALLOW }, /* see diff.h */
	{ "syncfs", .action = ALLOW },

	/* Supervision. */
	{ "pidfd_open", .action = ALLOW },
	{ "pidfd_send_signal", .action = ALLOW },
	{ "process_vm_readv", .action = ALLOW }, /* see notice.h */
	{ "signalfd", .action = ALLOW },
	{ "signalfd4", .action = ALLOW },
	{ "inotify_init", .action = ALLOW },
	{ "inotify_init1", .action = ALLOW },
	{ "inotify_add_watch", .action = ALLOW },
	{ "inotify_rm_watch", .action = ALLOW },
	{ "fcntl", .action = ALLOW },
	{ "ioctl", .action = ALLOW },

	/* Clients, by unix sockets. */
	{ "socket", .check = &check_socket_keeper },
	{ "bind", .action = ALLOW },
	{ "listen", .action = ALLOW },
	{ "accept", .action = ALLOW },
	{ "accept4", .action = ALLOW },
	{ "connect", .action = ALLOW },
	{ "sendto", .action = ALLOW },
	{ "setsockopt", .action = ALLOW },
	CALLS_END,
};

static const struct call keeper_network_calls[] = {
	{ "socket", .check = &check_socket_keeper_network },
	{ "splice", .action = ALLOW }, /* for proxies */
	CALLS_END,
};

/* A zygote joins jails and forks; the rest is the lock-down of its children,
   which inherit this and get their own filter on top. */
static const struct call zygote_calls[] = {
	{ "setns", .action = ALLOW },
	{ "unshare", .check = &check_unshare_nothing },
	{ "prctl", .action = ALLOW },
	{ "seccomp", .action = ALLOW },
	{ "landlock_restrict_self", .action = ALLOW },
	{ "capget", .action = ALLOW },
	{ "capset", .action = ALLOW },
	{ "setresuid", .action = ALLOW },
	{ "setresgid", .action = ALLOW },
	{ "setrlimit", .action = ALLOW },
	{ "prlimit64", .action = ALLOW },
	{ "keyctl", .action = ALLOW },
	{ "sched_setaffinity", .action = ALLOW },
	{ "bind", .action = ALLOW }, /* or it would hide the explanation */
	{ "madvise", .check = &check_madvise_zygote },
	CALLS_END,
};

/* What code may do at the most, but no processes, programs and signals to
   others; and the question whether an import has left threads. */
static const struct call import_calls[] = {
	{ "unshare", .check = &check_unshare_nothing },
	CALLS_END,
};

/* No namespace: everything that takes a pid or a path means the host's. */
static const struct call bare_calls[] = {
	{ "kill", .check = &check_kill_own },
	{ "tgkill", .check = &check_tgkill_own },

	/* Landlock looks at neither, and the code may own what it cannot
	   write. */
	{ "chmod", .action = REFUSE(EPERM) },
	{ "fchmod", .action = REFUSE(EPERM) },
	{ "fchmodat", .action = REFUSE(EPERM) },
	{ "fchmodat2", .action = REFUSE(EPERM) },
	{ "utime", .action = REFUSE(EPERM) },
	{ "utimes", .action = REFUSE(EPERM) },
	{ "futimesat", .action = REFUSE(EPERM) },
	{ "utimensat", .action = REFUSE(EPERM) },

	/* Nor at these, which tell of any file of the user's where it came from
	   or what others wrote there. A file that could be opened may be asked
	   by its descriptor. EOPNOTSUPP: shutil.copystat goes on. */
	{ "getxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "lgetxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "listxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "llistxattr", .action = REFUSE(EOPNOTSUPP) },

	/* A lock on a file that others read would stop them. */
	{ "flock", .action = REFUSE(EPERM) },

	/* Limits and state of the user's other processes. */
	{ "prlimit64", .check = &check_prlimit_own },
	{ "get_robust_list", .action = REFUSE(EPERM) },
	CALLS_END,
};

/*
 * A proxy moves bytes between sockets. It opens nothing, makes no memory that
 * can be executed, and no process.
 */
static const struct call proxy_calls[] = {
	{ "close", .action = ALLOW },
	{ "epoll_ctl", .action = ALLOW },
	{ "epoll_wait", .action = ALLOW },
	{ "epoll_pwait", .action = ALLOW },
	{ "exit_group", .action = ALLOW },
	{ "clock_gettime", .action = ALLOW },
	{ "getrandom", .action = ALLOW },
	{ "restart_syscall", .action = ALLOW },
	{ "rt_sigreturn", .action = ALLOW },
	{ "socket", .check = &check_socket_network },
	{ "setsockopt", .check = &check_setsockopt },
	{ "getsockopt", .action = ALLOW },
	{ "getsockname", .action = ALLOW },
	{ "bind", .action = ALLOW }, /* to see whose an address is */
	{ "connect", .action = ALLOW },
	{ "accept4", .action = ALLOW },
	{ "shutdown", .action = ALLOW },
	{ "sendto", .action = ALLOW },
	{ "recvfrom", .action = ALLOW },
	{ "pipe2", .action = ALLOW }, /* for many bytes, with splice */
	{ "splice", .action = ALLOW },
	{ "fcntl", .check = &check_fcntl_proxy },
	CALLS_END,
};

/* Loaded on top of the filter of code, when the keeper has the listener: it
   takes away what the steps between the two need. */
static const struct call closing_calls[] = {
	{ "seccomp", .action = REFUSE(ENOSYS) },
	{ "prlimit64", .check = &check_prlimit },
	CALLS_END,
};

static const struct call closing_strict_calls[] = {
	/*
	 * A descriptor in flight is counted by no RLIMIT_NOFILE, and the buffer
	 * behind it by no RLIMIT_AS. Without sendmmsg glibc's resolver works
	 * only with "options single-request" in resolv.conf.
	 */
	{ "sendmsg", .action = REFUSE(EPERM) },
	{ "sendmmsg", .action = REFUSE(EPERM) },
	CALLS_END,
};

/*
 * fsync needs no right to write: on a read-only file of the host it makes the
 * disk empty its cache, and every writer of the machine waits for that. The
 * writable directories are memory, or are removed after the run, and what goes
 * to a directory of mode rw is synced by the commit: nothing is lost by not
 * doing it. Programs must not notice, since databases and atomic writes check
 * it.
 */
static const struct call closing_unsynced_calls[] = {
	{ "fsync", .action = IGNORE },
	{ "fdatasync", .action = IGNORE },
	{ "sync_file_range", .action = IGNORE },
	CALLS_END,
};

const struct layer syscall_layers[] = {
	{ .calls = syscall_base },
	{ .calls = forkable_calls, .needs = FILTER_FORKABLE },
	{ .calls = subprocess_calls, .needs = FILTER_SUBPROCESS },
	{ .calls = network_calls, .needs = FILTER_NETWORK },
	{ .calls = strict_memory_calls, .needs = FILTER_STRICT_MEMORY },
	{ .calls = init_calls, .needs = LAYER_INIT, .kills_rest = true },
	{ .calls = keeper_calls, .needs = LAYER_KEEPER },
	{ .calls = keeper_network_calls,
	  .needs = LAYER_KEEPER | FILTER_NETWORK },
	{ .calls = zygote_calls, .needs = LAYER_ZYGOTE },
	{ .calls = import_calls, .needs = LAYER_IMPORT },
	{ .calls = bare_calls, .needs = LAYER_BARE },
	{ .calls = proxy_calls, .needs = LAYER_PROXY, .from_scratch = true },
	{ .calls = closing_calls, .needs = LAYER_CLOSING, .allows_rest = true },
	{ .calls = closing_strict_calls,
	  .needs = LAYER_CLOSING | FILTER_STRICT_MEMORY },
	{ .calls = closing_unsynced_calls,
	  .needs = LAYER_CLOSING | LAYER_UNSYNCED },
};

const size_t syscall_layer_count = ARRAY_LEN(syscall_layers);

static const unsigned special_properties[] = {
	[FILTER_INIT] = LAYER_INIT,
	[FILTER_KEEPER] = LAYER_KEEPER | FILTER_SUBPROCESS,
	[FILTER_KEEPER_NETWORK] =
		LAYER_KEEPER | FILTER_SUBPROCESS | FILTER_NETWORK,
	[FILTER_ZYGOTE] = LAYER_ZYGOTE | FILTER_SUBPROCESS | FILTER_NETWORK,
	[FILTER_IMPORT] = LAYER_IMPORT | FILTER_NETWORK,
	[FILTER_BARE] = LAYER_BARE | FILTER_STRICT_MEMORY,
	[FILTER_BARE_NETWORK] =
		LAYER_BARE | FILTER_STRICT_MEMORY | FILTER_NETWORK,
	[FILTER_PROXY] = LAYER_PROXY,
	[FILTER_CLOSING] = LAYER_CLOSING | LAYER_UNSYNCED,
	[FILTER_CLOSING_STRICT] =
		LAYER_CLOSING | LAYER_UNSYNCED | FILTER_STRICT_MEMORY,
	[FILTER_CLOSING_DIRECT] = LAYER_CLOSING,
	[FILTER_CLOSING_DIRECT_STRICT] = LAYER_CLOSING | FILTER_STRICT_MEMORY,
};

unsigned
syscall_variant_properties(unsigned variant)
{
	if (variant < FILTER_INIT)
		return variant;
	return special_properties[variant];
}

const char *const syscall_late_names[] = {
	[451] = "cachestat",	     [452] = "fchmodat2",
	[453] = "map_shadow_stack",  [454] = "futex_wake",
	[455] = "futex_wait",	     [456] = "futex_requeue",
	[457] = "statmount",	     [458] = "listmount",
	[459] = "lsm_get_self_attr", [460] = "lsm_set_self_attr",
	[461] = "lsm_list_modules",  [462] = "mseal",
	[463] = "setxattrat",	     [464] = "getxattrat",
	[465] = "listxattrat",	     [466] = "removexattrat",
	[467] = "open_tree_attr",    [468] = "file_getattr",
	[469] = "file_setattr",	     [470] = "listns",
};

const size_t syscall_late_count = ARRAY_LEN(syscall_late_names);
