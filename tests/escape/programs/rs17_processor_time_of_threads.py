# id: RS17
# field: cpu_seconds
# kept-by: cgroup_cpu rlimit_cpu
# policy: {"cpu_seconds": 1, "timeout": 180, "cpus": 2}
# judge: status
# status: cpu_limit
# expect: the processor time of all threads is added up

import hashlib
import signal
import threading
import time

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
block = bytes(1 << 20)


def work():
    while time.process_time() < 4:
        hashlib.sha256(block).digest()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
escaped("used 4 s of processor time with a limit of 1 s")
