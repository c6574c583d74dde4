# id: RS17
# field: cpu_seconds
# kept-by: cgroup_cpu rlimit_cpu
# policy: {"cpu_seconds": 1, "timeout": 180}
# judge: status
# status: cpu_limit
# expect: killed when the processor time is used up, although signals are ignored

import signal
import time

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while time.process_time() < 3:
    pass
escaped("used 3 s of processor time with a limit of 1 s")
