# id: NET22
# field: mounts
# kept-by: overlay seccomp
# leaves-out: overlay seccomp
# policy: {"mounts": [{"host": "@socket_dir@", "jail": "@socket_dir@", "mode": "overlay"}], "subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# witness: unix
# expect: sockets of the host below an overlay cannot be connected to, though code has unix sockets there

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
