# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: work after the end of the program counts as well

import atexit
import time


def linger():
    end = time.monotonic() + 2
    while time.monotonic() < end:
        pass
    escaped("an exit handler ran for 2 s with a deadline of 0.5 s")


atexit.register(linger)
