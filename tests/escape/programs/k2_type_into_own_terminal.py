# id: K2
# field: subprocess_execution
# kept-by: seccomp
# leaves-out: seccomp
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# expect: ENOTTY for TIOCSTI and similar requests, also where programs have terminals of the jail's own

import fcntl
import struct

import fcntl
import struct

master, slave = os.openpty()
requests = {
    "TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCCONS": 0x541D, "TIOCSETD": 0x5423, "TIOCVHANGUP": 0x5437,
    "TIOCSSERIAL": 0x541F, "TIOCSRS485": 0x542F, "TIOCPKT": 0x5420,
}
letter = ctypes.create_string_buffer(struct.pack("i", 21))
for name, request in requests.items():
    for fd in (master, slave, 0, 1, 2):
        for high in (0, 1 << 32, 0xFFFFFFFF << 32):
            ret, err = syscall("ioctl", fd, high | request, letter)
            if ret == 0 or err != errno.ENOTTY:
                went_through("%s on %d" % (name, fd), errname(err))
            else:
                refused(name, errname(err))
# What a program needs of a terminal works.
size = fcntl.ioctl(slave, 0x5413, bytes(8))
assert len(size) == 8 and os.isatty(slave) and os.ttyname(slave).startswith("/dev/pts/")
assert sorted(os.listdir("/dev/pts"))[-1] == "ptmx" and len(os.listdir("/dev/pts")) == 2
report_outcome()
