# id: K5
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for the newer futex calls

reach("futex_waitv", "futex_waitv", BAD, 999, 99, None, 0)
reach("futex_wake", "futex_wake", BAD, 0, 0, 0x7FFF)
reach("futex_wait", "futex_wait", BAD, 0, 0, 0x7FFF, None, 0)
reach("futex_requeue", "futex_requeue", BAD, 0x7FFF, 0, 0)
report_outcome()
