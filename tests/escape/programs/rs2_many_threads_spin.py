# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "processes": 64, "memory_bytes": "512M"}
# judge: status
# status: timeout
# expect: all threads end with the run

import threading

threading.stack_size(65536)


def spin():
    for _ in lasting(1.5):
        pass


threads = [threading.Thread(target=spin) for _ in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
escaped("40 threads outlived the deadline by 1 s")
