# The harness prepends this to every program, so that a program is one file.
import ctypes
import errno
import json
import mmap
import os
import struct
import sys
import time

# Names and places of what the harness planted on the host. See world.py.
ARG = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}

# Names in the order of their numbers; "=N" continues at N.
_X86_64 = """
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk
    rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv
    writev access pipe select sched_yield mremap msync mincore madvise shmget
    shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid
    sendfile socket connect accept sendto recvfrom sendmsg recvmsg shutdown
    bind listen getsockname getpeername socketpair setsockopt getsockopt clone
    fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget
    msgsnd msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate
    getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink
    readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit
    getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid
    getegid setpgid getppid getpgrp setsid setreuid setregid getgroups
    setgroups setresuid getresuid setresgid getresgid getpgid setfsuid
    setfsgid getsid capget capset rt_sigpending rt_sigtimedwait
    rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib personality
    ustat statfs fstatfs sysfs getpriority setpriority sched_setparam
    sched_getparam sched_setscheduler sched_getscheduler
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock
    munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl
    arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2
    swapon swapoff reboot sethostname setdomainname iopl ioperm create_module
    init_module delete_module get_kernel_syms query_module quotactl nfsservctl
    getpmsg putpmsg afs_syscall tuxcall security gettid readahead setxattr
    lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr
    flistxattr removexattr lremovexattr fremovexattr tkill time futex
    sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy
    io_getevents io_submit io_cancel get_thread_area lookup_dcookie
    epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64
    set_tid_address restart_syscall semtimedop fadvise64 timer_create
    timer_settime timer_gettime timer_getoverrun timer_delete clock_settime
    clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl
    tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink
    mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid
    add_key request_key keyctl ioprio_set ioprio_get inotify_init
    inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat
    fchownat futimesat newfstatat unlinkat renameat linkat symlinkat
    readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list
    get_robust_list splice tee sync_file_range vmsplice move_pages utimensat
    epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime
    timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2
    inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg
    fanotify_init fanotify_mark prlimit64 name_to_handle_at open_by_handle_at
    clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv
    process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2
    seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd
    membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect
    pkey_alloc pkey_free statx io_pgetevents rseq
"""
_AARCH64 = """
    io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr
    fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    removexattr lremovexattr fremovexattr getcwd lookup_dcookie eventfd2
    epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1
    inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get flock
    mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount
    pivot_root nfsservctl statfs fstatfs truncate ftruncate fallocate
    faccessat chdir fchdir chroot fchmod fchmodat fchownat fchown openat close
    vhangup pipe2 quotactl getdents64 lseek read write readv writev pread64
    pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice
    tee readlinkat newfstatat fstat sync fsync fdatasync sync_file_range2
    timerfd_create timerfd_settime timerfd_gettime utimensat acct capget
    capset personality exit exit_group waitid set_tid_address unshare futex
    set_robust_list get_robust_list nanosleep getitimer setitimer kexec_load
    init_module delete_module timer_create timer_gettime timer_getoverrun
    timer_settime timer_delete clock_settime clock_gettime clock_getres
    clock_nanosleep syslog ptrace sched_setparam sched_setscheduler
    sched_getscheduler sched_getparam sched_setaffinity sched_getaffinity
    sched_yield sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack
    rt_sigsuspend rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait
    rt_sigqueueinfo rt_sigreturn setpriority getpriority reboot setregid
    setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid
    setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname
    sethostname setdomainname getrlimit setrlimit getrusage umask prctl getcpu
    gettimeofday settimeofday adjtimex getpid getppid getuid geteuid getgid
    getegid gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive
    mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl
    semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen
    accept connect getsockname getpeername sendto recvfrom setsockopt
    getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap add_key
    request_key keyctl clone execve mmap fadvise64 swapon swapoff mprotect
    msync mlock munlock mlockall munlockall mincore madvise remap_file_pages
    mbind get_mempolicy set_mempolicy migrate_pages move_pages
    rt_tgsigqueueinfo perf_event_open accept4 recvmmsg arch_specific_syscall
    =260 wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at
    open_by_handle_at clock_adjtime syncfs setns sendmmsg process_vm_readv
    process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2
    seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2
    copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx
    io_pgetevents rseq kexec_file_load =403 clock_gettime64 clock_settime64
    clock_adjtime64 clock_getres_time64 clock_nanosleep_time64 timer_gettime64
    timer_settime64 timerfd_gettime64 timerfd_settime64 utimensat_time64
    pselect6_time64 ppoll_time64 =416 io_pgetevents_time64 recvmmsg_time64
    mq_timedsend_time64 mq_timedreceive_time64 semtimedop_time64
    rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64
"""
# From 424 on a call has the same number on every architecture.
_COMMON = """
    =424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register
    open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3
    close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
    mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule
    landlock_restrict_self memfd_secret process_mrelease futex_waitv
    set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake
    futex_wait futex_requeue statmount listmount lsm_get_self_attr
    lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat
    removexattrat open_tree_attr file_getattr file_setattr listns
"""


def _numbers(*texts):
    table = {}
    for text in texts:
        n = 0
        for word in text.split():
            if word.startswith("="):
                n = int(word[1:])
            else:
                table[word] = n
                n += 1
    return table


MACHINE = os.uname().machine
NR = _numbers(_AARCH64 if MACHINE == "aarch64" else _X86_64, _COMMON)

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

# An address that no process has. A call that gets as far as reading it returns
# EFAULT, which shows that no filter stopped the call.
BAD = 1

# The errors that a filter returns when it refuses.
REFUSED = (errno.EPERM, errno.ENOSYS)

tried = []  # attacks that were refused, and how
got = []  # attacks that went through


def errname(n):
    return errno.errorcode.get(n, str(n))


def _word(value):
    if value is None:
        return ctypes.c_long(0)
    if isinstance(value, int):
        return ctypes.c_long(ctypes.c_long(value).value)
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    return ctypes.c_void_p(ctypes.addressof(value))


def syscall(name, *args):
    """(result, 0) or (-1, errno). `name` may be a number."""
    nr = name if isinstance(name, int) else NR[name]
    ctypes.set_errno(0)
    ret = LIBC.syscall(ctypes.c_long(nr), *map(_word, args))
    return ret, ctypes.get_errno() if ret == -1 else 0


def refused(label, why):
    tried.append("%s: %s" % (label, why))


def went_through(label, what="ok"):
    got.append("%s: %s" % (label, what))


def leak(label, data):
    """Reports what the attack read, and prints it so that the harness finds it too."""
    text = data if isinstance(data, str) else bytes(data).decode("latin-1")
    print("LEAK", label, text[:4000])
    went_through(label, "read %d bytes" % len(text))


def attempt(label, attack, *args):
    """Calls attack(*args). An OSError is a refusal; anything else is not."""
    try:
        result = attack(*args)
    except OSError as e:
        refused(label, errname(e.errno))
        return None
    went_through(label)
    return result


def reach(label, name, *args, answers=REFUSED):
    """Makes a system call. Returns whether it passed the filter, whatever its result."""
    if not isinstance(name, int) and name not in NR:
        refused(label, "not on " + MACHINE)
        return False
    ret, err = syscall(name, *args)
    if ret == -1 and err in answers:
        refused(label, errname(err))
        return False
    went_through(label, errname(err) if ret == -1 else "answered %d" % ret)
    return True


def read_file(path, size=4096):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def contained(evidence):
    print("CONTAINED", evidence, flush=True)


def escaped(what):
    print("ESCAPED", what, flush=True)


def lasting(seconds):
    """
    Yields for this many seconds. A long step counts as a short one: the keeper,
    which keeps the time outside, may not have had a processor either.
    """
    before = time.monotonic()
    while seconds > 0:
        yield
        now = time.monotonic()
        seconds -= min(now - before, 0.25)
        before = now


def report_outcome():
    """Prints the last line: ESCAPED if anything went through, or else CONTAINED."""
    if got:
        escaped("; ".join(got)[:2000])
    elif tried:
        contained("; ".join(tried)[:2000])
    else:
        raise AssertionError("the program tried nothing")


_code_pages = []


def machine_code(code):
    """Maps these instructions executable, and returns their address."""
    page = mmap.mmap(
        -1,
        mmap.PAGESIZE,
        mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
    )
    page.write(code)
    _code_pages.append(page)
    return ctypes.addressof(ctypes.c_char.from_buffer(page))


_RAW = {
    # mov rax,rdi; rdi,rsi; rsi,rdx; rdx,rcx; r10,r8; r8,r9; syscall
    # test rax,rax; jnz out; xor edi,edi; mov eax,60; syscall; out: ret
    "x86_64": "4889f84889f74889d64889ca4d89c24d89c80f05"
    "4885c0750931ffb83c0000000f05c3",
    # mov x8,x0; x0,x1 .. x5,x6; svc; cbnz x0,out; mov x8,93; mov x0,0; svc
    "aarch64": "e80300aae00301aae10302aae20303aae30304aae40305aae50306aa"
    "010000d4800000b5a80b80d2000080d2010000d4c0035fd6",
}
_raw = None


def raw_child(nr, a=0, b=0, c=0, d=0, e=0):
    """
    Makes a fork-like system call, whose child only exits. The child touches no
    stack, so it may share the parent's: any clone flags can be tried.
    """
    global _raw
    if _raw is None:
        where = machine_code(bytes.fromhex(_RAW[MACHINE]))
        _raw = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_ulong] * 6)(where)
    ret = _raw(nr, *(v & (1 << 64) - 1 for v in (a, b, c, d, e)))
    return (-1, -ret) if -4096 < ret < 0 else (ret, 0)


def reach_child(label, nr, *args, answers=REFUSED):
    """Like reach(), for calls that return twice."""
    ret, err = raw_child(nr, *args)
    if ret == -1 and err in answers:
        refused(label, errname(err))
        return False
    went_through(label, errname(err) if ret == -1 else "made %d" % ret)
    return True


def records(**pairs):
    """Returns records, the payload of most frames."""
    return b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in pairs.items())


def call_frames(number, tool, arguments, bytes=None):
    """Returns the frames of a tool call, as the runner would send them."""
    n = len(arguments) if bytes is None else bytes
    return frame("CALL", records(id=str(number), name=tool, bytes=str(n))) + b"".join(
        frame("CALL_DATA", arguments[at : at + 65536]) for at in range(0, len(arguments), 65536)
    )


def read_reply():
    """Reads the next reply. Returns its outcome and its text."""
    def read_exactly(n):
        data = b""
        while len(data) < n:
            part = os.read(3, n - len(data))
            if not part:
                raise EOFError("the channel is closed")
            data += part
        return data

    def payload():
        size, kind = struct.unpack("<IB3x", read_exactly(8))
        return read_exactly(size)

    parts = payload().split(b"\0")
    head = dict(zip(parts[0::2], parts[1::2]))
    text = b""
    while len(text) < int(head[b"bytes"]):
        text += payload()
    return head[b"outcome"].decode(), text.decode()


def frame(kind, payload=b"", length=None):
    """Returns a frame for the channel on descriptor 3; `kind` is a name or a number."""
    kind = ARG["frames"].get(kind, kind)
    n = len(payload) if length is None else length
    return struct.pack("<IB3x", n, kind) + payload

