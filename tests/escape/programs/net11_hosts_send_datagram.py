# id: NET11
# field: network_allow
# kept-by: network_namespace
# leaves-out: network_namespace
# policy: {"network_allow": ["api.example.com:80", "*.example.org:443"], "memory_fallback": "per_process"}
# witness: udp
# judge: outside
# expect: with an allow-list of hosts, no datagram leaves the jail; the proxy carries only streams

import socket


def send(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"hello from the jail", (host, port))
        # Sending to an address inside the jail may succeed, but no reply comes.
        s.recv(1)


attempt("loopback", send, "127.0.0.1", ARG["udp_port"])
if not got:
    attempt("synthetic", send, "198.18.1.0", ARG["udp_port"])
    attempt("world", send, "1.1.1.1", 443)
report_outcome()
