# id: RS6
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS for POSIX message queues

O_CREAT, O_RDWR = os.O_CREAT, os.O_RDWR
reach("mq_open", "mq_open", b"escape", O_CREAT | O_RDWR, 0o600, None)
reach("mq_unlink", "mq_unlink", b"escape")
reach("mq_timedsend", "mq_timedsend", -1, BAD, 1, 0, None)
report_outcome()
