# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: a thread that keeps the interpreter from ending does not keep the run

import threading
import time


def linger():
    time.sleep(2)
    escaped("a thread outlived the deadline")


threading.Thread(target=linger).start()
