# id: FS-W6
# field: mounts
# kept-by: mount_namespace landlock
# witness: victim
# expect: EBADF, EROFS, EINVAL or ENOENT for each way to change bytes without write()

FICLONE = 0x40049409
PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16
mine = os.open("mine", os.O_RDWR | os.O_CREAT)
os.write(mine, b"changed" * 1000)


def ways(fd):
    yield "ftruncate", ("ftruncate", fd, 1)
    yield "fallocate", ("fallocate", fd, 0, 0, 8192)
    yield "punch hole", ("fallocate", fd, PUNCH_HOLE | KEEP_SIZE, 0, 1)
    yield "zero range", ("fallocate", fd, ZERO_RANGE, 0, 1)
    yield "copy_file_range", ("copy_file_range", mine, ctypes.c_int64(0), fd, ctypes.c_int64(0), 7, 0)
    yield "sendfile", ("sendfile", fd, mine, ctypes.c_int64(0), 7)
    yield "clone", ("ioctl", fd, FICLONE, mine)
    yield "pwrite", ("pwrite64", fd, b"changed", 7, 0)
    yield "shared map", ("mmap", 0, 4096, 3, 1, fd, 0)


for path in (ARG["victim_file"], os.__file__):
    fd = -1
    for mode in (os.O_RDWR, os.O_RDONLY):
        if fd < 0:
            try:
                fd = os.open(path, mode)
            except OSError as e:
                refused(path, errname(e.errno))
    if fd < 0:
        continue
    for label, call in ways(fd):
        ret, err = syscall(*call)
        if ret == -1:
            refused(label, errname(err))
        else:
            went_through("%s of %s" % (label, path))
report_outcome()
