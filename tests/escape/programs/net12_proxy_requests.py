# id: NET12
# field: network_allow
# kept-by: network_namespace proxy
# control: no the proxy that answers is part of the jail
# policy: {"network_allow": ["api.example.com:443"], "network_proxy": true, "memory_fallback": "per_process"}
# expect: a request that names two hosts to the proxy, or writes one in a second way, is refused

import socket


def send_request(text):
    with socket.create_connection(("127.0.0.1", 3128), 20) as s:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        return s.recv(200).split(b" ")[1:2]


# The built-in control: a listed host is connected.
assert send_request(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n") == [b"200"]
for text in (
    b"CONNECT api.example.com:443\0.evil.test HTTP/1.1\r\n\r\n",
    b"CONNECT evil.test\0.api.example.com:443 HTTP/1.1\r\n\r\n",
    b"CONNECT api.example.com@evil.test:443 HTTP/1.1\r\n\r\n",
    b"CONNECT api.example.com:443\r\nHost: evil.test:443 HTTP/1.1\r\n\r\n",
    b"CONNECT evil.test:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
    b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\nHost: evil.test\r\n\r\n",
    b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
    b"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n",
    b"GET http://evil.test/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET http://api.example.com:443/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"\x05\x01\x00",
):
    try:
        answer = send_request(text)
    except OSError as e:
        refused(repr(text), str(e))
    else:
        (went_through if answer == [b"200"] else refused)(repr(text), str(answer))
report_outcome()
