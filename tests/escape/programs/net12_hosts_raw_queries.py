# id: NET12
# field: network_allow
# kept-by: network_namespace proxy
# control: no the resolver that answers is part of the jail
# policy: {"network_allow": ["api.example.com:80", "*.example.org:443"], "memory_fallback": "per_process"}
# expect: a query with NUL, dots, CR or pointers in a label is not taken for a listed name

import socket
import struct


def query(*labels, tail=b"\0"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(20)
        body = b"".join(bytes([len(label)]) + label for label in labels) + tail
        s.sendto(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + body + struct.pack(">2H", 1, 1), ("127.0.0.1", 53))
        answer = s.recv(512)
    return answer[3] & 15, struct.unpack(">H", answer[6:8])[0]


# The built-in control: a listed name is answered.
assert query(b"API", b"example", b"com") == (0, 1)
for labels in (
    (b"api.example", b"com"),
    (b"api", b"example", b"com\0"),
    (b"api\0", b"example", b"com"),
    (b"api", b"example", b"com\r\n"),
    (b"api.example.com\0", b"evil", b"test"),
    (b"\xd0\xb0pi", b"example", b"com"),
    (b"a" * 63, b"a" * 63, b"a" * 63, b"a" * 63),
    (b"x", b"example", b"org", b"evil"),
):
    code, count = query(*labels)
    (went_through if code == 0 or count else refused)(repr(labels), str(code))
for tail in (b"\xc0\x0c", b"\x40a\0", b"\xff"):
    code, count = query(b"api", b"example", tail=tail)
    (went_through if code == 0 or count else refused)(repr(tail), str(code))
report_outcome()
