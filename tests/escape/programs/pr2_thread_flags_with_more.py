# id: PR2
# field: subprocess_execution
# kept-by: seccomp
# expect: clone() with a thread's flags and any other flag is refused with EPERM

THREAD = 0x3D0F00
ADDED = {
    "new user": 0x10000000, "new pid": 0x20000000, "new net": 0x40000000,
    "new mount": 0x20000, "new ipc": 0x08000000, "new uts": 0x04000000,
    "new cgroup": 0x02000000, "new time": 0x80, "ptrace": 0x2000,
    "untraced": 0x00800000, "parent": 0x8000, "into cgroup": 1 << 33,
    "clear handlers": 1 << 32, "above 32 bits": 1 << 40,
}
tid = ctypes.c_int(0)
where = ctypes.addressof(tid)
for label, flag in ADDED.items():
    reach_child(label, NR["clone"], THREAD | flag, 0, where, where, 0)
report_outcome()
