"""Runs Python again and again in one process that nothing guards.

    bench/cells.py CODE

It writes "ready" after the first run; then each line it reads is answered with
the milliseconds that one more run took.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time

variables: dict = {"__name__": "__main__"}


def run(code: str) -> float:
    begun = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "<cell>", "exec"), variables)
    return (time.perf_counter() - begun) * 1000


run(sys.argv[1])
print("ready", flush=True)
for _ in sys.stdin:
    print(run(sys.argv[1]), flush=True)
