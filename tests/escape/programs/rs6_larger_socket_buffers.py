# id: RS6
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM for setsockopt: a socket pair keeps its default buffer sizes

import socket

a, b = socket.socketpair()
SOL_SOCKET = 1
value = ctypes.c_int(1 << 30)
for name, option in (("SO_SNDBUF", 7), ("SO_RCVBUF", 8), ("SO_SNDBUFFORCE", 32), ("SO_RCVBUFFORCE", 33)):
    ret, err = syscall("setsockopt", a.fileno(), SOL_SOCKET, option, value, 4)
    if ret == 0:
        went_through(name)
    else:
        refused(name, errname(err))
report_outcome()
