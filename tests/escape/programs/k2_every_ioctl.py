# id: K2
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOTTY for every request except six

ALLOWED = {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451}
requests = [kind << 8 | n for kind in range(256) for n in range(0, 256, 5)]
requests += [0x80000000 | r for r in requests[::7]] + [0x40000000 | r for r in requests[::7]]
tested = 0
for request in requests:
    if request in ALLOWED:
        continue
    tested += 1
    # An invalid descriptor gives EBADF, unless the filter answers first.
    ret, err = syscall("ioctl", -1, request, BAD)
    if err != errno.ENOTTY:
        went_through("ioctl %#x" % request, errname(err))
        break
refused("ioctl", "%d requests" % tested)
report_outcome()
