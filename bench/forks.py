"""Forks a process with so many bytes of its own, again and again.

    bench/forks.py BYTES

It writes "ready"; then each line it reads is answered with the milliseconds that
it took until a copy had answered.
"""

from __future__ import annotations

import os
import sys
import time


def fork(memory: bytes) -> float:
    reader, writer = os.pipe()
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"%d\n" % len(memory))
        os._exit(0)
    os.close(writer)
    os.read(reader, 100)
    took = time.perf_counter() - begun
    os.close(reader)
    os.waitpid(pid, 0)
    return took * 1000


memory = b"1" * int(sys.argv[1])
print("ready", flush=True)
for _ in sys.stdin:
    print(fork(memory), flush=True)
