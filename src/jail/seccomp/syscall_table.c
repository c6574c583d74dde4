#include "jail/seccomp/syscall_table.h"

#include "base/own.h"
#include "jail/seccomp/filter.h"

#include <errno.h>

/*
 * Branches of a session. The fork itself, and joining the branch's jail, are
 * explained refusals: the keeper lets them pass when it has requested them
 * (src/keeper/pool/branch.c). The calls below drop the capabilities gained on
 * the way. They are useless to code without capabilities.
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

	/* Shells put their jobs into process groups. */
	{ "setpgid", .action = ALLOW },
	{ "setsid", .action = ALLOW },

	{ "ioctl", .check = &check_ioctl_terminal },

	/* nice(1) prints a warning if this fails, and starts its program. */
	{ "setpriority", .check = &check_setpriority },

	/* The pid namespace is the boundary. musl's raise() uses tkill. */
	{ "kill", .action = ALLOW },
	{ "tgkill", .action = ALLOW },
	{ "tkill", .action = ALLOW },

	/* A descriptor of a process, also one of another namespace that a
	   socket returned, gives no right that its pid would not give. */
	{ "pidfd_open", .check = &check_pidfd_open },
	{ "pidfd_send_signal", .action = ALLOW },
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
	{ "sendto", .check = &check_send_anywhere },
	{ "sendmmsg", .check = &check_send_anywhere },
	{ "recvmmsg", .action = ALLOW },
	CALLS_END,
};

/*
 * Unix sockets and FIFOs, which processes of the jail use among themselves. The
 * plan grants them only if the jail's network is private and if no mount shows
 * sockets of the host: see plan_decide_unix_sockets().
 */
static const struct call unix_calls[] = {
	{ "socket", .check = &check_socket_unix },
	{ "setsockopt", .check = &check_setsockopt },
	{ "bind", .action = ALLOW },
	{ "listen", .action = ALLOW },
	{ "accept", .action = ALLOW },
	{ "accept4", .action = ALLOW },
	{ "connect", .action = ALLOW },
	{ "sendto", .check = &check_send_anywhere },
	{ "sendmmsg", .check = &check_send_anywhere },
	{ "recvmmsg", .action = ALLOW },
	{ "mknod", .check = &check_fifo_1 },
	{ "mknodat", .check = &check_fifo_2 },
	CALLS_END,
};

static const struct call unix_network_calls[] = {
	{ "socket", .check = &check_socket_unix_network },
	{ "setsockopt", .check = &check_setsockopt_private },
	CALLS_END,
};

static const struct call strict_memory_calls[] = {
	{ "memfd_create", .action = REFUSE(EPERM) },
	{ "mmap", .check = &check_mmap_strict },
	{ "fcntl", .check = &check_fcntl_strict },
	{ "socketpair", .check = &check_socketpair_strict },

	/*
	 * No limit counts the entries of an epoll: there can be as many as
	 * files times the numbers they ever had. On ENOSYS, asyncio uses poll.
	 */
	{ "epoll_create", .action = REFUSE(ENOSYS) },
	{ "epoll_create1", .action = REFUSE(ENOSYS) },
	CALLS_END,
};

/* Pid 1 reaps, reports, and watches its lifeline; it needs nothing else. */
static const struct call init_calls[] = {
	{ "read", .action = ALLOW },
	{ "poll", .action = ALLOW },
	{ "ppoll", .action = ALLOW },
	{ "wait4", .action = ALLOW },
	{ "exit_group", .action = ALLOW },
	{ "restart_syscall", .action = ALLOW },
	{ "sendto", .check = &check_send_connected },
	/* Its last step: unmap its copy of the keeper's memory. */
	{ "munmap", .action = ALLOW },
	CALLS_END,
};

static const struct call keeper_calls[] = {
	/* Children in namespaces, and programs executed by descriptor. */
	{ "clone", .action = ALLOW },
	{ "clone3", .action = ALLOW },
	{ "execveat", .action = ALLOW },
	{ "unshare", .action = ALLOW },
	{ "setns", .action = ALLOW },

	/* The root of a jail. */
	{ "mount", .action = ALLOW },
	{ "umount2", .action = ALLOW },
	{ "pivot_root", .action = ALLOW },
	{ "chroot", .action = ALLOW }, /* to return from a root template */
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

	/* Lock-down: the filters of code are added to this one. */
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
	/* Watchers inherit this filter. */
	{ "inotify_init1", .action = ALLOW },
	{ "inotify_add_watch", .action = ALLOW },
	{ "inotify_rm_watch", .action = ALLOW },
	{ "fcntl", .action = ALLOW },
	{ "ioctl", .action = ALLOW },

	/* Clients, over unix sockets. */
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

/* A zygote joins jails and forks. Everything else here is for the lock-down of
   its children, which inherit this filter and add their own. */
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
	{ "bind",
	  .action = ALLOW }, /* a refusal here would hide the explanation */
	{ "madvise", .check = &check_madvise_zygote },
	CALLS_END,
};

/* At most what code may do, without processes, programs and signals to others.
   unshare tells whether an import has left threads behind. */
static const struct call import_calls[] = {
	{ "unshare", .check = &check_unshare_nothing },
	CALLS_END,
};

/* Without namespaces, every pid and every path is the host's. */
static const struct call bare_calls[] = {
	{ "kill", .check = &check_kill_own },
	{ "tgkill", .check = &check_tgkill_own },

	/* Landlock does not check these calls, and the code may own files that
	   it cannot write. */
	{ "chmod", .action = REFUSE(EPERM) },
	{ "fchmod", .action = REFUSE(EPERM) },
	{ "fchmodat", .action = REFUSE(EPERM) },
	{ "fchmodat2", .action = REFUSE(EPERM) },
	{ "utime", .action = REFUSE(EPERM) },
	{ "utimes", .action = REFUSE(EPERM) },
	{ "futimesat", .action = REFUSE(EPERM) },
	{ "utimensat", .action = REFUSE(EPERM) },

	/* Landlock does not check these either. They reveal where any file of
	   the user came from, or what others noted there. A file that can be
	   opened may be read by its descriptor. On EOPNOTSUPP, shutil.copystat
	   continues. */
	{ "getxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "lgetxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "listxattr", .action = REFUSE(EOPNOTSUPP) },
	{ "llistxattr", .action = REFUSE(EOPNOTSUPP) },

	/* Locking a file that other processes read would stop them. */
	{ "flock", .action = REFUSE(EPERM) },

	/* Limits and state of the user's other processes. */
	{ "prlimit64", .check = &check_prlimit_own },
	{ "get_robust_list", .action = REFUSE(EPERM) },
	CALLS_END,
};

/*
 * A proxy moves bytes between sockets. It opens no files, makes no executable
 * memory, and starts no process.
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
	{ "bind",
	  .action = ALLOW }, /* tests whether an address is this machine's */
	{ "connect", .action = ALLOW },
	{ "accept4", .action = ALLOW },
	{ "shutdown", .action = ALLOW },
	{ "sendto", .action = ALLOW },
	{ "recvfrom", .action = ALLOW },
	{ "pipe2", .action = ALLOW }, /* for bulk data, with splice */
	{ "splice", .action = ALLOW },
	{ "fcntl", .check = &check_fcntl_proxy },
	CALLS_END,
};

/*
 * A watcher reads names and attributes in a directory, and talks over one
 * socket. openat2 could open a file too, so Landlock and RLIMIT_FSIZE limit it
 * to reading directories of the workspace.
 */
static const struct call watcher_calls[] = {
	{ "read", .action = ALLOW }, /* from inotify */
	{ "close", .action = ALLOW },
	{ "poll", .action = ALLOW },
	{ "ppoll", .action = ALLOW },
	{ "sendto", .check = &check_send_connected },
	{ "recvfrom", .action = ALLOW },
	{ "inotify_add_watch", .action = ALLOW },
	{ "inotify_rm_watch", .action = ALLOW },
	{ "openat2", .action = ALLOW },
	{ "fcntl", .check = &check_fcntl_watcher },
	{ "getdents64", .action = ALLOW },
	{ "fstat", .action = ALLOW },
	{ "newfstatat", .action = ALLOW },
	{ "readlinkat", .action = ALLOW },
	{ "brk", .action = ALLOW },
	{ "mmap", .check = &check_mmap_data },
	{ "mremap", .action = ALLOW },
	{ "munmap", .action = ALLOW },
	{ "clock_gettime", .action = ALLOW },
	{ "restart_syscall", .action = ALLOW },
	{ "rt_sigreturn", .action = ALLOW },
	{ "exit_group", .action = ALLOW },
	CALLS_END,
};

/*
 * A program that runs a WebAssembly guest (src/wasm). The guest itself makes no
 * system call: it calls functions of that program, and these rows are what they
 * need. The rows are a second wall around a guest that has broken out of
 * WebAssembly: it finds no socket, no process, no signal and no executable
 * memory.
 */
static const struct call guest_calls[] = {
	/* Files. The mode of openat2 is in memory, where a filter cannot read
	   it; mode direct is refused for this reason. */
	{ "openat2", .action = ALLOW },
	{ "openat", .check = &check_openat },
	{ "close", .action = ALLOW },
	{ "read", .action = ALLOW },
	{ "readv", .action = ALLOW },
	{ "preadv", .action = ALLOW },
	{ "write", .action = ALLOW },
	{ "writev", .action = ALLOW },
	{ "pwritev", .action = ALLOW },
	{ "lseek", .action = ALLOW },
	{ "ftruncate", .action = ALLOW },
	{ "fstat", .action = ALLOW },
	{ "newfstatat", .action = ALLOW },
	{ "getdents64", .action = ALLOW },
	{ "mkdirat", .check = &check_mode_2 },
	{ "unlinkat", .action = ALLOW },
	{ "renameat", .action = ALLOW },
	{ "linkat", .action = ALLOW },
	{ "symlinkat", .action = ALLOW },
	{ "readlinkat", .action = ALLOW },
	{ "utimensat", .action = ALLOW },
	{ "fcntl", .check = &check_fcntl_guest },
	{ "ioctl", .check = &check_ioctl_guest },

	/* Time and chance. */
	{ "clock_gettime", .action = ALLOW },
	{ "clock_getres", .action = ALLOW },
	{ "ppoll", .action = ALLOW },
	{ "getrandom", .action = ALLOW },
	{ "restart_syscall", .action = ALLOW },

	/* Memory. */
	{ "brk", .action = ALLOW },
	{ "mmap", .check = &check_mmap_guest },
	{ "mprotect", .check = &check_mprotect_guest },
	{ "munmap", .action = ALLOW },

	/* The handlers of traps and interrupts return, and the process ends. */
	{ "rt_sigreturn", .action = ALLOW },
	{ "exit_group", .action = ALLOW },

	/* The self-test, and its report to the keeper. */
	{ "getuid", .action = ALLOW },
	{ "geteuid", .action = ALLOW },
	{ "sendto", .check = &check_send_connected },

	/* The closing filter takes these away. */
	{ "seccomp", .action = ALLOW },
	{ "prlimit64", .action = ALLOW },
	{ "sendmsg", .check = &check_sendmsg },
	CALLS_END,
};

/* Added to the filter of code once the keeper has the listener: removes what
   the steps between the two need. */
static const struct call closing_calls[] = {
	{ "seccomp", .action = REFUSE(ENOSYS) },
	{ "prlimit64", .check = &check_prlimit },
	CALLS_END,
};

static const struct call closing_strict_calls[] = {
	/*
	 * RLIMIT_NOFILE does not count a descriptor in flight, nor does
	 * RLIMIT_AS count the buffer it refers to. Without sendmmsg, glibc's
	 * resolver works only with "options single-request" in resolv.conf.
	 */
	{ "sendmsg", .action = REFUSE(EPERM) },
	{ "sendmmsg", .action = REFUSE(EPERM) },
	CALLS_END,
};

/*
 * fsync needs no write permission: on a read-only file of the host it makes the
 * disk flush its cache, and every writer on the machine waits for that. Nothing
 * is lost by skipping it: the writable directories are in memory or are removed
 * after the run, and the commit syncs what goes to a directory of mode rw. It
 * must appear to succeed, since databases and atomic writes check the result.
 */
static const struct call closing_unsynced_calls[] = {
	{ "fsync", .action = IGNORE },
	{ "fdatasync", .action = IGNORE },
	{ "sync_file_range", .action = IGNORE },
	CALLS_END,
};

static const struct call closing_no_memfd_calls[] = {
	{ "memfd_create", .action = REFUSE(EPERM) },
	CALLS_END,
};

static const struct call closing_streams_calls[] = {
	{ "socketpair", .check = &check_socketpair_connected },
	CALLS_END,
};

const struct layer syscall_layers[] = {
	{ .calls = syscall_base },
	{ .calls = forkable_calls, .needs = FILTER_FORKABLE },
	{ .calls = subprocess_calls, .needs = FILTER_SUBPROCESS },
	{ .calls = network_calls, .needs = FILTER_NETWORK },
	{ .calls = unix_calls, .needs = LAYER_UNIX },
	{ .calls = unix_network_calls, .needs = LAYER_UNIX | FILTER_NETWORK },
	{ .calls = strict_memory_calls, .needs = FILTER_STRICT_MEMORY },
	{ .calls = init_calls, .needs = LAYER_INIT, .kills_rest = true },
	{ .calls = keeper_calls, .needs = LAYER_KEEPER },
	{ .calls = keeper_network_calls,
	  .needs = LAYER_KEEPER | FILTER_NETWORK },
	{ .calls = zygote_calls, .needs = LAYER_ZYGOTE },
	{ .calls = import_calls, .needs = LAYER_IMPORT },
	{ .calls = bare_calls, .needs = LAYER_BARE },
	{ .calls = proxy_calls, .needs = LAYER_PROXY, .from_scratch = true },
	{ .calls = watcher_calls,
	  .needs = LAYER_WATCHER,
	  .from_scratch = true },
	{ .calls = guest_calls, .needs = LAYER_GUEST, .from_scratch = true },
	{ .calls = closing_calls, .needs = LAYER_CLOSING, .allows_rest = true },
	{ .calls = closing_strict_calls,
	  .needs = LAYER_CLOSING | FILTER_STRICT_MEMORY },
	{ .calls = closing_unsynced_calls,
	  .needs = LAYER_CLOSING | LAYER_UNSYNCED },
	{ .calls = closing_no_memfd_calls,
	  .needs = LAYER_CLOSING | LAYER_NO_MEMFD },
	{ .calls = closing_streams_calls,
	  .needs = LAYER_CLOSING | LAYER_STREAMS },
};

const size_t syscall_layer_count = ARRAY_LEN(syscall_layers);

static const unsigned special_properties[] = {
	[FILTER_INIT] = LAYER_INIT,
	[FILTER_KEEPER] = LAYER_KEEPER | FILTER_SUBPROCESS | LAYER_UNIX,
	[FILTER_KEEPER_NETWORK] =
		LAYER_KEEPER | FILTER_SUBPROCESS | FILTER_NETWORK | LAYER_UNIX,
	[FILTER_ZYGOTE] =
		LAYER_ZYGOTE | FILTER_SUBPROCESS | FILTER_NETWORK | LAYER_UNIX,
	[FILTER_IMPORT] = LAYER_IMPORT | FILTER_NETWORK,
	[FILTER_BARE] = LAYER_BARE | FILTER_STRICT_MEMORY,
	[FILTER_BARE_NETWORK] =
		LAYER_BARE | FILTER_STRICT_MEMORY | FILTER_NETWORK,
	[FILTER_LOCAL] = FILTER_SUBPROCESS | LAYER_UNIX,
	[FILTER_LOCAL_NETWORK] =
		FILTER_SUBPROCESS | FILTER_NETWORK | LAYER_UNIX,
	[FILTER_PROXY] = LAYER_PROXY,
	[FILTER_WATCHER] = LAYER_WATCHER,
	[FILTER_GUEST] = LAYER_GUEST,
};

static unsigned
closing_properties(unsigned flags)
{
	return LAYER_CLOSING |
	       (flags & CLOSING_STRICT ? FILTER_STRICT_MEMORY : 0) |
	       (flags & CLOSING_DIRECT ? 0 : LAYER_UNSYNCED) |
	       (flags & CLOSING_NO_MEMFD ? LAYER_NO_MEMFD : 0) |
	       (flags & CLOSING_STREAMS ? LAYER_STREAMS : 0);
}

unsigned
syscall_variant_properties(unsigned variant)
{
	if (variant < FILTER_INIT)
		return variant;
	if (variant >= FILTER_CLOSING)
		return closing_properties(variant - FILTER_CLOSING);
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
