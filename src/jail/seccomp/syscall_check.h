/*
 * syscall_check: the calls whose arguments decide. One check per rule; the
 * reasons stand next to the rules in syscall_check.c.
 */
#ifndef REMIT_SYSCALL_CHECK_H
#define REMIT_SYSCALL_CHECK_H

#include "jail/seccomp/syscall_table.h"

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
