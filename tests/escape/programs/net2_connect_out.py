# id: NET2
# field: network_access
# kept-by: seccomp network_namespace landlock
# landlock-abi: 4
# witness: tcp
# expect: no address of the host, its network, the metadata service or the world answers

import socket


def connect(host, port):
    with socket.socket() as s:
        s.settimeout(1)
        s.connect((host, port))


# The first address is the harness's listener. If it answers, as in the control,
# the program stops and sends nothing to other machines.
for host, port in (
    ("127.0.0.1", ARG["tcp_port"]),
    ("0.0.0.0", ARG["tcp_port"]),
    ("169.254.169.254", 80),
    ("10.0.0.1", 22),
    ("192.168.0.1", 80),
    ("1.1.1.1", 443),
):
    attempt("%s:%d" % (host, port), connect, host, port)
    if got:
        break
report_outcome()
