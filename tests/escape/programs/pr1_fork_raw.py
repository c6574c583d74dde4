# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for fork and clone called by number, without libc

SIGCHLD, CHILD_SETTID, CHILD_CLEARTID = 17, 0x01000000, 0x00200000
if "fork" in NR:
    reach_child("fork", NR["fork"])
reach_child("clone(SIGCHLD)", NR["clone"], SIGCHLD)
tid = ctypes.c_int(0)
reach_child("clone as glibc's fork", NR["clone"], SIGCHLD | CHILD_SETTID | CHILD_CLEARTID, 0, 0,
            ctypes.addressof(tid))
reach_child("clone(0)", NR["clone"], 0)
report_outcome()
