# id: NET8
# field: network_access
# kept-by: seccomp
# expect: ENOSYS: no ring that could make sockets past the filter

parameters = ctypes.create_string_buffer(120)
ret, err = syscall("io_uring_setup", 8, parameters)
if ret >= 0:
    went_through("io_uring_setup", "ring %d" % ret)
elif err == errno.ENOSYS:
    refused("io_uring_setup", errname(err))
else:
    went_through("io_uring_setup", errname(err))
reach("io_uring_enter", "io_uring_enter", -1, 1, 1, 0, None, 0)
reach("io_uring_register", "io_uring_register", -1, 99, None, 0)
report_outcome()
