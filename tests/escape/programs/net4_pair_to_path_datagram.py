# id: NET4
# field: network_access
# kept-by: mount_namespace
# leaves-out: seccomp network_namespace landlock mount_namespace
# witness: unix_dgram
# expect: one end of an allowed socketpair cannot send to a socket file of the host

import socket

try:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as e:
    refused("socketpair", errname(e.errno))  # where memory is bounded strictly
else:
    path = ARG["unix_dgram_path"]
    attempt("sendmsg", lambda: a.sendmsg([b"hello"], [], 0, path))
    attempt("sendto", lambda: a.sendto(b"hello", path))
report_outcome()
