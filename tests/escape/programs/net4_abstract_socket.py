# id: NET4
# field: network_access
# kept-by: seccomp network_namespace landlock
# landlock-abi: 6
# witness: abstract
# expect: an abstract unix socket of the host cannot be connected to

import socket


def connect():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + ARG["abstract"])


attempt("connect", connect)
report_outcome()
