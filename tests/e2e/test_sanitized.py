"""A keeper that watches its own memory, under programs that end in every way."""

from __future__ import annotations

import pathlib
import random
import shutil
import threading

import pytest
from conftest import ROOT, Remit, skip_or_fail
from mixture import run_one
from shared_keeper import SharedKeeper

RUNS = 400
THREADS = 4


@pytest.fixture
def sanitized(remit) -> Remit:
    """The same command with AddressSanitizer in it."""
    command = ROOT / "build-asan" / "remit"
    if not command.exists():
        skip_or_fail("there is no build-asan (tests/run.py sanitizers makes it)")
    folder = remit.folder.parent / "asan"
    folder.mkdir(exist_ok=True)
    shutil.copy2(command, folder / "remit")
    shutil.copytree(ROOT / "build" / "runtime", folder / "runtime", ignore=shutil.ignore_patterns("*.p"), dirs_exist_ok=True)
    other = Remit(remit.label, remit.folder)
    other.command = str(folder / "remit")
    return other


def test_the_keeper_touches_no_memory_that_is_not_its_own(remit, sanitized):
    log = pathlib.Path(sanitized.folder) / "asan"
    keeper = SharedKeeper(sanitized, env={"ASAN_OPTIONS": f"log_path={log}:detect_leaks=0"})
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(RUNS // THREADS):
            if problem := run_one(remit, rng, keeper.env):
                wrong.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert keeper.process.poll() is None, [p.read_text() for p in log.parent.glob("asan.*")]
    keeper.process.terminate()
    assert keeper.process.wait(timeout=30) == 0
    assert not wrong, wrong
    assert not list(log.parent.glob("asan.*"))
