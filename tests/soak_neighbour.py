"""Measures how one key of `remit serve` slows down another, as root and as an ordinary user, with the server's default limits.

Alice keeps the machine busy with as many programs as she may run, in each of several ways, while Bob runs a program that needs
50 ms of processor time. Its median time may grow by a factor of 2.5, and the start of a program by 20 ms. For an ordinary user
without a cgroup with the controller `cpu` nothing is promised, and the figures are only printed.

    tests/soak_neighbour.py [RUNS]
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from conftest import Remit  # noqa: E402
from served import Served  # noqa: E402
from soak import staged  # noqa: E402
from test_tenants import two_keys  # noqa: E402
from waiting import until  # noqa: E402

SHORT = "1"
WORK = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass"
# Without cgroups, as for an ordinary user, a policy with subprocesses is refused unless it accepts these fallbacks.
FALLBACKS = {"memory_fallback": "per_process", "cpu_fallback": "per_process"}
# What Alice's programs do: they load the processors, the kernel's tables, memory and the keeper's log.
LOADS = {
    "spin": ("while True: pass", {}),
    "fork": ("import os\nwhile True:\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)", {"subprocess_execution": True, **FALLBACKS}),
    "write": ("while True:\n    with open('f', 'wb') as f: f.write(bytes(8 << 20))", {}),
    "refused calls": ("import socket\nwhile True:\n    try: socket.socket()\n    except OSError: pass", {}),
}
PROGRAMS = 64  # Alice's programs, half of which run at once
SLOWER_MAX = 2.5
LATER_MAX_MS = 20
TRIES = 3  # the machine may have other work


def median_ms(s: Served, code: str, runs: int) -> float:
    durations = []
    for _ in range(runs):
        begun = time.monotonic()
        assert s.run(code)["status"] == "ok"
        durations.append(time.monotonic() - begun)
        time.sleep(0.02)  # a client with a pause between requests
    return statistics.median(durations) * 1000


@contextlib.contextmanager
def busy(s: Served, key: str, load: str):
    code, fields = LOADS[load]
    policy = {"timeout": "1h", "cpu_seconds": "1h", **fields}

    def spin() -> None:
        with contextlib.suppress(OSError):
            s.request("POST", "/v1/runs", {"code": code, "policy": policy}, token=key, timeout=3600)

    threads = [threading.Thread(target=spin) for _ in range(PROGRAMS)]
    for t in threads:
        t.start()
    until(lambda: s.metric("remit_rooms") == PROGRAMS, "Alice's programs do not run")
    time.sleep(1)  # until the last programs have been scheduled
    yield
    s.stop_listening()
    s.process.terminate()
    for t in threads:
        t.join()


def measure(remit: Remit, load: str, runs: int) -> tuple[float, float]:
    """Returns how many times slower Bob's program is, and how many milliseconds later it starts."""
    with two_keys(remit) as (s, alice, _):
        s.run(WORK)
        alone = median_ms(s, WORK, runs), median_ms(s, SHORT, runs)
        with busy(s, alice, load):
            loaded = median_ms(s, WORK, runs), median_ms(s, SHORT, runs)
    print(
        f"{remit.label}, {load}: a program of 50 ms takes {alone[0]:.0f} ms alone and {loaded[0]:.0f} ms next to {PROGRAMS} of another key "
        f"({loaded[0] / alone[0]:.1f} times), print(1) {alone[1]:.1f} and {loaded[1]:.1f} ms",
        flush=True,
    )
    return loaded[0] / alone[0], loaded[1] - alone[1]


def soak(remit: Remit, load: str, runs: int) -> list[str]:
    capabilities = json.loads(remit("doctor", "--json").stdout)["capabilities"]
    divides = next(c["yes"] for c in capabilities if c["name"] == "cgroup_share")
    for _ in range(TRIES):
        slower, later_ms = measure(remit, load, runs)
        if not divides or (slower <= SLOWER_MAX and later_ms <= LATER_MAX_MS):
            return []
    return [f"{remit.label}, {load}: {slower:.1f} times slower, {later_ms:.0f} ms later"]


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    with staged() as remits:
        problems = [p for remit in remits for load in LOADS for p in soak(remit, load, runs)]
    print("\n".join(problems) or "all right")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
