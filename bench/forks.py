"""Forks a process that has BYTES bytes of private memory, many times.

    bench/forks.py BYTES [CODE]

It writes "ready". Then it answers each line that it reads with the milliseconds until a
copy has answered, or the output of CODE has arrived.
"""

from __future__ import annotations

import gc
import os
import sys
import time


def answer(memory: bytes, writer: int) -> None:
    os.write(writer, b"%d\n" % len(memory))


def run(code: str, writer: int) -> None:
    os.dup2(writer, 1)
    exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()


def fork(memory: bytes, code: str | None) -> float:
    reader, writer = os.pipe()
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        answer(memory, writer) if code is None else run(code, writer)
        os._exit(0)
    os.close(writer)
    os.read(reader, 100)
    took = time.perf_counter() - begun
    os.close(reader)
    os.waitpid(pid, 0)
    return took * 1000


memory = b"1" * int(sys.argv[1])
code = sys.argv[2] if len(sys.argv) > 2 else None
if code is not None:
    gc.freeze()  # otherwise collections would write to the page of every object
print("ready", flush=True)
for _ in sys.stdin:
    print(fork(memory, code), flush=True)
