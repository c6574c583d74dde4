# id: P3
# field: timeout
# kept-by: timer
# runs: 2
# control: no the kernel drops a lock with the process that owns it
# expect: a lock that one run took on a file of the image is free in the next

import fcntl
import threading
import time

fd = os.open(os.__file__, os.O_RDONLY)
for label, lock in (
    ("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
    ("record lock", lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)),
):
    try:
        lock()
    except BlockingIOError:
        went_through(label, "locked by an earlier run")
    except OSError as e:
        refused(label, errname(e.errno))
    else:
        refused(label, "free")
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
report_outcome()
