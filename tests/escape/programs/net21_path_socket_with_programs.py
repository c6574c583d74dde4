# id: NET21
# field: network_access
# kept-by: mount_namespace
# leaves-out: mount_namespace landlock
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# witness: unix
# expect: code that has unix sockets cannot connect to sockets that are files of the host

import socket


def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)


attempt("harness", connect, ARG["unix_path"])
if not got:
    for path in ("/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/user/0/bus"):
        attempt(path, connect, path)
report_outcome()
