# id: FS-R20
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM for mknod of any kind

import stat

for label, mode, device in (
    ("disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)),
    ("mem", stat.S_IFCHR | 0o600, os.makedev(1, 1)),
    ("fifo", stat.S_IFIFO | 0o600, 0),
    ("socket", stat.S_IFSOCK | 0o600, 0),
):
    ret, err = syscall("mknodat", -100, label.encode(), mode, device)
    if ret == 0:
        went_through("mknod of " + label)
    else:
        refused("mknod of " + label, errname(err))
reach("mknodat, bad address", "mknodat", -100, BAD, stat.S_IFCHR, 0)
if "mknod" in NR:
    reach("mknod, bad address", "mknod", BAD, stat.S_IFCHR, 0)
report_outcome()
