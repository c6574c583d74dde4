# id: NET11
# field: network_allow
# kept-by: network_namespace
# leaves-out: network_namespace
# policy: {"network_allow": ["api.example.com:80", "*.example.org:443"], "memory_fallback": "per_process"}
# witness: tcp
# expect: with an allow-list of hosts, the host's loopback stays unreachable, however its address is written

import socket


def connect(host):
    with socket.create_connection((host, ARG["tcp_port"]), 2):
        pass


for host in ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "::ffff:127.0.0.1", "::1", "localhost"):
    attempt(host, connect, host)
    if got:
        break
report_outcome()
