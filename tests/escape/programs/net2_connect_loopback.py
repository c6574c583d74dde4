# id: NET2
# field: network_access
# kept-by: seccomp network_namespace landlock
# landlock-abi: 4
# witness: tcp
# expect: a listener on the host's 127.0.0.1 receives no connection

import socket


def connect():
    with socket.socket() as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", ARG["tcp_port"]))
        s.sendall(b"hello from the jail")


attempt("connect", connect)
report_outcome()
