# id: RS17
# field: cpus
# kept-by: seccomp
# policy: {"cpus": 1}
# leaves-out: seccomp
# expect: EPERM: the choice of processors cannot be undone, nor the priority raised

mask = ctypes.create_string_buffer(b"\xff" * 128, 128)
reach("sched_setaffinity", "sched_setaffinity", 0, 128, mask)
reach("sched_setscheduler", "sched_setscheduler", 0, 99, BAD)
reach("sched_setattr", "sched_setattr", 0, BAD, 0)
reach("setpriority", "setpriority", 99, 0, -20)
reach("ioprio_set", "ioprio_set", 99, 0, 0)
report_outcome()
