"""Cold starts side by side in one run, by median: Remit, bare Python, peers.

    bench/cold.py [--json FILE] [ROUNDS]

All run `print(1)` with the same Python. Rounds are interleaved, so that noise
of the machine falls on all alike. The jail's own cost is the difference to the
same interpreter started the same way (-I -S) without a jail.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = "/usr/bin/python3"
REMIT = str(ROOT / "build" / "remit")


def bubblewrap() -> list[str]:
    return [
        "bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
        "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-all", PYTHON, "-I", "-c", "print(1)",
    ]  # fmt: skip


def nsjail() -> list[str]:
    return ["nsjail", "-Mo", "-Q", "--chroot", "/", "--", PYTHON, "-I", "-c", "print(1)"]


PEERS = {
    "bare python3 -I": [PYTHON, "-I", "-c", "print(1)"],
    "bare python3 -I -S": [PYTHON, "-I", "-S", "-c", "print(1)"],
    "remit run (cold)": [REMIT, "run", "--python", PYTHON, "-c", "print(1)"],
    "remit --version": [REMIT, "--version"],
    "bubblewrap": bubblewrap(),
    "nsjail": nsjail(),
}


def once(argv: list[str]) -> float:
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    begun = time.perf_counter()
    pid = os.posix_spawn(shutil.which(argv[0]), argv, os.environ, file_actions=actions)
    status = os.waitpid(pid, 0)[1]
    spent = time.perf_counter() - begun
    if status:
        sys.exit(f"{argv[0]} failed with wait status {status}")
    return spent * 1000


def main() -> None:
    args = sys.argv[1:]
    output = args.pop(args.index("--json") + 1) if "--json" in args else None
    rounds = int(next((a for a in args if a.isdigit()), 60))
    peers = {name: argv for name, argv in PEERS.items() if shutil.which(argv[0])}
    times: dict[str, list[float]] = {name: [] for name in peers}
    for name, argv in peers.items():
        once(argv)  # warm the caches
    for _ in range(rounds):
        for name, argv in peers.items():
            times[name].append(once(argv))
    median = {name: statistics.median(t) for name, t in times.items()}
    bare = median["bare python3 -I"]
    print(f"{'':24} {'median ms':>10} {'p95 ms':>8} {'/ bare':>7}")
    for name, t in times.items():
        p95 = sorted(t)[int(len(t) * 0.95)]
        print(f"{name:24} {median[name]:10.2f} {p95:8.2f} {median[name] / bare:7.2f}")
    cost = (median["remit run (cold)"] - median["bare python3 -I -S"]) * 1000
    print(f"\nthe jail, the keeper and the command together: {cost:.0f} µs on top of python3 -I -S")
    for name in PEERS.keys() - peers.keys():
        print(f"{name}: not installed")
    if output:
        pathlib.Path(output).write_text(json.dumps({"rounds": rounds, "median_ms": median}, indent=1) + "\n")


main()
