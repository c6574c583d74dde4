# id: NET2
# field: network_access
# kept-by: seccomp network_namespace
# witness: tcp
# expect: sendto() that connects implicitly opens no connection; Landlock does not check it

import socket

MSG_FASTOPEN = 0x20000000


def send():
    s = socket.socket()
    # Blocking: with a timeout it connects as well, but returns EINPROGRESS.
    s.sendto(b"hello", MSG_FASTOPEN, ("127.0.0.1", ARG["tcp_port"]))
    s.getpeername()


attempt("sendto with MSG_FASTOPEN", send)
report_outcome()
