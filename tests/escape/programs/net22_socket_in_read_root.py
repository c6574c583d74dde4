# id: NET22
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# policy: {"filesystem_read_roots": ["@socket_dir@"], "subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# witness: unix
# expect: sockets of the host in a read root cannot be connected to: a read-only mount does not prevent it

import socket


def connect(kind, path):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.connect(path)
        s.send(b"hello")


def pair(path):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendmsg([b"hello"], [], 0, path)


attempt("stream", connect, socket.SOCK_STREAM, ARG["unix_path"])
attempt("datagram", connect, socket.SOCK_DGRAM, ARG["unix_dgram_path"])
attempt("pair", pair, ARG["unix_dgram_path"])
report_outcome()
