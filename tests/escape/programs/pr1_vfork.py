# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for vfork and for the clone flags that libc uses instead

SIGCHLD, VM, VFORK = 17, 0x100, 0x4000
if "vfork" in NR:
    reach_child("vfork", NR["vfork"])
reach_child("clone(VM|VFORK)", NR["clone"], VM | VFORK | SIGCHLD)
reach_child("clone(VFORK)", NR["clone"], VFORK | SIGCHLD)
report_outcome()
