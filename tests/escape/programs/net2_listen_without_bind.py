# id: NET2
# field: network_access
# kept-by: seccomp
# expect: listen() alone would open a port without bind(), where Landlock looks

import socket


def listen():
    s = socket.socket()
    s.listen(1)
    return s.getsockname()


attempt("listen", listen)
report_outcome()
