# id: NET2
# field: network_access
# kept-by: seccomp landlock
# landlock-abi: 4
# expect: no port can be opened that other processes could connect to

import socket


def listen():
    s = socket.socket()
    s.bind(("0.0.0.0", 0))
    s.listen(1)


attempt("bind and listen", listen)
report_outcome()
