# id: NET4
# field: network_access
# kept-by: seccomp mount_namespace
# leaves-out: seccomp network_namespace landlock mount_namespace
# witness: unix
# expect: sockets that are files of the host (docker, dbus) cannot be connected to

import socket


def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)


attempt("harness", connect, ARG["unix_path"])
if not got:
    for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket",
                 "/run/systemd/private", "/run/user/0/bus"):
        attempt(path, connect, path)
report_outcome()
