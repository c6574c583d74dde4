# id: PR9
# field: timeout
# kept-by: timer
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process", "timeout": 180}
# judge: outside
# control: no the pid namespace ends the daemon, and that namespace cannot be left out
# expect: the run ends with its program, although a child still has stdout open

import signal
import time

if os.fork() == 0:
    os.setsid()
    for n in (1, 2, 3, 13, 15):
        signal.signal(n, signal.SIG_IGN)
    time.sleep(600)
    os._exit(0)
contained("a child has stdout and stderr open")
