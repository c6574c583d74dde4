# id: NET1
# field: network_access
# kept-by: seccomp
# expect: pairs exist only for AF_UNIX; the filter refuses every other family

pair = (ctypes.c_int * 2)()
for family in [f for f in range(2, 46)] + [0, 255]:
    reach("family %d" % family, "socketpair", family, 1, 0, pair, answers=(errno.EPERM,))
# EAFNOSUPPORT is the filter's answer and also that of a kernel without the
# family. Only families that this kernel has can tell the two apart.
if not any("EOPNOTSUPP" in line or "ESOCKTNOSUPPORT" in line or "EPROTONOSUPPORT" in line for line in got):
    tried.extend(line for line in got if "EAFNOSUPPORT" in line)
    got[:] = [line for line in got if "EAFNOSUPPORT" not in line]
report_outcome()
