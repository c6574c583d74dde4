# id: RS17
# field: cpu_seconds
# kept-by: cgroup_cpu
# policy: {"cpu_seconds": 1, "timeout": 180, "subprocess_execution": true, "memory_fallback": "per_process"}
# judge: status
# status: cpu_limit
# users: root
# expect: a chain of short-lived children cannot hide the time that they use together

import time

for _ in range(12):
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.5:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
escaped("children used 6 s of processor time with a limit of 1 s")
