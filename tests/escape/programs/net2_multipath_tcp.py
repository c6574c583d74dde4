# id: NET2
# field: network_access
# kept-by: seccomp network_namespace
# witness: tcp
# expect: Multipath TCP does not circumvent the rules for TCP

import socket

IPPROTO_MPTCP = 262


def connect():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", ARG["tcp_port"]))


attempt("connect by MPTCP", connect)
report_outcome()
