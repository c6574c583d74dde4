# id: FS-R11
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# control: no reopening the program's own pipe gives no access that it did not have
# expect: the names of descriptors are absent, or lead only to the program's pipes

import stat

for path in (
    "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/3",
    "/proc/self/fd/0", "/dev/tty", "/dev/console", "/dev/pts/0", "/dev/ptmx",
):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as e:
        refused(path, errname(e.errno))
        continue
    st = os.fstat(fd)
    mine = any(os.path.sameopenfile(fd, own) for own in (0, 1, 2))
    if stat.S_ISFIFO(st.st_mode) and mine:
        refused(path, "own pipe")
    else:
        went_through(path, "mode %o" % st.st_mode)
try:
    leak("through /dev/fd", read_file("/dev/fd/../../.." + ARG["secret_path"]))
except OSError as e:
    refused("/dev/fd/../..", errname(e.errno))
report_outcome()
