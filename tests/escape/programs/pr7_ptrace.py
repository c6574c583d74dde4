# id: PR7
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for every request

ATTACH, SEIZE, PEEKTEXT, TRACEME = 16, 0x4206, 1, 0
# A process that does not exist gives ESRCH, unless the filter answers first.
for label, request, pid in (
    ("attach", ATTACH, 999999),
    ("seize", SEIZE, 999999),
    ("peek", PEEKTEXT, 999999),
):
    reach(label, "ptrace", request, pid, 0, 0)
if not got:
    # A parent that does not know that it traces its child would hang the control.
    for pid in (1, os.getppid(), ARG["host_pid"]):
        reach("attach %d" % pid, "ptrace", ATTACH, pid, 0, 0)
    reach("traceme", "ptrace", TRACEME, 0, 0, 0)
report_outcome()
