# id: RS18
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# expect: a fault whose handler faults again ends at the deadline

import signal
import threading


def watch():
    for _ in lasting(2):
        time.sleep(0.01)
    escaped("faulted for 2 s with a deadline of 0.5 s")
    os._exit(0)


threading.Thread(target=watch, daemon=True).start()
# CPython's handler only records the signal and returns to the same instruction.
signal.signal(signal.SIGSEGV, lambda *_: None)
LIBC.strlen(ctypes.c_void_p(BAD))
