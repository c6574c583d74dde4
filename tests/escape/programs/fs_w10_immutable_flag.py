# id: FS-W10
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOTTY: the flags of a file can be neither read nor set

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
IMMUTABLE, APPEND = 0x10, 0x20

fd = os.open("file", os.O_RDWR | os.O_CREAT)
flags = ctypes.c_long(IMMUTABLE | APPEND)
answers = (errno.ENOTTY,)
reach("get flags", "ioctl", fd, FS_IOC_GETFLAGS, flags, answers=answers)
reach("set flags", "ioctl", fd, FS_IOC_SETFLAGS, ctypes.c_long(IMMUTABLE), answers=answers)
reach("file_setattr", "file_setattr", -100, BAD, BAD, 0, 0)
report_outcome()
