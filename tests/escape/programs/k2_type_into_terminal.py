# id: K2
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOTTY for TIOCSTI and similar requests, also with high bits that the kernel ignores

TIOCSTI, TIOCLINUX, TIOCSETD, TIOCSCTTY, TIOCCONS = 0x5412, 0x541C, 0x5423, 0x540E, 0x541D
letter = ctypes.c_char(b"x")
for name, request in (
    ("TIOCSTI", TIOCSTI), ("TIOCLINUX", TIOCLINUX), ("TIOCSETD", TIOCSETD),
    ("TIOCSCTTY", TIOCSCTTY), ("TIOCCONS", TIOCCONS),
):
    for fd in (-1, 0, 1, 2):
        for high in (0, 1 << 32, 0xFFFFFFFF << 32):
            ret, err = syscall("ioctl", fd, high | request, letter)
            if ret == 0 or err != errno.ENOTTY:
                went_through("%s on %d" % (name, fd), errname(err))
            else:
                refused(name, errname(err))
report_outcome()
