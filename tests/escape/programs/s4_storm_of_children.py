# id: S4
# field: processes
# kept-by: cgroup_pids rlimit_nproc
# policy: {"processes": 8, "subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process", "timeout": 30, "cpu_seconds": 30}
# within: 30
# control: no children one after the other stay within the limit
# expect: orphans are reaped by pid 1, so hundreds of them never fill the table

for i in range(500):
    pid = os.fork()
    if pid == 0:
        # The grandchild is orphaned at once, and left to pid 1.
        try:
            if os.fork() == 0:
                os._exit(0)
        except OSError:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
contained("500 orphans were left to pid 1")
