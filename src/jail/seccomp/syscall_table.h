/*
 * syscall_table: which system calls a process may make, as data.
 *
 * This is the whole seccomp policy: the rows of every process in
 * syscall_base.c, what flags change in syscall_table.c, and what arguments
 * decide in syscall_check.c. It is read by tools/gen_filter.c when Remit is
 * built, and by nothing at run time.
 *
 * Every system call we know has one row in the first layer. A layer is a list
 * of rows that holds for the variants with its properties; where two layers
 * name the same call, the later one wins. So what a flag grants is exactly
 * what its layer says, and can be read in one place:
 *
 *	variant                  layers, in this order
 *	0                        base
 *	FILTER_FORKABLE          base forkable
 *	FILTER_SUBPROCESS        base subprocess
 *	FILTER_NETWORK           base network
 *	FILTER_STRICT_MEMORY     base strict_memory (last: it only takes away)
 *	FILTER_INIT              everything killed, then init
 *	FILTER_KEEPER            base subprocess keeper
 *	FILTER_KEEPER_NETWORK    base subprocess network keeper keeper_network
 *	FILTER_ZYGOTE            base subprocess network zygote
 *	FILTER_IMPORT            base network import
 *	FILTER_BARE              base strict_memory bare
 *	FILTER_BARE_NETWORK      base network strict_memory bare
 *	FILTER_PROXY             base with every permission removed, then proxy
 *	FILTER_CLOSING           everything allowed, then closing and
 *	                         closing_unsynced
 *	FILTER_CLOSING_STRICT    the same, and closing_strict
 *	FILTER_CLOSING_DIRECT    everything allowed, then closing
 *	FILTER_CLOSING_DIRECT_STRICT  the same, then closing_strict
 *
 * A row answers with its action, or, if it has a check, with what the check
 * says about the arguments. Answers:
 *
 *	ALLOW           the kernel does it
 *	REFUSE(EPERM)   known, and not for you
 *	REFUSE(ENOSYS)  "no such call": libraries fall back to what is allowed.
 *	                Also the answer for any number without a row, so that a
 *	                new kernel does not widen an old policy
 *	EXPLAIN(EPERM)  the same for the caller, but the keeper answers it, and
 *	                the result says that it was tried (seccomp_unotify(2)).
 *	                Where nobody listens the kernel itself answers ENOSYS:
 *	                so it is a refusal in filters that have no listener too,
 *	                and theirs hide nothing, since of two equal answers that
 *	                of the newest filter counts. REFUSE comes before it
 *	IGNORE          the caller is told that it worked, and nothing is done:
 *	                for calls that must not fail and need not happen
 *	KILL            nothing but an exploit calls this
 *
 * Two things come before all rows: the wrong architecture is killed, and so
 * are x32 numbers, because both would read these numbers as other calls.
 *
 * To allow a call: change its row, say why next to it, run the unit tests,
 * and renew tests/unit/jail/verdicts.txt (see test_filter.c).
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
/* The kernel does not look at these low bits: they are for the keeper. */
#define EXPLAIN(err) (SECCOMP_RET_USER_NOTIF | (err))

/*
 * True if (argument & mask) == value. A register has 64 bits, and the kernel
 * reads only 32 of them where it declares an int: comparing all 64 there is
 * how TIOCSTI got past filters (CVE-2019-10063). Use INT for those, WORD for
 * longs and pointers. A condition left empty is true.
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

/* If all conditions hold, this is the action. The first such clause wins. */
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
	const struct check *check; /* if set, asked instead of action */
};

/* Properties of the special variants, next to the bits of filter_flag. */
enum layer_property {
	LAYER_INIT = 16,
	LAYER_KEEPER = 32,
	LAYER_ZYGOTE = 64,
	LAYER_BARE = 128,
	LAYER_CLOSING = 256,
	LAYER_PROXY = 512,
	LAYER_UNSYNCED = 1024,
	LAYER_IMPORT = 2048,
};

struct layer {
	const struct call *calls; /* up to CALLS_END */
	unsigned needs;		  /* the variants that have all of these */
	bool from_scratch;	  /* what was allowed so far becomes EPERM */
	bool kills_rest;	  /* what it does not name is killed */
	bool allows_rest;	  /* what it does not name is allowed */
};

#define CALLS_END { .name = NULL }

/* The first layer. A name that has no row in it is a mistake. */
extern const struct call syscall_base[];

extern const struct layer syscall_layers[];
extern const size_t syscall_layer_count;

/* The properties of a variant of filter.h. */
unsigned syscall_variant_properties(unsigned variant);

/*
 * By number, the calls that libseccomp 2.5.4 may not know. Since 424 a new
 * call has the same number on every architecture.
 */
extern const char *const syscall_late_names[];
extern const size_t syscall_late_count;

/* ---- the calls whose arguments decide (syscall_check.c) ---- */

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
extern const struct check check_memfd;
extern const struct check check_madvise;
extern const struct check check_madvise_zygote;
extern const struct check check_fcntl_strict;
extern const struct check check_fcntl_proxy;
extern const struct check check_socketpair_strict;
extern const struct check check_futex;
extern const struct check check_prctl;
extern const struct check check_prctl_forkable;
extern const struct check check_arch_prctl;
extern const struct check check_personality;
extern const struct check check_prlimit;
extern const struct check check_prlimit_own;

/* A mode in this argument without setuid and setgid bits. */
extern const struct check check_mode_1;
extern const struct check check_mode_2;
extern const struct check check_mode_3;
extern const struct check check_vector; /* preadv2, pwritev2 */
extern const struct check check_open;
extern const struct check check_openat;
extern const struct check check_fcntl;
extern const struct check check_ioctl;

extern const struct check check_socketpair;
extern const struct check check_send_connected;
extern const struct check check_socket_none;
extern const struct check check_socket_network;
extern const struct check check_socket_keeper;
extern const struct check check_socket_keeper_network;
extern const struct check check_bind;
extern const struct check check_setsockopt;

#endif
