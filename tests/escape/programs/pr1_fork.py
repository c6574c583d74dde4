# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: os.fork raises EPERM, and threads still start

import threading


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


attempt("fork", fork)
thread = threading.Thread(target=lambda: tried.append("a thread: started"))
thread.start()
thread.join()
report_outcome()
