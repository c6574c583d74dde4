"""A source package that attacks while it is built: it contains its build backend (PEP 517).

FOUND holds the outcome of each attempt; the built module contains it.
"""

import os
import socket
import zipfile

# The harness puts a line before this file that sets ARG: what it planted on the host.
FOUND = []


def attempt(what, act):
    try:
        act()
        FOUND.append((what, None))
    except OSError as e:
        FOUND.append((what, e.errno or 0))


def drop_file():
    with open(os.path.join(ARG["drop_dir"], "planted"), "w") as f:  # noqa: F821
        f.write("planted by a build")


def change_interpreter():
    with open(os.__file__, "a") as f:
        f.write("\n")


def connect():
    socket.create_connection(("127.0.0.1", ARG["tcp_port"]), 2).close()  # noqa: F821


def read_secret():
    with open(ARG["secret_path"]) as f:  # noqa: F821
        f.read()


def attack():
    attempt("drop a file", drop_file)
    attempt("connect", connect)
    attempt("read the secret", read_secret)
    attempt("change the interpreter", change_interpreter)
    attempt("list the host's root", lambda: os.listdir("/"))
    attempt("signal the keeper", lambda: os.kill(os.getppid() if os.getppid() > 2 else 1, 9))


def build_wheel(folder, settings=None, metadata=None):
    attack()
    name = "hostile_build-1.0-py3-none-any.whl"
    info = "hostile_build-1.0.dist-info"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("hostile_build.py", f"FOUND = {FOUND!r}\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hostile_build\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
