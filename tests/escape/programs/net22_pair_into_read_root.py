# id: NET22
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# policy: {"filesystem_read_roots": ["@socket_dir@"]}
# witness: unix_dgram
# expect: one end of a socketpair, which all code has, cannot send to a socket of the host in a read root

import socket


def pair(how):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    if how == "sendmsg":
        a.sendmsg([b"hello"], [], 0, ARG["unix_dgram_path"])
    elif how == "sendto":
        a.sendto(b"hello", ARG["unix_dgram_path"])
    else:
        a.connect(ARG["unix_dgram_path"])
        a.send(b"hello")


for how in ("sendmsg", "sendto", "connect"):
    attempt(how, pair, how)
report_outcome()
