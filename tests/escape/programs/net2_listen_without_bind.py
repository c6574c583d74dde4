# id: NET2
# field: network_access
# kept-by: seccomp
# expect: listen() without bind(), where Landlock has no check, opens no port

import socket


def listen():
    s = socket.socket()
    s.listen(1)
    return s.getsockname()


attempt("listen", listen)
report_outcome()
