# id: RS17
# field: cpus
# kept-by: affinity
# policy: {"cpus": 1, "processes": 32}
# expect: eight threads that compute at the same time get no more than one processor

import hashlib
import threading
import time

allowed = os.sched_getaffinity(0)
if len(allowed) > 1:
    went_through("affinity", "%d processors" % len(allowed))
block = bytes(1 << 20)
end = time.monotonic() + 1


def work():
    # hashlib releases the interpreter lock for large blocks.
    while time.monotonic() < end:
        hashlib.sha256(block).digest()


wall, cpu = time.monotonic(), time.process_time()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ratio = (time.process_time() - cpu) / (time.monotonic() - wall)
if ratio > 1.25:
    went_through("threads", "used %.2f processors" % ratio)
else:
    refused("threads", "used %.2f processors" % ratio)
report_outcome()
