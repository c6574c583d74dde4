"""A slow machine never causes a wrong result: a missed deadline gives status `busy` with the deadline's name, and
never `internal`."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess

import pytest
from conftest import PYTHON, ROOT, skip_or_fail
from session_client import SessionClient
from shared_keeper import SharedKeeper, family, is_alive
from waiting import PATIENCE, until

TABLE = re.findall(r'\.name = "(\w+)",(?:\s*/\*.*?\*/)?\s*\.ms = (\d+)', (ROOT / "src" / "base" / "deadline.c").read_text(), re.S)
# Code that takes the validator some time
LONG = "import socket\nx = (" + "[1, 2, 3],\n" * 20_000 + ")"


def short(name: str, ms: int = 500) -> dict[str, str]:
    """Environment that makes the test build miss this deadline soon."""
    return {"REMIT_DEADLINES": f"{name}={ms}"}


def check_missed(error: dict, name: str) -> None:
    assert error["name"] == "busy" and f'(deadline "{name}")' in error["value"], error
    assert re.search(r"within [\d.]+ s ", error["value"]) and "overloaded" in error["remedy"], error


def test_document_lists_every_deadline_and_its_length():
    rows = re.findall(r"^\| `(\w+)` \| (\d+) s \|", (ROOT / "docs" / "reference" / "deadlines.md").read_text(), re.M)
    assert TABLE and rows == [(name, str(int(ms) // 1000)) for name, ms in TABLE]


# ---- a keeper that is slower than the code it runs ----


def processor_ticks(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[11])
    except OSError:
        return 0


def busy_processes(keeper: SharedKeeper, idle: dict[int, int]) -> list[int]:
    return [pid for pid in family(keeper.pid) if processor_ticks(pid) > idle.get(pid, 0) + 3]


@pytest.mark.parametrize("flags", [(), ("--preset", "landlock"), ("--tier", "static")])
def test_rejection_reaches_keeper_that_reads_after_runner_left(remit, flags):
    """The runner waits 200 ms for its keeper and then exits. If another child ended before, the keeper may see both
    ends first."""
    keeper = SharedKeeper(remit)
    code = remit.file("long.py", LONG)
    try:
        keeper.await_child()
        keeper.json("pass", *flags, "--block-import", "socket")
        keeper.until(keeper.is_full)
        zygote = keeper.zygote()["pid"]
        idle = {pid: processor_ticks(pid) for pid in family(keeper.pid)}
        run = remit.popen("run", "--json", *flags, "--block-import", "socket", code, env=keeper.env, stdout=subprocess.PIPE)
        checks = until(lambda: busy_processes(keeper, idle), "no process checks the code")[-1]
        keeper.process.send_signal(signal.SIGSTOP)
        os.kill(zygote, signal.SIGKILL)
        until(lambda: not is_alive(checks), "the runner does not exit")
        keeper.process.send_signal(signal.SIGCONT)
        out, _ = run.communicate(timeout=PATIENCE)
        assert json.loads(out)["status"] == "rejected", out
    finally:
        keeper.process.send_signal(signal.SIGCONT)
        keeper.close()


# ---- missed deadlines ----


def test_late_probe_is_busy_and_not_cached(holes):
    cache = holes.folder / f"cache-{secrets.token_hex(4)}"
    cache.mkdir()
    holes.own(cache)
    env = {"XDG_CACHE_HOME": str(cache)}
    late = {**env, **short("probe"), "REMIT_WAIT_STEP": "new session keyring"}
    check_missed(holes.json("print(1)", env=late)["error"], "probe")
    done = holes("doctor", env=late)
    assert done.returncode == 125 and 'deadline "probe"' in done.stderr, done
    assert holes.json("print(1)", env=env)["status"] == "ok"


def test_interpreter_that_does_not_describe_itself_is_busy(holes):
    slow = holes.file(f"python-{secrets.token_hex(4)}", "#!/bin/sh\nexec sleep 300\n")
    slow.chmod(0o755)
    error = holes.json("print(1)", "--python", str(slow), env=short("answer"))["error"]
    check_missed(error, "answer")
    assert str(slow) in error["value"]


@pytest.mark.parametrize("flags", [(), ("--preset", "landlock"), ("--tier", "static")])
def test_interpreter_that_does_not_start_is_busy(holes, flags):
    result = holes.json("print(1)", *flags, env={**short("start"), "REMIT_WAIT_STEP": "new session keyring"})
    check_missed(result["error"], "start")
    assert result["status"] == "busy" and result["stdout"] == ""


@pytest.mark.parametrize("moment", ["before", "after_in_child"])
def test_session_that_is_not_copied_is_busy(holes, moment):
    client = SessionClient(holes, {"REMIT_KEEPER": "", **short("copy")})
    try:
        client.open(policy={"python": PYTHON}, forkable=True)
        client.run(f"import os, time; os.register_at_fork({moment}=lambda: time.sleep(600))")
        failed = client.request("fork", branch="b")["failed"]
        assert failed["code"] == 3 and '(deadline "copy")' in failed["message"], failed
    finally:
        client.leave()


def test_session_that_does_not_stop_for_commit_reports_why(holes):
    root = holes.folder / f"root-{secrets.token_hex(4)}"
    root.mkdir()
    holes.own(root)
    client = SessionClient(holes, {"REMIT_KEEPER": "", **short("stop", 0)})
    try:
        client.open(policy={"python": PYTHON, "mounts": [{"host": str(root), "jail": "/data", "mode": "rw"}]})
        client.out("open('/data/new', 'w').write('new')")
        (skipped,) = client.request("commit")["changes_skipped"]
        assert "the code did not stop within 0 s" in skipped["reason"] and '(deadline "stop")' in skipped["reason"], skipped
        assert os.listdir(root) == []
        assert client.out("print(open('/data/new').read())") == "new\n"
    finally:
        client.leave()


# Uses up the user's key quota, then runs a command. Keys of earlier processes count until the kernel has collected
# them.
WITHOUT_KEYS = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(250, 1, None) >= 0  # a session keyring
n = quiet = 0
while quiet < 3:
    before = n
    while libc.syscall(248, b"user", b"key%d" % n, b"x", 1, -3) >= 0:
        n += 1
    assert ctypes.get_errno() == 122
    quiet = quiet + 1 if n == before else 0
    time.sleep(0.3)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_uncollected_keyrings_are_busy(holes):
    """Runs as a separate user, whose quota no other test needs."""
    if os.uname().machine != "x86_64" or os.geteuid() != 0:
        skip_or_fail("the program has the system call numbers of x86-64, and only root can become another user")
    done = subprocess.run(
        [PYTHON, "-c", WITHOUT_KEYS, *holes.argv("run", "--json", "-c", "print(1)")], env={"PATH": "/usr/bin:/bin", **short("keyring")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, cwd="/", user=54321, group=54321, extra_groups=[],
    )  # fmt: skip
    check_missed(json.loads(done.stdout)["error"], "keyring")


def test_release_build_does_not_shorten_deadlines(remit):
    with open(remit.command, "rb") as f:
        assert b"REMIT_DEADLINES" not in f.read()
