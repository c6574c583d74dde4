# id: K6
# field: subprocess_execution
# kept-by: seccomp
# expect: of all values that differ from a thread's flags by one bit, only musl's passes

THREAD, DETACHED = 0x3D0F00, 0x400000
tid = ctypes.c_int(0)
where = ctypes.addressof(tid)
for bit in range(64):
    flags = THREAD ^ (1 << bit)
    if flags == THREAD | DETACHED:
        continue
    reach_child("bit %d" % bit, NR["clone"], flags, 0, where, where, 0)
report_outcome()
