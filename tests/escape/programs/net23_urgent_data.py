# id: NET23
# field: network_access
# kept-by: seccomp
# leaves-out: seccomp
# expect: EOPNOTSUPP: no code can send urgent data over a unix socket, which the kernel handles in code that had flaws

import socket


def urgent(how):
    a, _ = pair = socket.socketpair()
    if how == "send":
        a.send(b"x", socket.MSG_OOB)
    else:
        a.sendmsg([b"x"], [], socket.MSG_OOB)
    return pair


for how in ("send", "sendmsg"):
    attempt(how, urgent, how)
# Without the flag, and with others, sockets work.
one, other = socket.socketpair()
one.send(b"a", socket.MSG_DONTWAIT)
one.send(b"b", socket.MSG_NOSIGNAL)
if other.recv(10) != b"ab":
    raise RuntimeError("ordinary data did not arrive")
report_outcome()
