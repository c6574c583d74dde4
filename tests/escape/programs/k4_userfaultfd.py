# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS: page faults of the kernel cannot be held up

USER_MODE_ONLY = 1
reach("userfaultfd", "userfaultfd", USER_MODE_ONLY | os.O_CLOEXEC)
reach("userfaultfd, wrong flags", "userfaultfd", 0x7FFFFFFF)
report_outcome()
