# id: FS-R7
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: no file of /sys opens, and no cgroup can be seen

for name in (
    "kernel/notes", "kernel/uevent_seqnum", "power/state", "fs/cgroup",
    "devices/system/cpu/online", "class/net/lo/address", "kernel/debug",
    "kernel/security/lsm", "firmware",
):
    path = "/sys/" + name
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            read_file(path, 64)
    except OSError as e:
        refused(path, errname(e.errno))
    else:
        went_through(path)
report_outcome()
