# id: S4
# field: processes
# kept-by: cgroup_pids rlimit_nproc
# policy: {"processes": 8, "subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process", "timeout": 180, "cpu_seconds": 60}
# control: no children that run one after the other stay within the limit
# expect: orphans are reaped by pid 1, so hundreds of them never fill the table


def fork():
    # pid 1 may not have run yet to reap the earlier children.
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(0.001)


for i in range(500):
    pid = fork()
    if pid == 0:
        # The grandchild is orphaned at once and left to pid 1.
        fork()
        os._exit(0)
    os.waitpid(pid, 0)
contained("500 orphans were left to pid 1")
