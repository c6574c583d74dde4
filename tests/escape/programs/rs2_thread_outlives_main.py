# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: a thread that keeps the interpreter alive does not keep the run alive

import threading


def linger():
    for _ in lasting(2):
        time.sleep(0.01)
    escaped("a thread outlived the deadline")


threading.Thread(target=linger).start()
