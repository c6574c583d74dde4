# id: PR7
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for pidfd_open, pidfd_getfd and similar calls

for pid in (1, os.getpid(), ARG["host_pid"]):
    ret, err = syscall("pidfd_open", pid, 0)
    if ret >= 0:
        went_through("pidfd_open(%d)" % pid)
        for fd in range(8):
            stolen, err = syscall("pidfd_getfd", ret, fd, 0)
            if stolen >= 0:
                went_through("descriptor %d of %d" % (fd, pid))
    else:
        refused("pidfd_open(%d)" % pid, errname(err))
reach("pidfd_getfd", "pidfd_getfd", -1, 0, 99)
reach("pidfd_send_signal", "pidfd_send_signal", -1, 0, None, 0)
reach("process_mrelease", "process_mrelease", -1, 99)
reach("kcmp", "kcmp", 1, 1, 99, 0, 0)
report_outcome()
