# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for the old asynchronous interface

context = ctypes.c_ulong(0)
reach("io_setup", "io_setup", 1, context)
reach("io_submit", "io_submit", 0, 1, BAD)
reach("io_destroy", "io_destroy", 0)
report_outcome()
