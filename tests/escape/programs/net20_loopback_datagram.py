# id: NET20
# field: network_access
# kept-by: network_namespace
# leaves-out: network_namespace
# policy: {"network_access": "loopback", "memory_fallback": "per_process"}
# witness: udp
# expect: with loopback, no datagram to 127.0.0.1 leaves the jail

import socket


def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", ARG["udp_port"]))
        s.send(b"hello from the jail")
        try:
            s.recv(1)  # an error here says that nothing listens
        except TimeoutError:
            pass


attempt("send", send)
report_outcome()
