# id: K10
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS: no timer can signal another thread, in this process or in another

SIGEV_THREAD_ID = 4
for tid in (1, os.getppid(), ARG["host_pid"], 999999):
    event = ctypes.create_string_buffer(struct.pack("QiiI", 0, 10, SIGEV_THREAD_ID, tid), 64)
    timer = ctypes.c_int(0)
    reach("thread %d" % tid, "timer_create", 1, event, timer)
report_outcome()
