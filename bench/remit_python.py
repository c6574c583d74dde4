"""Runs Python through the package `remit` many times, over one connection.

    bench/remit_python.py PRESET CODE

It writes "ready" when the pool is full. Then it answers each line that it reads with
the milliseconds that another run took, on an idle machine, until its output arrived.
"""

from __future__ import annotations

import sys
import time

import remit

# The same pause as in the measurement of the C library.
GAP_SECONDS = 0.02


def run(connection: remit.Connection, preset: str, code: str) -> float:
    begun = time.perf_counter()
    result = connection.run(code, preset=preset)
    output = result.stdout
    spent = time.perf_counter() - begun
    if not result.ok or not output:
        sys.exit(f"it ended as {result!r}")
    return spent * 1000


def main() -> None:
    preset, code = sys.argv[1:]
    with remit.Connection(private=True) as connection:
        for _ in range(3):
            run(connection, preset, code)
            time.sleep(0.5)
        print("ready", flush=True)
        for _ in sys.stdin:
            time.sleep(GAP_SECONDS)
            took = run(connection, preset, code)
            # Let the keeper refill its pool, so that this work does not slow the next
            # row.
            time.sleep(GAP_SECONDS)
            print(took, flush=True)


main()
