# id: RS6
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS: no shared memory, queues or semaphores without a file system

IPC_PRIVATE, IPC_CREAT, IPC_RMID = 0, 0o1000, 0
for label, call, control in (
    ("shmget", ("shmget", IPC_PRIVATE, 1 << 20, IPC_CREAT | 0o600), "shmctl"),
    ("msgget", ("msgget", IPC_PRIVATE, IPC_CREAT | 0o600), "msgctl"),
    ("semget", ("semget", IPC_PRIVATE, 1, IPC_CREAT | 0o600), None),
):
    ret, err = syscall(*call)
    if ret >= 0:
        went_through(label)
        if control:
            syscall(control, ret, IPC_RMID, None)
        else:
            syscall("semctl", ret, 0, IPC_RMID, None)
    else:
        refused(label, errname(err))
report_outcome()
