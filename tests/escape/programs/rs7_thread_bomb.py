# id: RS7
# field: processes
# kept-by: cgroup_pids rlimit_nproc
# policy: {"processes": 8}
# expect: EAGAIN at the limit, threads included

import threading

threading.stack_size(65536)
release = threading.Event()
threads = []
try:
    while len(threads) < 64:
        thread = threading.Thread(target=release.wait)
        thread.start()
        threads.append(thread)
except RuntimeError as e:
    refused("threads", "%s after %d" % (e, len(threads)))
if len(threads) > 16:
    went_through("threads", "%d with a limit of 8" % len(threads))
release.set()
for thread in threads:
    thread.join()
report_outcome()
