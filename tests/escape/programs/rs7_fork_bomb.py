# id: RS7
# field: processes
# kept-by: cgroup_pids rlimit_nproc
# policy: {"processes": 8, "subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# expect: EAGAIN at the limit, and no more processes on the host afterwards

import signal

children = []
# Bounded, so that a control on a shared machine stays harmless.
while len(children) < 40:
    try:
        pid = os.fork()
    except OSError as e:
        refused("fork", "%s after %d" % (errname(e.errno), len(children)))
        break
    if pid == 0:
        signal.pause()
        os._exit(0)
    children.append(pid)
if len(children) > 16:
    went_through("fork", "%d children with a limit of 8" % len(children))
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
report_outcome()
