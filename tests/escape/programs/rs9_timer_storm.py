# id: RS9
# field: open_files
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS: no timers except the one of the process

made = 0
timer = ctypes.c_int(0)
for _ in range(100):
    ret, err = syscall("timer_create", 1, None, timer)
    if ret == -1:
        refused("timer_create", errname(err))
        break
    made += 1
if made:
    went_through("timer_create", "%d timers" % made)
reach("signalfd4", "signalfd4", -1, BAD, 8, 0)
report_outcome()
