# id: PR2
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM: a thread's flags with anything missing are not a thread's flags

THREAD = 0x3D0F00
NAMES = {
    0x100: "VM", 0x200: "FS", 0x400: "FILES", 0x800: "SIGHAND", 0x10000: "THREAD",
    0x40000: "SYSVSEM", 0x80000: "SETTLS", 0x100000: "PARENT_SETTID", 0x200000: "CHILD_CLEARTID",
}
tid = ctypes.c_int(0)
where = ctypes.addressof(tid)
for bit, name in NAMES.items():
    reach_child("without " + name, NR["clone"], THREAD & ~bit, 0, where, where, 0)
report_outcome()
