# id: K3
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for every option except five

GET_DUMPABLE, SET_NAME, GET_NAME, GET_TIMERSLACK, SET_VMA = 3, 15, 16, 30, 0x53564D41
ALLOWED = {GET_DUMPABLE, SET_NAME, GET_NAME, GET_TIMERSLACK, SET_VMA}
tested = 0
for option in list(range(1, 128)) + [0x59616D61, 0x41555856, 0x6D4D444C, 1 << 32 | 1, -1]:
    if option in ALLOWED:
        continue
    tested += 1
    # No option accepts these values, so nothing changes in the control.
    ret, err = syscall("prctl", option, -1, -1, -1, -1)
    if ret == -1 and err in REFUSED:
        continue
    went_through("prctl %d" % option, errname(err) if ret == -1 else str(ret))
refused("prctl", "%d options" % tested)
report_outcome()
