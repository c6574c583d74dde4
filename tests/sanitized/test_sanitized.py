"""A keeper with AddressSanitizer runs programs and sessions that end in every way."""

from __future__ import annotations

import pathlib
import random
import shutil
import threading

import pytest
from conftest import PYTHON, ROOT, Remit, skip_or_fail
from mixture import LATE, run_one
from session_client import SessionClient
from shared_keeper import SharedKeeper

RUNS = 240
THREADS = 4
SESSIONS = 25


@pytest.fixture
def sanitized(remit) -> Remit:
    """The same command, built with AddressSanitizer."""
    command = ROOT / "build-asan" / "remit"
    if not command.exists():
        skip_or_fail("build-asan does not exist (tests/run.py sanitizers makes it)")
    folder = remit.folder.parent / "asan"
    folder.mkdir(exist_ok=True)
    shutil.copy2(command, folder / "remit")
    shutil.copytree(ROOT / "build" / "runtime", folder / "runtime", ignore=shutil.ignore_patterns("*.p"), dirs_exist_ok=True)
    other = Remit(remit.label, remit.folder)
    other.command = str(folder / "remit")
    return other


def test_keeper_has_no_memory_errors_with_mixed_runs(remit, sanitized):
    log = pathlib.Path(sanitized.folder) / "asan"
    keeper = SharedKeeper(sanitized, env={"ASAN_OPTIONS": f"log_path={log}:detect_leaks=0"})
    wrong: list[str] = []
    late: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(RUNS // THREADS):
            if problem := run_one(remit, rng, keeper.env, late):
                wrong.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert keeper.process.poll() is None, [p.read_text() for p in log.parent.glob("asan.*")]
    keeper.close()
    assert not wrong, wrong
    assert len(late) < RUNS // 10, late
    assert not list(log.parent.glob("asan.*"))


CELLS = [
    "x = 1", "print('x' * 100000)", "1/0", "import sys; sys.exit(3)", "x = (", "import os; os._exit(5)", "import os; os.close(3)",
    "import os; os.write(3, b'\\xff' * 64)", "print(input())", "while True: pass", "import socket; socket.socket()",
    "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    "import os; os.kill(os.getpid(), 9)", "open('f', 'w').write('x')", "print('x' * (1 << 21))",
]  # fmt: skip


def use_sessions(client: SessionClient, seed: int, wrong: list[str]) -> None:
    """Sends a session random requests in random order."""
    rng = random.Random(seed)
    policy = {"python": PYTHON, "timeout": "200ms", "stdout_max_bytes": 4096, "artifact_export_paths": ["f"]}
    for n in range(SESSIONS):
        client.open(policy=policy)
        for _ in range(rng.randrange(8)):
            what = rng.random()
            answer = client.begin("reset") if what < 0.1 else client.begin("run", code=rng.choice(CELLS), stdin="in", files=[("in", "x")])
            if what > 0.7:
                client.request("interrupt")
            said = answer()
            if "failed" in said and LATE not in said["failed"]["message"]:
                wrong.append(f"{seed}/{n}: {said}")
        client.request(rng.choice(("close", "drop")))


def test_keeper_has_no_memory_errors_with_sessions(remit, sanitized):
    log = pathlib.Path(sanitized.folder) / "asan-sessions"
    keeper = SharedKeeper(sanitized, env={"ASAN_OPTIONS": f"log_path={log}:detect_leaks=0"})
    wrong: list[str] = []
    clients = [SessionClient(remit, keeper.env) for _ in range(3)]
    threads = [threading.Thread(target=use_sessions, args=(client, seed, wrong)) for seed, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clients[0].open(policy={"python": PYTHON})
    clients[0].begin("run", code="while True: pass")
    for client in clients:
        client.leave()
    keeper.until(lambda: keeper.status()["sessions"] == [] and keeper.status()["running"] == 0)
    keeper.close()
    reports = [path.read_text() for path in log.parent.glob(f"{log.name}.*")]
    assert reports == [] and wrong == []
