"""Runs a hundred thousand programs through one keeper, ten thousand of them a
mixture of all kinds, and checks that nothing is left.

    tests/soak.py [COUNT]

Each mixed run is a separate command; the others are one batch. Checks the
keeper's memory and descriptors, and the host's processes, cgroups and mounts, as
root and as an ordinary user.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from conftest import Remit, make_test_user, users  # noqa: E402
from leftovers import groups, mounts, processes, remaining  # noqa: E402
from mixture import run_one  # noqa: E402

JOBS = 4


def keeper_facts(pid: int) -> tuple[int, int]:
    """Returns the keeper's resident KiB and number of open descriptors."""
    with open(f"/proc/{pid}/status") as f:
        rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    return rss, len(os.listdir(f"/proc/{pid}/fd"))


def settle(remit: Remit, path: pathlib.Path) -> None:
    """Waits until no run is left and the pools have shrunk, so that two
    measurements of the keeper can be compared."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        now = json.loads(remit("status", "--json", env={"REMIT_KEEPER": str(path)}).stdout)
        if not now["running"] and all(p["waiting"] <= 2 and not p["building"] for p in now["pools"]):
            return
        time.sleep(1)  # polls
    raise SystemExit(f"the keeper does not settle: {now}")


def batch(remit: Remit, path: pathlib.Path, count: int) -> list[str]:
    """Runs many small programs with warm starts."""
    jobs = remit.folder / "jobs.jsonl"
    jobs.write_text("".join(json.dumps({"id": i, "code": f"print({i})"}) + "\n" for i in range(count)))
    begun = time.monotonic()
    answer = remit("batch", "-j", JOBS, jobs, env={"REMIT_KEEPER": str(path)}, timeout=7200)
    spent = time.monotonic() - begun
    results = [json.loads(line) for line in answer.stdout.splitlines()]
    right = sum(r["status"] == "ok" and r["stdout"] == f"{r['id']}\n" for r in results)
    warm = sum(r["start"] == "warm" for r in results)
    print(f"{remit.label}: {right} of {count} correct, {warm} warm, {count / spent:.0f} per second")
    return [] if right == count else [f"{count - right} of {count} jobs failed: {answer.stderr[-500:]}"]


def soak(remit: Remit, count: int) -> list[str]:
    path = remit.folder / "soak.sock"
    keeper = remit.popen("keeper", "--listen", path, stdin=subprocess.DEVNULL)
    while not path.exists():
        time.sleep(0.01)  # polls
    problems: list[str] = []
    done = [0]
    lock = threading.Lock()

    def work(seed: int) -> None:
        rng = random.Random(seed)
        while True:
            with lock:
                if done[0] >= count // 10 or len(problems) > 20:
                    return
                done[0] += 1
            if problem := run_one(remit, rng, {"REMIT_KEEPER": str(path)}, problems):
                problems.append(problem)

    mixed = count // 10
    warm_up(work, 200 if mixed > 400 else mixed // 2, done)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(JOBS)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        time.sleep(0.5)  # polls
        if sys.stdout.isatty():
            print(f"\r{remit.label}: {done[0]} of {count // 10}", end="", flush=True)
    problems += batch(remit, path, 200)
    settle(remit, path)
    first = keeper_facts(keeper.pid)
    problems += batch(remit, path, count - mixed)
    settle(remit, path)
    last = keeper_facts(keeper.pid)
    print(f"\r{remit.label}: keeper {first[0]} -> {last[0]} KiB, {first[1]} -> {last[1]} descriptors")
    if last[0] > first[0] + 1024:
        problems.append(f"the keeper grew from {first[0]} to {last[0]} KiB")
    if last[1] > first[1]:
        problems.append(f"the keeper's descriptors grew from {first[1]} to {last[1]}")
    keeper.terminate()
    keeper.wait(timeout=30)
    for name, look in (("processes", lambda: processes(remit.command)), ("groups", groups), ("mounts", mounts)):
        if left := remaining(look):
            problems.append(f"{name} left: {left}")
    return problems


def warm_up(work, count: int, done: list[int]) -> None:
    """Fills caches and allocators before the first measurement."""
    thread = threading.Thread(target=work, args=(99,))
    thread.start()
    while done[0] < count and thread.is_alive():
        time.sleep(0.05)  # polls
    # The thread continues together with the others and ends with them.


@contextlib.contextmanager
def staged():
    """Yields the command of each user, in a place that all users can read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-soak-", dir="/var/tmp"))
    folder.chmod(0o755)
    shutil.copytree(ROOT / "build" / "runtime", folder / "bin" / "runtime", ignore=shutil.ignore_patterns("*.p"))
    shutil.copy2(ROOT / "build" / "remit", folder / "bin" / "remit")
    remits = []
    for label in users():
        (folder / label).mkdir()
        if label == "user" and os.geteuid() == 0:
            make_test_user()
        remits.append(Remit(label, folder / label))
        remits[-1].own(folder / label)
    yield remits
    shutil.rmtree(folder)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    with staged() as remits:
        problems = [p for remit in remits for p in soak(remit, count // len(remits))]
    print("\n".join(problems) or "nothing is left")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
