# id: K1
# field: subprocess_execution
# kept-by: seccomp
# expect: no number from 0 to 600 passes the filter unless it is on the list

# The golden list: the calls that code may make without network and subprocesses.
# A new entry in the filter's table must be added here by hand.
ALLOWED = """
    read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2
    lseek sendfile copy_file_range fsync fdatasync sync_file_range fadvise64
    close close_range dup dup2 dup3 pipe pipe2 flock fcntl ioctl open openat
    openat2 creat stat lstat fstat newfstatat statx access faccessat
    faccessat2 getdents64 readlink readlinkat getcwd chdir fchdir mkdir
    mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat
    symlink symlinkat chmod fchmod fchmodat fchmodat2 utime utimes futimesat
    utimensat truncate ftruncate fallocate umask statfs fstatfs getxattr
    lgetxattr fgetxattr listxattr llistxattr flistxattr brk mmap mprotect
    munmap mremap madvise msync mincore membarrier memfd_create clone futex
    set_robust_list get_robust_list rseq set_tid_address gettid exit
    exit_group sched_yield sched_getaffinity sched_getparam sched_getscheduler
    sched_getattr sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval getcpu
    restart_syscall arch_prctl prctl getpid getppid getuid geteuid getgid
    getegid getresuid getresgid getgroups getpgrp getpgid getsid uname sysinfo
    getrusage getrlimit getpriority times getrandom prlimit64 personality
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time
    alarm getitimer setitimer timerfd_create timerfd_settime timerfd_gettime
    pause rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend
    rt_sigtimedwait sigaltstack kill tgkill poll ppoll select pselect6
    epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 wait4 waitid socketpair sendto recvfrom sendmsg recvmsg
    shutdown getsockname getpeername getsockopt
""".split()
# Not called: these end or hang the program. Those that kill it have separate
# programs, and sync() would wait for the disks of a shared machine.
SKIPPED = """
exit exit_group pause rt_sigreturn sync fork vfork
kexec_load kexec_file_load init_module finit_module delete_module modify_ldt
uselib lookup_dcookie nfsservctl
""".split()
# The filter refuses these with EOPNOTSUPP. The kernel has other errors for these arguments.
ATTRIBUTES = "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr".split()
RETURN_BY_SIGNAL = {335, 336}  # uretprobe, uprobe

numbers = {nr: name for name, nr in NR.items()}
skip = {NR[name] for name in ALLOWED + SKIPPED if name in NR} | RETURN_BY_SIGNAL
tested = 0
for nr in list(range(601)) + [1023, 4096, 0x3FFFFFFF]:
    if nr in skip:
        continue
    tested += 1
    ret, err = syscall(nr, -1, -1, -1, -1, -1, -1)
    if ret == -1 and err in ((errno.EOPNOTSUPP,) if numbers.get(nr) in ATTRIBUTES else REFUSED):
        continue
    went_through(numbers.get(nr, str(nr)), errname(err) if ret == -1 else str(ret))
for name in ("fork", "vfork"):
    if name in NR:
        reach_child(name, NR[name])
refused("calls", "%d tested" % tested)
report_outcome()
