# id: NET16
# field: network_allow
# kept-by: network_namespace
# leaves-out: network_namespace
# policy: {"network_allow": ["10.255.255.1:9"], "memory_fallback": "per_process", "timeout": 180, "cpu_seconds": 60}
# witness: tcp
# expect: of all loopback ports, only the listed ones answer

import socket

wanted = {9}
for port in [ARG["tcp_port"], *range(1, 65536)]:
    with socket.socket() as s:
        if s.connect_ex(("127.0.0.1", port)) != 0 or port in wanted:
            continue
        # Equal addresses are a socket that connected to itself: the kernel chose
        # the wanted port as its source port.
        if s.getsockname() != s.getpeername():
            went_through(str(port))
            break
else:
    refused("all ports", "")
report_outcome()
