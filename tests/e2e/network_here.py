"""The command, run on the machine of network_world.py."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from conftest import PYTHON, ROOT, TEST_USER, Remit, skip_or_fail
from shared_keeper import SharedKeeper

WORLD = ROOT / "tests" / "e2e" / "network_world.py"
# Without a memory cgroup an ordinary user must accept the fallback explicitly.
FALLBACK = ("--memory-fallback", "per_process")
# For code that contacts several hosts while the machine is busy
PATIENT = ("--timeout", "100")


# Functions with which programs report what happened to them
TRY = """
import json, socket, ssl, urllib.request
def attempt(f, *a, **k):
    try:
        return f(*a, **k)
    except Exception as e:
        return type(e).__name__
def fetch(url, **k):
    return urllib.request.urlopen(url, timeout=60, **k).read().decode()
def dial(host, port, data=b"", n=100):
    with socket.create_connection((host, port), 60) as s:
        if data: s.sendall(data)
        got = s.recv(n)
        if not got: raise EOFError
        return got.decode("latin-1")
def report(**what): print(json.dumps(what))
"""


def reported(result):
    assert result["status"] == "ok", result
    return json.loads(result["stdout"])


def requests(seen):
    return [line for line in seen if line.startswith("request")]


def connections(seen):
    return [line for line in seen if line.startswith("connection")]


def questions(seen):
    return [line for line in seen if line.startswith("question")]


class World:
    def __init__(self, folder: pathlib.Path, process: subprocess.Popen):
        self.folder, self.process = folder, process
        self.ca = (folder / "ca.pem").read_text()

    def inside(self, remit: Remit, *flags: str) -> "Here":
        return Here(remit, self.process.pid, flags)

    def warm(self, remit: Remit) -> "Warm":
        return Warm(remit, self.process.pid)

    def mark(self) -> int:
        return (self.folder / "log").stat().st_size

    def seen(self, mark: int) -> list[str]:
        """What reached a server or the resolver since `mark`."""
        with open(self.folder / "log") as f:
            f.seek(mark)
            return f.read().splitlines()


class Here(Remit):
    """Enters the network and mount namespaces as root, then becomes the user."""

    start = "cold"

    def __init__(self, remit: Remit, pid: int, flags: tuple[str, ...]):
        super().__init__(remit.label, remit.folder)
        self.command, self.pid, self.flags = remit.command, pid, flags

    def argv(self, *args: str) -> list[str]:
        user = [] if self.by_root else ["setpriv", "--reuid", TEST_USER, "--regid", TEST_USER, "--clear-groups"]
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "--wd=" + str(self.folder), *user, self.command, *args]

    def identity(self) -> dict:
        return {}

    def allow(self, code: str, *hosts: str, flags: tuple[str, ...] = (), **more) -> dict:
        named = [word for host in hosts for word in ("--allow-host", host)]
        fallback = () if self.by_root else FALLBACK
        return self.json(code, "--python", PYTHON, *PATIENT, *named, *fallback, *self.flags, *flags, **more)


class Warm(Here):
    """Runs programs through a shared keeper on that machine, in warm children."""

    start = "warm"

    def __init__(self, remit: Remit, pid: int):
        super().__init__(remit, pid, ())
        self.keeper = SharedKeeper(Here(remit, pid, ()))

    def json(self, code: str, *flags: str, **more) -> dict:
        return self.keeper.warm(code, *flags, **more)


@contextlib.contextmanager
def start(folder: pathlib.Path):
    if os.geteuid() != 0:
        skip_or_fail("only root can lay out a network")
    for program in ("unshare", "nsenter", "setpriv", "ip", "openssl"):
        if not shutil.which(program):
            skip_or_fail(f"no {program}")
    folder.mkdir()
    with subprocess.Popen(
        ["unshare", "--net", "--mount", sys.executable, str(WORLD), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield World(folder, process)
        process.stdin.close()
