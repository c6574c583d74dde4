# id: FS-R4
# field: filesystem_read_roots
# kept-by: mount_namespace
# control: no no mechanism passes descriptors to the jail, so leaving one out adds none
# expect: only descriptors 0 to 3 exist, and none is a host directory or device

import stat

for fd in range(4096):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    kind = stat.S_IFMT(st.st_mode)
    if kind == stat.S_IFDIR:
        went_through("descriptor %d" % fd, "is a folder")
    elif kind == stat.S_IFBLK or fd > 3:
        went_through("descriptor %d" % fd, "mode %o" % st.st_mode)
    else:
        refused("descriptor %d" % fd, "mode %o" % st.st_mode)
    for target in ("..", ".", ARG["secret_path"][1:]):
        ret, err = syscall("openat", fd, target.encode(), os.O_RDONLY)
        if ret >= 0:
            went_through("openat(%d, %s)" % (fd, target))
    if syscall("fchdir", fd)[0] == 0:
        went_through("fchdir(%d)" % fd)
report_outcome()
