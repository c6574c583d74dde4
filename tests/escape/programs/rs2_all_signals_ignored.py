# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: no signal handler and no signal mask delays the deadline

import signal

for n in range(1, 65):
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for _ in lasting(2):
    try:
        time.sleep(0.01)
    except BaseException:
        pass
escaped("outlived the deadline by 1.5 s")
