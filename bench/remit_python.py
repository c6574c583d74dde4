"""Runs Python through the package `remit` again and again, over one connection.

    bench/remit_python.py PRESET CODE

It writes "ready" when the pool has filled; then each line it reads is answered with the
milliseconds that one more run took, on an idle machine, until its output was there.
"""

from __future__ import annotations

import sys
import time

import remit

# As the runs of the library that it is compared with.
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
            # What the keeper builds afterwards is not the cost of the next row.
            time.sleep(GAP_SECONDS)
            print(took, flush=True)


main()
