# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: no handler and no mask puts the deadline off

import signal
import time

for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
end = time.monotonic() + 2
while time.monotonic() < end:
    try:
        time.sleep(0.01)
    except BaseException:
        pass
escaped("outlived the deadline by 1.5 s")
