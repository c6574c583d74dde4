# id: PR9
# field: timeout
# kept-by: timer
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process", "timeout": 180}
# judge: outside
# control: no the pid namespace ends the daemon, and that namespace cannot be left out
# expect: a daemon in its own session is gone when the run has ended; the harness looks for it

import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2, 3):
            os.close(fd)
        time.sleep(600)
    os._exit(0)
os.wait()
contained("a daemon was left running")
