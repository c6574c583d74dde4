# id: P3
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# runs: 2
# expect: no shared memory, queue, key or socket can be left for another run

KEY, IPC_CREAT = 0x52454D, 0o1000
calls = {
    "shared memory": ("shmget", KEY, 4096, IPC_CREAT | 0o666),
    "queue": ("msgget", KEY, IPC_CREAT | 0o666),
    "semaphores": ("semget", KEY, 1, IPC_CREAT | 0o666),
    "POSIX queue": ("mq_open", b"remit-escape", os.O_CREAT | os.O_RDWR, 0o666, None),
}
for label, call in calls.items():
    ret, err = syscall(*call)
    if ret >= 0:
        went_through(label)
    else:
        refused(label, errname(err))
report_outcome()
