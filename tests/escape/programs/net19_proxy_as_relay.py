# id: NET19
# field: network_allow
# kept-by: network_namespace proxy
# control: no the proxy that answers is part of the jail
# policy: {"network_allow": ["api.example.com:443"], "network_proxy": true, "memory_fallback": "per_process"}
# expect: the proxy leads to no other port, not to this machine, not to a private address and not to itself

import socket

for where in (
    "api.example.com:25",
    "api.example.com:22",
    "127.0.0.1:3128",
    "localhost:3128",
    "127.0.0.1:22",
    "[::1]:22",
    "0.0.0.0:22",
    "10.0.0.1:443",
    "169.254.169.254:80",
    "198.18.1.0:443",
    "smtp.example.net:25",
):
    try:
        with socket.create_connection(("127.0.0.1", 3128), 20) as s:
            s.sendall(f"CONNECT {where} HTTP/1.1\r\n\r\n".encode())
            answer = s.recv(200)
    except OSError as e:
        refused(where, str(e))
    else:
        (went_through if b" 200 " in answer else refused)(where, repr(answer[:20]))
report_outcome()
