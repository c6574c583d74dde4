# id: PR8
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM and ENOSYS for the calls related to kill

info = ctypes.create_string_buffer(struct.pack("iiii", 0, 0, -1, 0), 128)
for pid in (1, ARG["host_pid"]):
    reach("rt_sigqueueinfo(%d)" % pid, "rt_sigqueueinfo", pid, 99, BAD)
    reach("rt_tgsigqueueinfo(%d)" % pid, "rt_tgsigqueueinfo", pid, pid, 99, BAD)
    reach("tkill(%d)" % pid, "tkill", pid, 99)
    reach("tgkill(%d)" % pid, "tgkill", pid, pid, 99)
for label, command in (("F_SETOWN", 8), ("F_SETSIG", 10), ("F_SETOWN_EX", 15)):
    reach(label, "fcntl", 0, command, BAD)
report_outcome()
