# id: NET2
# field: network_access
# kept-by: seccomp network_namespace
# witness: udp
# expect: a UDP socket of the host receives nothing; Landlock does not control UDP

import socket


def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"hello from the jail", ("127.0.0.1", ARG["udp_port"]))


attempt("sendto", send)
report_outcome()
