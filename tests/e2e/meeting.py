"""Two runs that are alive at the same time and try to meet."""

from __future__ import annotations

import subprocess

from waiting import PATIENCE

TRY = """
import errno, os, socket
def attempt(f, *a):
    try:
        f(*a)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
"""


def printed(result: dict) -> str:
    assert result["status"] == "ok", result
    return result["stdout"]


MEET = (
    TRY
    + """
import sys, threading
own, other, *families = sys.argv[1:]
places = []
if "unix" in families:
    places += [(socket.AF_UNIX, place) for place in ("\\0remit-meet", "/tmp/meet", "/workspace/meet", "/dev/shm/meet")]
if "inet" in families:
    places += [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")]
targets = [(family, kind, place) for family, place in places for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
ports = {"a": 7001, "b": 7002, "both": 7003}
def address(family, kind, place, name):
    return f"{place}-{name}-{int(kind)}" if family == socket.AF_UNIX else (place, ports[name])
received = []
def listen(s):
    while True:
        received.append((s.accept()[0] if s.type == socket.SOCK_STREAM else s).recv(100))
# The name "both" is taken in both runs at once: neither may notice the other.
for target in targets:
    for name in (own, "both"):
        s = socket.socket(*target[:2])
        s.bind(address(*target, name))
        if s.type == socket.SOCK_STREAM:
            s.listen()
        threading.Thread(target=listen, args=(s,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
def dial(family, kind, place):
    with socket.socket(family, kind) as s:
        s.settimeout(5)
        s.connect(address(family, kind, place, other))
        s.send(b"from " + own.encode())
        if kind == socket.SOCK_DGRAM and family != socket.AF_UNIX:
            s.recv(1)  # a port without a socket is reported here
print(*(attempt(dial, *target) for target in targets), flush=True)
sys.stdin.readline()
print("received", received, flush=True)
"""
)


def meet(remit, *flags, env=None, families=("unix",)) -> list[list[str]]:
    """Start two runs at the same time. Return the lines of each: its attempts to reach the other, and what it received."""
    path = remit.file("meet.py", MEET)
    names = (("a", "b"), ("b", "a"))
    runs = [
        remit.popen("run", *flags, path, *pair, *families, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for pair in names
    ]
    lines: list[list[str]] = [[], []]
    try:
        for _ in range(3):
            for run, mine in zip(runs, lines):
                mine.append(run.stdout.readline().strip())
            for run in runs:
                run.stdin.write("go\n")
                run.stdin.flush()
    except BrokenPipeError:
        pass
    for run, mine in zip(runs, lines):
        out, err = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, (mine, out, err)
    return lines


def assert_strangers(lines: list[list[str]]) -> None:
    for mine in lines:
        assert mine[0] == "ready", lines
        assert set(mine[1].split()) <= {"ECONNREFUSED", "ENOENT"}, lines
        assert mine[2] == "received []", lines
