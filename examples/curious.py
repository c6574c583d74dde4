"""A program that tries to exceed its remit: the network, a file of the host, a process."""

import os
import socket
import subprocess


def attempt(what, action):
    try:
        print(f"  {what}: it worked: {action()!r}")
    except OSError as e:
        print(f"  {what}: refused: {e.strerror}")


attempt("network", lambda: socket.create_connection(("203.0.113.7", 443), timeout=5))
attempt("host file", lambda: open("/etc/shadow").read())
attempt("subprocess", lambda: subprocess.run(["/usr/bin/id"], check=True))
attempt("its own files", lambda: open("notes.txt", "w").write("mine"))
print(f"  it is user {os.getuid()} and process {os.getpid()} of {os.uname().nodename}")
