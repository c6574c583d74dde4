# id: NET4
# field: network_access
# kept-by: seccomp network_namespace landlock
# landlock-abi: 6
# witness: abstract_dgram
# expect: no datagram reaches an abstract unix socket of the host

import socket


def send():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"hello", "\0" + ARG["abstract_dgram"])


attempt("sendto", send)
report_outcome()
