"""Forks of Python that wait for a program, without any jail, asked back to back.

    bench/waiting.py CODE

It writes "ready"; then for each line that it reads it makes sixteen such forks and asks them one behind the other, by a
process between: as a keeper's caller, a keeper and its jails, but for the jails. The answer is the median of the milliseconds
from the question to the output. What a waiting fork is asked first it has done twice before.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import statistics
import sys
import time

COUNT = 16
# What a zygote has imported as well.
COMMON = (
    "io", "re", "json", "math", "random", "datetime", "collections", "itertools", "functools", "operator", "string", "copy", "dataclasses",
    "typing", "enum", "contextlib", "textwrap", "traceback", "types", "heapq", "bisect", "decimal", "fractions", "pathlib", "tempfile",
    "hashlib", "base64", "csv", "struct", "linecache", "warnings", "abc", "inspect", "uuid",
)  # fmt: skip


def run(code: bytes) -> None:
    exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()


def warm_up(code: bytes, times: int, out: int) -> None:
    """Unheard; from then on it is heard there."""
    nobody = os.open("/dev/null", os.O_WRONLY)
    os.dup2(nobody, 1)
    os.close(nobody)
    for _ in range(times):
        run(code)
    os.dup2(out, 1)


def wait(asked: socket.socket, out: int, code: bytes) -> None:
    """In the fork. Its end is to be killed."""
    warm_up(code, 2, out)
    asked.send(b"w")
    run(asked.recv(1 << 16))
    asked.send(b"e")
    signal.pause()


class Waiting:
    def __init__(self, code: bytes):
        self.ours, theirs = socket.socketpair()
        self.out, out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            wait(theirs, out, code)
        theirs.close()
        os.close(out)
        self.ours.recv(1)

    def ask(self, code: bytes) -> bytes:
        self.ours.send(code)
        self.ours.recv(1)
        return os.read(self.out, 1 << 16)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.ours.close()
        os.close(self.out)


def relay(all_of_them: list[Waiting], client: socket.socket) -> None:
    for one in all_of_them:
        client.send(one.ask(client.recv(1 << 16)))
    os._exit(0)


def burst(code: bytes) -> float:
    all_of_them = [Waiting(code) for _ in range(COUNT)]
    client, theirs = socket.socketpair()
    between = os.fork()
    if between == 0:
        relay(all_of_them, theirs)
    theirs.close()
    time.sleep(0.02)
    took = []
    for _ in all_of_them:
        begun = time.perf_counter()
        client.send(code)
        if not client.recv(1 << 16):
            sys.exit("it did not answer")
        took.append((time.perf_counter() - begun) * 1000)
    os.waitpid(between, 0)
    for one in all_of_them:
        one.end()
    client.close()
    return statistics.median(took)


for name in COMMON:
    __import__(name)
# With what it imports.
warm_up(sys.argv[1].encode(), 1, os.dup(1))
gc.collect()
gc.freeze()  # else it would write to every object's page
print("ready", flush=True)
for _ in sys.stdin:
    print(burst(sys.argv[1].encode()), flush=True)
