# id: NET20
# field: network_access
# kept-by: network_namespace
# leaves-out: network_namespace
# policy: {"network_access": "loopback", "memory_fallback": "per_process"}
# witness: tcp
# expect: with loopback, 127.0.0.1 is the jail and not the host, however its address is written

import socket


def connect(host):
    with socket.create_connection((host, ARG["tcp_port"]), 2):
        pass


for host in ("127.0.0.1", "127.1", "2130706433", "0", "::ffff:127.0.0.1", "localhost"):
    attempt(host, connect, host)
    if got:
        break
report_outcome()
