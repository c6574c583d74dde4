/*
 * syscall_table: which system calls a process may make, as data.
 *
 * This is the whole seccomp policy: the rows of every process are in
 * syscall_base.c, the changes by flags in syscall_table.c, and the checks of
 * arguments in syscall_check.c. tools/gen_filter.c reads it when Remit is
 * built; nothing reads it at run time.
 *
 * Every known system call has one row in the first layer. A layer is a list of
 * rows for the variants with its properties. If two layers name the same call,
 * the later one wins. So a flag grants exactly what is in its layer:
 *
 *	variant                  layers, in this order
 *	0                        base
 *	FILTER_FORKABLE          base forkable
 *	FILTER_SUBPROCESS        base subprocess
 *	FILTER_NETWORK           base network
 *	FILTER_STRICT_MEMORY     base strict_memory (last: it only takes away)
 *	FILTER_INIT              everything killed, then init
 *	FILTER_KEEPER            base subprocess unix keeper
 *	FILTER_KEEPER_NETWORK    base subprocess network unix unix_network
 *	                         keeper keeper_network
 *	FILTER_ZYGOTE            base subprocess network unix unix_network
 *	                         zygote
 *	FILTER_IMPORT            base network import
 *	FILTER_BARE              base strict_memory bare
 *	FILTER_BARE_NETWORK      base network strict_memory bare
 *	FILTER_LOCAL             base subprocess unix
 *	FILTER_LOCAL_NETWORK     base subprocess network unix unix_network
 *	FILTER_PROXY             base with every permission removed, then proxy
 *	FILTER_WATCHER           the same, then watcher
 *	FILTER_GUEST             the same, then guest
 *	FILTER_CLOSING + flags   everything allowed, then closing, then
 *	                         closing_strict, closing_unsynced (without
 *	                         CLOSING_DIRECT), closing_no_memfd and
 *	                         closing_streams
 *
 * A row has an action, or a check that chooses the action by the arguments:
 *
 *	ALLOW           the kernel executes the call
 *	REFUSE(EPERM)   a known call that is forbidden
 *	REFUSE(ENOSYS)  "no such call": libraries fall back to what is allowed.
 *	                Numbers without a row get this too, so that a new kernel
 *	                does not widen an old policy
 *	EXPLAIN(EPERM)  like REFUSE for the caller, but the keeper answers the
 *	                call and reports the attempt in the result
 *	                (seccomp_unotify(2)). Without a listener the kernel
 *	                answers ENOSYS, so it is a refusal in filters without
 *	                one too. Those do not hide the explanation: of two
 *	                equal actions, that of the newest filter counts. A
 *	                REFUSE in any filter takes precedence
 *	IGNORE          the call reports success and does nothing: for calls
 *	                that must not fail and need not happen
 *	KILL            only an exploit makes this call
 *
 * Two checks come before all rows. A call from another architecture is killed,
 * and so is one with an x32 number, since both give these numbers another
 * meaning.
 *
 * To allow a call: change its row, write the reason next to it, run the unit
 * tests, and renew tests/unit/jail/verdicts.txt (see test_filter.c).
 */
#ifndef REMIT_SYSCALL_TABLE_H
#define REMIT_SYSCALL_TABLE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOW	    SECCOMP_RET_ALLOW
#define REFUSE(err) (SECCOMP_RET_ERRNO | (err))
#define IGNORE	    REFUSE(0) /* the kernel returns 0 */
#define KILL	    SECCOMP_RET_KILL_PROCESS
/* The kernel ignores these low bits; the keeper reads them. */
#define EXPLAIN(err) (SECCOMP_RET_USER_NOTIF | (err))

/*
 * True if (argument & mask) == value. A register has 64 bits, but if the kernel
 * declares an argument as int it reads only 32 of them. Filters that compared
 * all 64 there let TIOCSTI pass (CVE-2019-10063). Use INT for such arguments,
 * WORD for longs and pointers. An empty condition is true.
 */
struct condition {
	uint8_t arg;
	uint64_t mask;
	uint64_t value;
};

#define INT(n, v)     { .arg = (n), .mask = UINT32_MAX, .value = (v) }
#define WORD(n, v)    { .arg = (n), .mask = UINT64_MAX, .value = (v) }
#define BITS(n, m, v) { .arg = (n), .mask = (m), .value = (v) }

#define CLAUSE_CONDITIONS 3

/* If all conditions are true, this is the action. The first such clause
   wins. */
struct clause {
	struct condition all[CLAUSE_CONDITIONS];
	uint32_t action;
};

#define ALLOW_IF(...)	    { .all = { __VA_ARGS__ }, .action = ALLOW }
#define IGNORE_IF(...)	    { .all = { __VA_ARGS__ }, .action = IGNORE }
#define REFUSE_IF(err, ...) { .all = { __VA_ARGS__ }, .action = REFUSE(err) }

struct check {
	const struct clause *clauses;
	size_t count;
	uint32_t otherwise;
};

struct call {
	const char *name;
	uint32_t action;
	const struct check *check; /* if set, used instead of action */
};

/* Properties of the special variants, in addition to the bits of
   filter_flag. */
enum layer_property {
	LAYER_INIT = 16,
	LAYER_KEEPER = 32,
	LAYER_ZYGOTE = 64,
	LAYER_BARE = 128,
	LAYER_CLOSING = 256,
	LAYER_PROXY = 512,
	LAYER_UNSYNCED = 1024,
	LAYER_IMPORT = 2048,
	LAYER_UNIX = 4096,
	LAYER_NO_MEMFD = 8192,
	LAYER_STREAMS = 16384,
	LAYER_WATCHER = 32768,
	LAYER_GUEST = 65536,
};

struct layer {
	const struct call *calls; /* ends with CALLS_END */
	unsigned needs;	   /* for variants with all of these properties */
	bool from_scratch; /* what earlier layers allowed becomes EPERM */
	bool kills_rest;   /* calls without a row here are killed */
	bool allows_rest;  /* calls without a row here are allowed */
};

#define CALLS_END { .name = NULL }

/* The first layer. Every name must have a row in it. */
extern const struct call syscall_base[];

extern const struct layer syscall_layers[];
extern const size_t syscall_layer_count;

/* The properties of a variant in filter.h. */
unsigned syscall_variant_properties(unsigned variant);

/*
 * Names of calls that libseccomp 2.5.4 may not know, by number. From 424 on, a
 * new call has the same number on every architecture.
 */
extern const char *const syscall_late_names[];
extern const size_t syscall_late_count;

/* ---- calls that are checked by their arguments (syscall_check.c) ---- */

extern const struct check check_thread;
extern const struct check check_any_child;
extern const struct check check_execveat;
extern const struct check check_no_exec;
extern const struct check check_no_unshare;
extern const struct check check_unshare_nothing;
extern const struct check check_kill_self;
extern const struct check check_tgkill_self;
extern const struct check check_kill_own;
extern const struct check check_tgkill_own;

extern const struct check check_mmap;
extern const struct check check_mmap_strict;
extern const struct check check_mmap_data;
extern const struct check check_memfd;
extern const struct check check_madvise;
extern const struct check check_madvise_zygote;
extern const struct check check_fcntl_strict;
extern const struct check check_fcntl_proxy;
extern const struct check check_fcntl_watcher;
extern const struct check check_fcntl_guest;
extern const struct check check_ioctl_guest;
extern const struct check check_mmap_guest;
extern const struct check check_mprotect_guest;
extern const struct check check_socketpair_strict;
extern const struct check check_futex;
extern const struct check check_prctl;
extern const struct check check_prctl_forkable;
extern const struct check check_arch_prctl;
extern const struct check check_personality;
extern const struct check check_prlimit;
extern const struct check check_prlimit_own;
extern const struct check check_setpriority;

/* This argument is the mode of a FIFO. */
extern const struct check check_fifo_1;
extern const struct check check_fifo_2;
extern const struct check check_pidfd_open;

/* This argument is a mode without setuid and setgid bits. */
extern const struct check check_mode_1;
extern const struct check check_mode_2;
extern const struct check check_mode_3;
extern const struct check check_vector; /* preadv2, pwritev2 */
extern const struct check check_open;
extern const struct check check_openat;
extern const struct check check_fcntl;
extern const struct check check_ioctl;
extern const struct check check_ioctl_terminal;

extern const struct check check_socketpair;
extern const struct check check_send_connected;
extern const struct check check_send_anywhere;
extern const struct check check_sendmsg;
extern const struct check check_socket_none;
extern const struct check check_socket_network;
extern const struct check check_socketpair_connected;
extern const struct check check_socket_unix;
extern const struct check check_socket_unix_network;
extern const struct check check_socket_keeper;
extern const struct check check_socket_keeper_network;
extern const struct check check_bind;
extern const struct check check_setsockopt;
extern const struct check check_setsockopt_private;

#endif
