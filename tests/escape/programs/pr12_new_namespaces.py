# id: PR12
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for unshare of anything and for setns

FLAGS = {
    "mount": 0x20000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000,
    "pid": 0x20000000, "net": 0x40000000, "time": 0x80,
}
for name, flag in FLAGS.items():
    ret, err = syscall("unshare", flag)
    if ret == 0:
        went_through("unshare " + name)
    else:
        refused("unshare " + name, errname(err))
# unshare(0) would succeed and an unknown flag would give EINVAL: only a filter
# refuses both.
reach("unshare(0)", "unshare", 0)
reach("unshare(unknown)", "unshare", 0x1)
reach("setns", "setns", -1, 0)
reach("unshare user", "unshare", 0x10000000)
report_outcome()
