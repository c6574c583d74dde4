# id: RS19
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: no call that flushes the host's disk, or evicts its cached pages, passes the filter, although all of them succeed

# A descriptor that is not open: 0 comes from the filter, EBADF from the kernel.
NOT_OPEN = 999


def flush(name, *args):
    ret, err = syscall(name, NOT_OPEN, *args)
    if ret == 0:
        refused(name, "answered 0, not done")
    else:
        went_through(name, errname(err))


SYNC_ALL, DONTNEED = 7, 4
flush("fsync")
flush("fdatasync")
if "sync_file_range" in NR:
    flush("sync_file_range", 0, 0, SYNC_ALL)
flush("fadvise64", 0, 0, DONTNEED)
reach("syncfs", "syncfs", NOT_OPEN)
reach("readahead", "readahead", NOT_OPEN, 0, 4096)

# Direct reads come from the disk each time and not from the page cache.
def read_directly(name, call):
    try:
        call()
        went_through(name, "the file is open for direct reads")
    except OSError as e:
        refused(name, errname(e.errno))


import fcntl

read_directly("openat", lambda: os.open(os.__file__, os.O_RDONLY | os.O_DIRECT))
read_directly("fcntl", lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETFL, os.O_DIRECT))
# RWF_DONTCACHE of Linux 6.14, for which os has no name; older kernels refuse it as well.
read_directly("preadv2", lambda: os.preadv(os.open(os.__file__, os.O_RDONLY), [bytearray(4096)], 0, 0x80))

# Programs must not notice the filter, neither with files that they only read nor with their own.
host = os.open(os.__file__, os.O_RDONLY)
with open("own", "w") as f:
    f.write("x")
    f.flush()
    for fd in (host, f.fileno()):
        os.fsync(fd)
        os.fdatasync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
report_outcome()
