# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS: a filter cannot read the flags through a pointer, so the call is always refused

SIGCHLD = 17
args = ctypes.create_string_buffer(struct.pack("8Q", 0, 0, 0, 0, SIGCHLD, 0, 0, 0), 64)
reach_child("clone3", NR["clone3"], ctypes.addressof(args), 64)
reach("clone3, bad address", "clone3", BAD, 64)
reach("clone3, size 0", "clone3", args, 0)
report_outcome()
