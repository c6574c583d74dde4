# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "processes": 64, "memory_bytes": "512M"}
# judge: status
# status: timeout
# within: 8
# expect: all threads end with the run

import threading
import time

threading.stack_size(65536)
end = time.monotonic() + 2


def spin():
    while time.monotonic() < end:
        pass


threads = [threading.Thread(target=spin) for _ in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
escaped("40 threads outlived the deadline by 1.5 s")
