# id: PR10
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM: nothing that the keeper relies on can be changed; a new process name has no effect

SET_PDEATHSIG, SET_DUMPABLE, SET_MM, SUBREAPER, SET_PTRACER, SET_TSC = 1, 4, 35, 36, 0x59616D61, 26
LIBC.prctl(15, b"[kworker/0:0]", 0, 0, 0)
reach("PR_SET_PDEATHSIG", "prctl", SET_PDEATHSIG, 0, 0, 0, 0)
reach("PR_SET_DUMPABLE", "prctl", SET_DUMPABLE, 99, 0, 0, 0)
reach("PR_SET_MM", "prctl", SET_MM, 99, BAD, 0, 99)
reach("PR_SET_CHILD_SUBREAPER", "prctl", SUBREAPER, 1, 0, 0, 0)
reach("PR_SET_PTRACER", "prctl", SET_PTRACER, -1, 0, 0, 0)
reach("PR_SET_TSC", "prctl", SET_TSC, 99, 0, 0, 0)
report_outcome()
