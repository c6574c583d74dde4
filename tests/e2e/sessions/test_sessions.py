"""Sessions: one jail for many cells, as a program that uses libremit sees it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import time

import leftovers
import pytest
from conftest import PYTHON, enforced
from fake_keeper import PROTOCOL
from session_client import DEAF, DEAF_MS, FOREVER, UNTIL_INTERRUPTED, SessionClient
from shared_keeper import SharedKeeper, is_alive, kill
from waiting import until


def policy(**more) -> dict:
    return {"python": PYTHON, **more}


STARTED: list = []


def share(remit, *args) -> SharedKeeper:
    STARTED.append(SharedKeeper(remit, *args))
    return STARTED[-1]


@pytest.fixture(autouse=True)
def no_keeper_outlives_its_test():
    yield
    while STARTED:
        process = STARTED.pop().process
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture(params=["private", "shared"])
def client(request, remit):
    """A client with a private keeper, cold, or with a shared one, warm."""
    shared = share(remit) if request.param == "shared" else None
    one = SessionClient(remit, shared.env if shared else {"REMIT_KEEPER": ""})
    one.shared = shared
    if shared:
        one.warm_up(policy=policy())
    yield one
    one.leave()
    if shared:
        shared.close()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"
    assert not leftovers.remaining(leftovers.groups), "groups are left"
    assert not leftovers.mounts()


def state(result: dict) -> tuple:
    return result["status"], result["session"]["state"]


def await_loss(client) -> None:
    """Wait until the keeper knows that the session is lost. Files can be requested without a cell."""

    def is_lost() -> bool:
        reply = client.request("file", op="stat", path="/workspace")
        return "failed" in reply and "has ended" in reply["failed"]["message"]

    until(is_lost)


def name_interpreter(client) -> str:
    """Set a process name by which the host can tell whether the interpreter lives, without a request to the session."""
    name = f"s-{secrets.token_hex(4)}"
    client.out(f"import ctypes\nctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)")
    assert leftovers.threads_named(name)
    return name


def between_cells(client, body: str) -> None:
    """Leave a thread that does this when no cell runs."""
    lines = ["while not os.path.exists('/workspace/go'): time.sleep(0.01)", *body.splitlines()]
    code = "import os, threading, time\ndef later():\n    " + "\n    ".join(lines)
    client.out(f"{code}\nthreading.Thread(target=later, daemon=True).start()")
    client.request("file", op="write", path="/workspace/go")


# ---- what persists ----


def test_session_keeps_variables_imports_and_files(client):
    client.open(policy=policy())
    first = client.run("import math as m\nx = 41\nopen('note', 'w').write('kept')")
    assert state(first) == ("ok", "open") and first["session"]["cell"] == 1, first
    assert first["start"] == ("warm" if client.shared else "cold")
    second = client.run("def f(n): return m.floor(n) + x\nprint(f(1.5), open('note').read(), __name__)")
    assert second["stdout"] == "42 kept __main__\n", second
    assert second["session"]["id"] == first["session"]["id"] and second["run_id"] != first["run_id"]
    assert state(client.request("close")) == ("ok", "ended")


def test_output_errors_and_exit_codes_belong_to_their_cell(client):
    client.open(policy=policy())
    assert client.out("print('one')") == "one\n"
    error = client.run("def f():\n    return 1 / 0\nf()", name="mine.py")
    assert state(error) == ("error", "open") and error["error"]["line"] == 2 and error["stdout"] == "", error
    assert "    return 1 / 0" in error["stderr"] and 'File "mine.py", line 3' in error["stderr"]
    # The line of an earlier cell is in the traceback, too.
    later = client.run("f()")
    assert "    return 1 / 0" in later["error"]["traceback"] and 'File "<cell 3>", line 1' in later["error"]["traceback"]
    left = client.run("import sys; sys.exit(3)")
    assert (*state(left), left["exit_code"], left["remit_exit_code"]) == ("exit", "open", 3, 3)
    wrong = client.run("x = (")
    assert state(wrong) == ("error", "open") and wrong["error"]["name"] == "SyntaxError"
    assert client.out("print('still here')") == "still here\n"


def test_cell_has_its_own_input_arguments_and_files(client):
    client.open(policy=policy())
    assert client.out("import sys\nprint(input(), sys.argv)", stdin="a line\nunread\n", argv=["one", "two"]) == "a line ['<cell 1>', 'one', 'two']\n"
    assert client.out("print(repr(sys.stdin.read()), sys.argv)") == "'' ['<cell 2>']\n"
    big = "x" * 300_000
    assert client.out("print(len(sys.stdin.read()))", stdin=big) == "300000\n"
    assert client.out("import os\nos.chdir('/tmp')\nprint(open('/workspace/a/b').read())", files=[("a/b", "first")]) == "first\n"
    assert client.out("print(open('/workspace/a/b').read(), os.getcwd())", files=[("a/b", "second")]) == "second /tmp\n"
    too_much = client.run("print('ran')", files=[("big", "x" * 1000)] * 2)
    assert state(too_much) == ("refused", "open") and too_much["stdout"] == "", too_much
    assert client.out("print(os.getcwd())") == "/tmp\n"


def test_input_is_available_however_early_cell_reads_it(client):
    """On one processor, so that the cell may start before the keeper continues."""
    os.sched_setaffinity(client.process.pid, {min(os.sched_getaffinity(0))})
    client.open(policy=policy())
    client.out("import os, sys")
    for number in range(300):
        assert client.out("print(os.read(0, 10))", stdin=f"{number}") == f"{str(number).encode()}\n"


def test_usage_is_counted_for_each_cell(client):
    client.open(policy=policy(cpu_seconds="60s"))
    busy = client.run("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    assert 250 < busy["usage"]["cpu_ms"] < 2000, busy
    assert client.run("pass")["usage"]["cpu_ms"] < 250


def test_denials_belong_to_cell_that_was_refused(client):
    client.open(policy=policy())
    first = client.run("import socket\ntry: socket.socket()\nexcept OSError: pass")
    assert [d["syscall"] for d in first["denials"]] == ["socket"], first
    assert client.run("pass")["denials"] == []


def test_output_limits_apply_to_each_cell(client):
    client.open(policy=policy(stdout_max_bytes=1024))
    for _ in range(3):
        result = client.run("print('x' * 5000)")
        assert len(result["stdout"]) == 1024 and result["stdout_truncated"], result
    assert client.out("print('short')") == "short\n"


def test_session_output_between_cells_comes_with_next_cell(client):
    client.open(policy=policy())
    between_cells(client, "print('late', flush=True)\nopen('/workspace/done', 'w').close()")
    until(lambda: "failed" not in client.request("file", op="stat", path="/workspace/done"))
    assert client.out("print('next')") == "late\nnext\n"


def test_refused_hosts_belong_to_cell_that_tried(remit):
    one = SessionClient(remit, {"REMIT_KEEPER": ""})
    one.open(policy=policy(network_allow=["example.com:443"], memory_fallback="per_process"))
    code = "import socket\ntry: socket.getaddrinfo('refused.invalid', 80)\nexcept OSError: pass"
    first = one.run(code)
    assert first["usage"]["network"]["refusals"] >= 1 and any("refused.invalid" in d["what"] for d in first["denials"]), first
    second = one.run("pass")
    assert second["usage"]["network"]["refusals"] == 0 and second["denials"] == [], second
    assert any("refused.invalid" in d["what"] for d in one.run(code)["denials"])
    one.leave()


# ---- limits ----


def test_cell_may_have_shorter_timeout_but_not_longer(client):
    client.open(policy=policy(timeout="60s"))
    result = client.run(FOREVER, timeout_ms=200)
    assert state(result) == ("timeout", "open") and 190 < result["usage"]["wall_ms"] < 50_000, result
    client.request("drop")
    client.open(policy=policy(timeout="1s"))
    result = client.run(FOREVER, timeout_ms=60_000)
    assert state(result) == ("timeout", "open") and 900 < result["usage"]["wall_ms"] < 50_000, result


def test_cell_at_timeout_is_interrupted_and_keeps_variables(client, covers):
    client.open(policy=policy(timeout="2s"))
    client.out("kept = 5")
    result = client.run(FOREVER)
    assert state(result) == ("timeout", "open") and result["error"]["name"] == "KeyboardInterrupt", result
    assert enforced(result, "timeout") == ["timer"]
    assert 1900 < result["usage"]["wall_ms"] < 30_000
    assert client.out("print(kept)") == "5\n"


def test_cell_that_does_not_stop_is_killed_and_ends_session(client):
    client.open(policy=policy())
    client.out("kept = 5")
    result = client.run(DEAF, timeout_ms=DEAF_MS)
    assert state(result) == ("timeout", "ended") and DEAF_MS + 1900 < result["usage"]["wall_ms"] < 25_000, result
    again = client.run("print(kept)")
    assert state(again) == ("refused", "ended") and "ended in cell 2 (timeout)" in again["error"]["value"], again
    assert "Reset" in again["error"]["remedy"]
    assert client.request("reset") == {}
    assert client.out("print('kept' in globals())") == "False\n"


def test_cpu_limit_applies_to_each_cell(client, remit, covers):
    spin = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    client.open(policy=policy(cpu_seconds="1s", timeout="100s"))
    for _ in range(3):  # more than the limit in total
        result = client.run(spin)
        assert state(result) == ("ok", "open"), result
    over = client.run("while True: pass")
    assert state(over) == ("cpu_limit", "open"), over
    kept = enforced(over, "cpu_seconds")
    assert "cpu_clock" in kept and "rlimit_cpu" not in kept
    covers(remit, "cpu_seconds", *kept)


def test_threads_between_cells_count_against_cpu_limit(remit):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy(cpu_seconds="1s"))
    one.out("import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()")
    shared.until(lambda: shared.status()["sessions"][0]["state"] == "ended")
    result = one.run("print(1)")
    assert state(result) == ("refused", "ended") and "cpu_seconds" in result["error"]["value"], result
    one.leave()
    shared.close()


def test_memory_limit_applies_to_session(client):
    client.open(policy=policy(memory_bytes="512M"))
    assert client.run("a = bytearray(30 << 20)")["status"] == "ok"
    result = client.run("b = bytearray(700 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1")
    assert result["status"] in ("memory_limit", "error"), result
    if result["status"] == "error":  # limited by address space: an exception, and the variables stay
        assert result["error"]["name"] == "MemoryError" and client.out("print(len(a))") == f"{30 << 20}\n"
    else:
        assert state(result) == ("memory_limit", "ended")


def test_disk_limit_applies_to_session(client):
    client.open(policy=policy(disk_bytes="4M"))
    client.out("open('a', 'wb').write(bytes(3 << 20))")
    result = client.run("f = open('b', 'wb', buffering=0)\nwhile True: f.write(bytes(1 << 20))")
    assert state(result) == ("error", "open") and "No space" in result["error"]["value"], result


def test_output_ceiling_ends_session(client):
    client.open(policy=policy(stdout_max_bytes=1024, output_ceiling=10))
    assert state(client.run("while True: print('x' * 100)")) == ("output_limit", "ended")


def test_idle_session_expires(client, remit, covers):
    client.open(policy=policy(session_idle="6s"))
    name = name_interpreter(client)
    first = client.run("x = 1")
    assert enforced(first, "session_idle") == ["timer"]
    covers(remit, "session_idle", "timer")
    for _ in range(3):  # the session lives as long as it is used now and then
        assert client.out("import time\ntime.sleep(3.5)\nprint(x)") == "1\n"
    assert not leftovers.remaining(lambda: leftovers.threads_named(name))
    result = client.run("print(x)")
    assert state(result) == ("refused", "ended") and "session_idle" in result["error"]["value"], result
    assert state(client.request("close")) == ("ok", "ended")


# ---- interrupts ----


def test_interrupt_keeps_variables(client):
    client.open(policy=policy())
    client.out("kept = 5")
    answer = client.begin_cell(FOREVER)
    client.request("interrupt")
    assert state(answer()) == ("interrupted", "open")
    assert client.out("print(kept)") == "5\n"


def test_interrupt_at_any_moment_hits_only_its_cell(client):
    """An interrupt during a cell is not lost, and does not hit the next cell."""
    client.open(policy=policy(timeout="100s"))
    for i in range(60):
        answer = client.begin("run", code="while True: pass")
        time.sleep(i * 0.0001)  # another moment in each round
        # The request's thread may not have started yet, and then no cell is running.
        result = None
        while result is None:
            client.request("interrupt")
            try:
                result = answer(0.2)
            except Exception as e:
                assert type(e).__name__ == "Empty"
        assert state(result) == ("interrupted", "open"), result
        client.request("interrupt")
        assert client.out("print('next')") == "next\n"


def test_caught_interrupt_does_not_end_cell(client):
    client.open(policy=policy())
    answer = client.begin_cell(UNTIL_INTERRUPTED)
    client.request("interrupt")
    result = answer()
    assert state(result) == ("ok", "open") and result["stdout"] == "begun\ninterrupted\n", result


def test_deaf_cell_ends_at_timeout(client):
    client.open(policy=policy(timeout="3s"))
    answer = client.begin_cell(DEAF)
    client.request("interrupt")
    result = answer()
    assert state(result) == ("timeout", "ended"), result


def test_signal_handler_does_not_outlast_its_cell(client):
    client.open(policy=policy())
    client.out("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    answer = client.begin_cell(FOREVER)
    client.request("interrupt")
    assert state(answer()) == ("interrupted", "open")


# ---- one request at a time ----


def test_second_request_during_cell_is_busy(client):
    client.open(policy=policy())
    answer = client.begin_cell(UNTIL_INTERRUPTED)
    for what in ({"what": "run", "code": "print('second')"}, {"what": "reset"}, {"what": "close"}):
        reply = client.request(**what)
        assert reply["failed"]["code"] == 3 and "busy" in reply["failed"]["message"], reply
    client.request("interrupt")
    assert answer()["stdout"] == "begun\ninterrupted\n"


def test_sessions_share_nothing(client):
    for name in "ab":
        client.open(session=name, policy=policy())
        client.out(f"mine = {name!r}\nopen('file', 'w').write(mine)", session=name)
    for name in "ab":
        assert client.out("print(mine, open('file').read())", session=name) == f"{name} {name}\n"
    assert state(client.request("close", session="a")) == ("ok", "ended")
    assert client.out("print(mine)", session="b") == "b\n"


def test_sessions_are_limited_in_number(remit):
    one = SessionClient(remit, {"REMIT_KEEPER": ""})
    for i in range(64):
        one.open(session=str(i), policy=policy())
    reply = one.request("open", session="x", policy=policy())
    assert "limit 64" in reply["failed"]["message"], reply
    one.request("drop", session="0")
    until(lambda: "failed" not in one.request("open", session="x", policy=policy()))
    assert one.out("print(1)", session="x") == "1\n"
    one.leave()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command))


# ---- the end ----


def test_reset_gives_fresh_jail(client):
    client.open(policy=policy())
    client.out("x = 1\nopen('file', 'w').write('x')")
    assert client.request("reset") == {}
    assert client.out("import os\nprint('x' in globals(), os.listdir('.'))") == "False []\n"


def test_artifacts_are_exported_at_close(client, remit):
    folder = remit.folder / f"session-{os.getpid()}-{time.monotonic_ns()}"
    client.open(policy=policy(artifact_export_paths=["*.txt"]), artifacts=str(folder))
    result = client.run("f = open('a.txt', 'w')\nf.write('never closed')\nopen('b.log', 'w')")
    assert result["artifacts"] == [] and not list(folder.iterdir()), result
    closed = client.request("close")
    assert state(closed) == ("ok", "ended") and [a["path"] for a in closed["artifacts"]] == ["a.txt"], closed
    assert (folder / "a.txt").read_text() == "never closed"


def test_artifacts_of_killed_session_are_exported(client, remit):
    folder = remit.folder / f"session-{os.getpid()}-{time.monotonic_ns()}"
    client.open(policy=policy(artifact_export_paths=["*.txt"]), artifacts=str(folder))
    client.out("open('a.txt', 'w').write('kept')")
    result = client.run(DEAF, timeout_ms=DEAF_MS)
    assert state(result) == ("timeout", "ended") and [a["path"] for a in result["artifacts"]] == ["a.txt"], result


def test_exit_handlers_run_at_close(client):
    client.open(policy=policy())
    client.out("import atexit\natexit.register(print, 'goodbye')")
    assert client.request("close")["stdout"] == "goodbye\n"


def test_close_does_not_wait_forever(client):
    """Not even as long as a cell may run."""
    client.open(policy=policy(timeout="600s"))
    client.out("import atexit, time\natexit.register(time.sleep, 600)")
    assert state(client.request("close")) == ("ok", "ended")


def root_of(remit):
    folder = remit.folder / f"root-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    (folder / "old").write_text("old")
    remit.own(folder)
    remit.own(folder / "old")
    return folder


def test_folders_are_committed_at_close(client, remit):
    root = root_of(remit)
    client.open(policy=policy(mounts=[{"host": str(root), "jail": "/data", "mode": "rw"}]))
    client.out("open('/data/new', 'w').write('new')")
    client.out("open('/data/old', 'w').write('changed')")
    assert client.run("1/0")["changes"] == [] and not (root / "new").exists()
    closed = client.request("close")
    assert closed["committed"] and {c["path"] for c in closed["changes"]} == {"/data/new", "/data/old"}, closed
    assert ((root / "new").read_text(), (root / "old").read_text()) == ("new", "changed")


def paths(result: dict) -> set:
    assert result["committed"] and result["status"] == "ok", result
    return {c["path"] for c in result["changes"]}


def test_folders_are_committed_on_request_and_session_continues(client, remit):
    root = root_of(remit)
    client.open(policy=policy(mounts=[{"host": str(root), "jail": "/data", "mode": "rw"}]))
    client.out("import os\nx = 1\nos.mkdir('/data/dir')\nfor n in ('new', 'old', 'dir/a', 'dir/b'): open('/data/' + n, 'w').write('one')")
    first = client.request("commit")
    assert paths(first) == {"/data/new", "/data/old", "/data/dir/", "/data/dir/a", "/data/dir/b"} and state(first) == ("ok", "open"), first["changes_skipped"]
    assert (root / "dir" / "a").read_text() == "one" and paths(client.request("commit")) == set()
    # The overlay of the live jail now lies over a folder that has changed.
    assert client.out("print(sorted(os.listdir('/data')), sorted(os.listdir('/data/dir')), open('/data/old').read(), x)") == "['dir', 'new', 'old'] ['a', 'b'] one 1\n"
    client.out("os.remove('/data/new'); os.remove('/data/dir/a'); open('/data/old', 'a').write('two'); open('/data/dir/c', 'w').write('two')")
    (root / "dir" / "b").write_text("theirs")
    client.out("open('/data/dir/b', 'w').write('two')")
    second = client.request("commit")
    assert paths(second) == {"/data/old", "/data/dir/c"}, second
    assert {c["path"] for c in second["changes_skipped"]} == {"/data/dir/b", "/data/new", "/data/dir/a"}, second
    (root / "dir" / "b").unlink()
    client.out("os.remove('/data/dir/b')")
    third = client.request("commit")
    assert paths(third) == {"/data/new", "/data/dir/a"}, third
    assert (root / "old").read_text() == "onetwo" and sorted(os.listdir(root)) == ["dir", "old"] and os.listdir(root / "dir") == ["c"]
    assert client.out("print(x, sorted(os.listdir('/data')))") == "1 ['dir', 'old']\n"
    client.out("open('/data/last', 'w').write('x')")
    assert paths(client.request("close")) == {"/data/last"} and (root / "last").exists()


def test_threads_are_stopped_during_commit(client, remit):
    """Two files change together, and a long file is copied between them."""
    root = root_of(remit)
    client.open(policy=policy(mounts=[{"host": str(root), "jail": "/data", "mode": "rw"}]))
    client.out(
        "import os, threading\n"
        "a, z = (os.open('/data/' + n, os.O_RDWR | os.O_CREAT) for n in 'az')\n"
        "def write():\n    n = 0\n    while True:\n        n += 1\n"
        "        os.pwrite(a, b'%012d' % n, 0); os.pwrite(z, b'%012d' % n, 0)\n"
        "threading.Thread(target=write, daemon=True).start()"
    )
    for i in range(3):
        client.out(f"open('/data/m', 'wb').write(b'{i}' * (16 << 20))")
        assert paths(client.request("commit")) == {"/data/a", "/data/m", "/data/z"}
        first, last = (int((root / name).read_text()) for name in "az")
        assert first > 0 and first - last in (0, 1), (first, last)


def test_refused_commit_does_not_end_session(client, remit):
    root = root_of(remit)
    client.open(policy=policy())
    client.out("x = 1")
    refused = client.request("commit")
    assert refused["status"] == "refused" and refused["error"]["where"] == "filesystem_write_roots", refused
    assert client.out("print(x)") == "1\n"
    client.request("drop")
    rw = [{"host": str(root), "jail": "/data", "mode": "rw"}]
    client.open(policy=policy(mounts=rw, commit="never"))
    client.out("open('/data/new', 'w').write('new')")
    dry = client.request("commit")
    assert not dry["committed"] and [c["path"] for c in dry["changes"]] == ["/data/new"] and not (root / "new").exists()
    client.request("drop")
    if remit.by_root:
        client.open(policy=policy(mounts=rw, subprocess_execution=True))
        refused = client.request("commit")
        assert refused["status"] == "refused" and refused["error"]["where"] == "subprocess_execution", refused


def test_killed_client_during_commit_leaves_nothing(client, remit):
    root = root_of(remit)
    client.open(policy=policy(mounts=[{"host": str(root), "jail": "/data", "mode": "rw"}]))
    client.out("for n in range(1500): open(f'/data/{n}', 'w').write('x' * 1000)")
    answer = client.begin("commit")
    until(lambda: len(os.listdir(root)) >= 2)
    client.process.kill()
    assert "failed" in answer()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command) if not client.shared else [], 60)


def test_reset_drop_kill_or_lost_client_commit_nothing(client, remit):
    root = root_of(remit)
    rw = policy(mounts=[{"host": str(root), "jail": "/data", "mode": "rw"}])
    write = "open('/data/new', 'w').write('new')"
    client.open(policy=rw)
    client.out(write)
    assert client.request("reset") == {}
    client.out(write)
    killed = client.run(DEAF, timeout_ms=DEAF_MS)
    assert state(killed) == ("timeout", "ended") and not killed["committed"], killed
    assert [c["path"] for c in killed["changes"]] == ["/data/new"]
    assert client.request("close")["changes"] == []
    client.open(policy=rw)
    client.out(write)
    client.request("drop")
    client.open(policy=rw)
    client.out(write)
    client.process.kill()
    time.sleep(0.5)  # no commit may follow
    assert not (root / "new").exists()


# ---- hostile cells ----


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.close(3)",
        "import os; os.dup2(os.open('/dev/null', os.O_RDWR), 3)",
        "import os; os.write(3, b'\\xff' * 100)",
        "import os; os.write(3, b'\\x10\\0\\0\\0\\x10\\0\\0\\0' + b'x' * 16)",
        "import os; os.write(3, b'\\0\\0\\0\\x7f\\x10\\0\\0\\0')",
    ],
)
def test_cell_that_breaks_its_channel_loses_only_its_session(client, code):
    client.open(session="other", policy=policy())
    client.open(policy=policy(timeout="4s"))
    result = client.run(code)
    assert result["session"]["state"] == "ended" and result["status"] != "ok", result
    assert state(client.run("print(1)")) == ("refused", "ended")
    assert client.out("print('fine')", session="other") == "fine\n"
    assert client.request("reset") == {}
    assert client.out("print('again')") == "again\n"


def test_forged_end_is_claim_and_then_ends_session(client):
    client.open(policy=policy())
    forged = "kind\\0ok\\0exit\\0000\\0"
    result = client.run(f"import os\np = b'{forged}'\nos.write(3, len(p).to_bytes(4, 'little') + bytes((16, 0, 0, 0)) + p)\nraise ValueError")
    assert state(result) == ("ok", "open") and "status" in result["reported"], result
    await_loss(client)
    assert state(client.run("print(1)")) == ("refused", "ended")


def test_frames_between_cells_end_session(client):
    client.open(policy=policy())
    between_cells(client, "os.write(3, b'\\0\\0\\0\\0\\x11\\0\\0\\0')")
    await_loss(client)
    assert state(client.run("print(1)")) == ("refused", "ended")


def test_interpreter_that_exits_between_cells_is_reported(client):
    client.open(policy=policy())
    between_cells(client, "os._exit(3)")
    await_loss(client)
    result = client.run("print(1)")
    assert state(result) == ("refused", "ended") and "variables are lost" in result["error"]["value"], result


def test_exit_of_process_ends_session(client):
    client.open(policy=policy())
    result = client.run("import os\nos._exit(7)")
    assert (*state(result), result["exit_code"]) == ("exit", "ended", 7)
    result = client.run("print(1)")
    assert "ended in cell 1 (exit)" in result["error"]["value"]


def test_child_processes_belong_to_session(client, remit):
    client.open(policy=policy(subprocess_execution=True, memory_fallback="per_process", cpu_seconds="unlimited"))
    code = "import os\nif os.fork() == 0:\n    import time\n    time.sleep(300)\nprint('parent')"
    for _ in range(3):
        assert client.out(code) == "parent\n"
    # A fork that returns into the runner does not become a second runner.
    assert client.out("pid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('both' if pid else 'child')") == "child\nboth\n"
    assert client.out("print('alive')") == "alive\n"
    assert state(client.request("close")) == ("ok", "ended")


def test_closed_stdout_stays_closed(client):
    client.open(policy=policy())
    client.run("import os\nprint('last', flush=True)\nos.close(1)")
    assert client.run("os.write(2, b'seen')")["stderr"] == "seen"
    assert state(client.request("close")) == ("ok", "ended")


def test_rejected_cell_does_not_end_session(client):
    client.open(policy=policy(blocked_imports=["socket"]))
    client.out("x = 1")
    assert state(client.run("import socket")) == ("rejected", "open")
    assert client.out("print(x)") == "1\n"


# ---- faults ----


def test_killed_client_ends_its_session(client, remit):
    client.open(policy=policy())
    client.begin_cell(FOREVER)
    client.process.kill()
    if client.shared:
        client.shared.until(lambda: not client.shared.status()["sessions"])


@pytest.mark.parametrize("cell", [None, FOREVER])
@pytest.mark.parametrize("start", ["cold", "warm"])
def test_killed_interpreter_ends_session(remit, start, cell):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.shared = shared
    if start == "warm":
        one.warm_up(policy=policy())
    one.open(policy=policy())
    assert one.run("x = 1")["start"] == start
    answer = one.begin_cell(cell) if cell else None
    kill(shared.status()["sessions"][0]["pid"])
    if answer:
        result = answer()
        assert (*state(result), result["signal"]) == ("killed", "ended", signal.SIGKILL), result
    else:
        await_loss(one)
    assert state(one.run("print(1)")) == ("refused", "ended")
    assert one.request("reset") == {}
    assert one.out("print('again')") == "again\n"
    one.leave()
    shared.close()


@pytest.mark.parametrize("cell", [None, FOREVER])
def test_killed_keeper_ends_session(remit, cell):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy())
    answer = one.begin_cell(cell) if cell else None
    family = shared.family()
    kill(shared.pid)
    shared.process.wait()
    reply = answer() if answer else one.run("print(1)")
    assert reply["failed"]["code"] == 4 and "gone" in reply["failed"]["message"], reply
    assert "unusable" in one.run("print(1)")["failed"]["message"]
    assert not leftovers.remaining(lambda: [pid for pid in family if is_alive(pid)])
    one.leave()
    remit("doctor", "--clean")


def test_killed_zygote_spares_sessions(remit):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.shared = shared
    one.warm_up(policy=policy())
    one.open(policy=policy())
    assert one.run("x = 1")["start"] == "warm"
    answer = one.begin_cell(UNTIL_INTERRUPTED + "print(x)")
    zygote = shared.zygote()["pid"]
    kill(zygote)
    shared.until(lambda: not is_alive(zygote))
    one.request("interrupt")
    assert answer()["stdout"] == "begun\ninterrupted\n1\n"
    assert one.out("print(x)") == "1\n"
    one.leave()
    shared.close()


def test_idle_sessions_do_not_block_runs(remit):
    """The maximum of sessions is open, and the maximum of concurrent runs still has slots."""
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    for i in range(64):
        one.open(session=str(i), policy=policy())
    assert shared.json("print(1)", "--python", PYTHON)["stdout"] == "1\n"
    shared.until(lambda: shared.status()["running"] == 0)
    status = shared.status()
    assert len(status["sessions"]) == 64
    assert {s["state"] for s in status["sessions"]} == {"idle"}
    one.leave()
    shared.close()


# ---- clients that break the protocol ----

# Frame types of src/wire/frame.h that a client sends, and the frames of a cell
POLICY, JOB, CODE, STDIN, STDIN_END, START, INTERRUPT, OPEN, RESET, CLOSE = 1, 2, 3, 4, 5, 6, 7, 28, 30, 31
PRINT = ((JOB, b""), (CODE, b"print(1)"), (STDIN_END, b""), (START, b""))
SLEEP = ((JOB, b""), (CODE, b"import time; time.sleep(1)"), (STDIN_END, b""), (START, b""))
OPENED, RESULT = 29, 10

BROKEN = [
    [(OPEN, b""), (OPEN, b"")],
    [(JOB, b""), (OPEN, b"")],
    [(OPEN, b"nonsense\0yes\0")],
    [(OPEN, b"half a record")],
    [(RESET, b"")],
    [(CLOSE, b"")],
    [(OPEN, b""), *PRINT],  # before the session is open
    [(OPEN, b""), "opened", (CODE, b"x")],
    [(OPEN, b""), "opened", (START, b"")],
    [(OPEN, b""), "opened", (POLICY, b"{}")],
    [(OPEN, b""), "opened", (JOB, b""), (JOB, b"")],
    [(OPEN, b""), "opened", (JOB, b""), (RESET, b"")],
    [(OPEN, b""), "opened", (JOB, b""), (CLOSE, b"")],
    [(OPEN, b""), "opened", (JOB, b"artifacts\0yes\0"), (START, b"")],
    [(OPEN, b""), "opened", *SLEEP, (RESET, b"")],
    [(OPEN, b""), "opened", *SLEEP, (CLOSE, b"")],
    [(OPEN, b""), "opened", *SLEEP, (JOB, b"")],
    [(OPEN, b""), "opened", (99, b"")],
    [(OPEN, b""), "opened", (CLOSE, b""), (CLOSE, b"")],
]
FINE = [
    [(OPEN, b""), "opened", (INTERRUPT, b""), (STDIN, b"late"), (STDIN_END, b""), *PRINT, "result", (STDIN, b"late"), *PRINT, "result"],
    [(OPEN, b""), "opened", (RESET, b""), "opened", *PRINT, "result", (CLOSE, b""), "result"],
    [(OPEN, b""), "opened", (CLOSE, b""), "result"],
]


class RawClient:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(60)
        self.bytes = b""

    def next(self) -> tuple[int, bytes] | None:
        """The next frame, or None at the end."""
        while len(self.bytes) < 8 or len(self.bytes) < 8 + int.from_bytes(self.bytes[:4], "little"):
            piece = self.socket.recv(65536)
            if not piece:
                return None
            self.bytes += piece
        end = 8 + int.from_bytes(self.bytes[:4], "little")
        kind, payload = self.bytes[4], self.bytes[8:end]
        self.bytes = self.bytes[end:]
        return kind, payload

    def until(self, kind: int) -> bytes:
        while (frame := self.next())[0] != kind:
            pass
        return frame[1]

    def perform(self, steps) -> None:
        for step in steps:
            if isinstance(step, str):
                self.until({"opened": OPENED, "result": RESULT}[step])
            else:
                kind, payload = step
                self.socket.sendall(len(payload).to_bytes(4, "little") + bytes((kind, PROTOCOL, 0, 0)) + payload)


def as_user(remit):
    """A keeper accepts only clients of its own user."""
    if not remit.by_root and os.geteuid() == 0:
        os.seteuid(os.stat(remit.folder).st_uid)


def test_protocol_violation_ends_only_its_session(remit):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy())
    one.out("x = 1")
    try:
        as_user(remit)
        for steps in BROKEN:
            client = RawClient(shared.path)
            try:
                client.perform(steps)
                while (frame := client.next()) and frame[0] != RESULT:
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
            client.socket.close()
        for steps in FINE:
            client = RawClient(shared.path)
            client.perform(steps)
            client.socket.close()
        # A client may leave at every step.
        for steps in (*BROKEN, *FINE):
            for n in range(len(steps)):
                client = RawClient(shared.path)
                # The keeper may close the connection before the last frame.
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    client.perform([s for s in steps[:n] if not isinstance(s, str)])
                client.socket.close()
    finally:
        if os.geteuid() != os.getuid():
            os.seteuid(0)
    assert one.out("print(x)") == "1\n"
    shared.until(lambda: len(shared.status()["sessions"]) == 1)
    shared.until(lambda: shared.status()["running"] == 0)
    one.leave()
    shared.close()


# ---- tiers and refusals ----


def test_unenforceable_policy_is_refused_at_open(client):
    reply = client.request("open", policy=policy(package_installation=True, package_offline=True))["failed"]
    assert reply["where"] == "package_installation" and reply["remedy"], reply
    reply = client.request("open", policy=policy(tier="static"))["failed"]
    assert reply["where"] == "tier" and "runs no code" in reply["message"], reply
    reply = client.request("open", policy={"nonsense": 1})["failed"]
    assert "nonsense" in reply["message"], reply


def test_session_works_in_tier_landlock(remit, covers):
    one = SessionClient(remit, {"REMIT_KEEPER": ""})
    lifted = {"memory_fallback": "per_process", "processes": "unlimited", "disk_bytes": "unlimited", "files": "unlimited"}
    one.open(policy=policy(tier="landlock", session_idle="4s", cpu_seconds="1s", timeout="100s", **lifted))
    name = name_interpreter(one)
    one.out("x = 1")
    assert one.out("print(x, input())", stdin="in", files=[("f", "f")]) == "1 in\n"
    over = one.run("while True: pass")
    assert state(over) == ("cpu_limit", "open"), over
    covers(remit, "cpu_seconds", *enforced(over, "cpu_seconds"), tier="landlock")
    covers(remit, "session_idle", *enforced(over, "session_idle"), tier="landlock")
    assert not leftovers.remaining(lambda: leftovers.threads_named(name))
    assert "session_idle" in one.run("print(x)")["error"]["value"]
    one.leave()
    assert not leftovers.remaining(lambda: leftovers.workspaces(remit))


def test_session_works_in_tier_unsafe(remit, covers):
    one = SessionClient(remit, {"REMIT_KEEPER": ""})
    one.open(policy=policy(tier="unsafe", session_idle="4s"))
    name = name_interpreter(one)
    one.out("x = 1")
    late = one.run(FOREVER, timeout_ms=300)
    assert state(late) == ("timeout", "open"), late
    covers(remit, "session_idle", *enforced(late, "session_idle"), tier="unsafe")
    assert one.out("print(x)") == "1\n"
    assert not leftovers.remaining(lambda: leftovers.threads_named(name))
    assert "session_idle" in one.run("print(x)")["error"]["value"]
    one.leave()


def test_sessions_are_listed_and_cells_are_logged(remit):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy())
    id = one.run("x = 1")["run_id"]
    (row,) = shared.status()["sessions"]
    assert (row["state"], row["cells"], row["tier"]) == ("idle", 1, "local") and row["memory_bytes"] > 0, row
    shown = remit("status", env=shared.env).stdout
    assert row["id"] in shown and "SESSION" in shown
    assert id in remit("logs", env=shared.env).stdout
    one.request("close")
    shared.until(lambda: shared.status()["sessions"] == [])
    one.leave()
    shared.close()


def test_each_cell_is_line_of_audit(remit):
    path = remit.folder / f"audit-{time.monotonic_ns()}.jsonl"
    shared = share(remit, "--audit", path)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy())
    ids = [one.run(code)["run_id"] for code in ("x = 1", "1/0")]
    ids.append(one.request("close")["run_id"])
    one.leave()
    shared.close()
    lines = path.read_text()
    assert [id in lines for id in ids] == [True] * 3 and lines.count("\n") == 3, lines


def test_cells_leak_no_descriptor_of_keeper(remit):
    shared = share(remit)
    one = SessionClient(remit, shared.env)
    one.open(policy=policy())
    one.out("x = 1")
    shared.until(shared.is_full)

    def count():
        return len(os.listdir(f"/proc/{shared.pid}/fd"))

    before = count()
    for _ in range(50):
        one.out("x += 1", stdin="a")
    shared.until(lambda: count() <= before)
    one.request("close")
    one.leave()
    shared.close()
