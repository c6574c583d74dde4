"""Runs Python many times in one unprotected process.

    bench/cells.py CODE

It writes "ready" after the first run. Then it answers each line that it reads with the
milliseconds that another run took.
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
