# id: PR7
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for process_vm_readv, process_vm_writev and process_madvise

buffer = ctypes.create_string_buffer(16)
vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buffer), 16), 16)
for pid in (os.getpid(), 1, os.getppid(), ARG["host_pid"]):
    for call in ("process_vm_readv", "process_vm_writev"):
        ret, err = syscall(call, pid, vector, 1, vector, 1, 0)
        if ret >= 0:
            went_through("%s of %d" % (call, pid))
        else:
            refused("%s of %d" % (call, pid), errname(err))
reach("process_vm_readv, wrong flags", "process_vm_readv", os.getpid(), vector, 1, vector, 1, 99)
reach("process_madvise", "process_madvise", -1, vector, 1, 0, 0)
report_outcome()
