# id: NET2
# field: network_access
# kept-by: seccomp network_namespace landlock
# landlock-abi: 4
# witness: tcp
# expect: neither ::1 nor a mapped IPv4 address leads to the host

import socket


def connect(host):
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(2)
        s.connect((host, ARG["tcp_port"]))


for host in ("::ffff:127.0.0.1", "::1", "::", "fe80::1"):
    attempt(host, connect, host)
    if got:
        break
report_outcome()
