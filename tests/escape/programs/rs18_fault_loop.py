# id: RS18
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# within: 8
# expect: a fault that is handled by faulting again ends at the deadline

import signal
import threading
import time


def watch():
    time.sleep(2)
    escaped("faulted for 2 s with a deadline of 0.5 s")
    os._exit(0)


threading.Thread(target=watch, daemon=True).start()
# CPython's handler only takes a note and returns, to the same instruction.
signal.signal(signal.SIGSEGV, lambda *_: None)
LIBC.strlen(ctypes.c_void_p(BAD))
