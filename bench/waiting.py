"""Forks of Python that wait for a program, without a jail, used back to back.

    bench/waiting.py CODE

It writes "ready". Then, for each line that it reads, it makes sixteen such forks and
sends the program to them one after the other, through a relay process: like a caller, a
keeper and its jails, but without the jails. The answer is the median of the
milliseconds from request to output. Each fork has run the program twice before it
waits.
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
# Modules that a zygote imports, too.
COMMON = (
    "io", "re", "json", "math", "random", "datetime", "collections", "itertools", "functools", "operator", "string", "copy", "dataclasses",
    "typing", "enum", "contextlib", "textwrap", "traceback", "types", "heapq", "bisect", "decimal", "fractions", "pathlib", "tempfile",
    "hashlib", "base64", "csv", "struct", "linecache", "warnings", "abc", "inspect", "uuid",
)  # fmt: skip


def run(code: bytes) -> None:
    exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()


def warm_up(code: bytes, times: int, out: int) -> None:
    """Run the code with its output discarded. Afterwards, output goes to `out`."""
    devnull = os.open("/dev/null", os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
    for _ in range(times):
        run(code)
    os.dup2(out, 1)


def wait(channel: socket.socket, out: int, code: bytes) -> None:
    """Runs in the fork, until it is killed."""
    warm_up(code, 2, out)
    channel.send(b"w")
    run(channel.recv(1 << 16))
    channel.send(b"e")
    signal.pause()


class Waiting:
    def __init__(self, code: bytes):
        self.channel, theirs = socket.socketpair()
        self.out, out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            wait(theirs, out, code)
        theirs.close()
        os.close(out)
        self.channel.recv(1)

    def run_once(self, code: bytes) -> bytes:
        self.channel.send(code)
        self.channel.recv(1)
        return os.read(self.out, 1 << 16)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.channel.close()
        os.close(self.out)


def relay(all_of_them: list[Waiting], client: socket.socket) -> None:
    for one in all_of_them:
        client.send(one.run_once(client.recv(1 << 16)))
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
# Import what the program imports.
warm_up(sys.argv[1].encode(), 1, os.dup(1))
gc.collect()
gc.freeze()  # otherwise collections would write to the page of every object
print("ready", flush=True)
for _ in sys.stdin:
    print(burst(sys.argv[1].encode()), flush=True)
