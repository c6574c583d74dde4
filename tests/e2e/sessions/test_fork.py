"""Branches of a session: independent copies, as a program that uses libremit sees them."""

from __future__ import annotations

import time

import leftovers
import pytest
from conftest import PYTHON
from session_client import DEAF, DEAF_MS, FOREVER, UNTIL_INTERRUPTED, SessionClient
from shared_keeper import SharedKeeper, is_alive, kill
from waiting import until


def policy(**more) -> dict:
    return {"python": PYTHON, **more}


@pytest.fixture(params=["private", "shared"])
def client(request, remit):
    """A client with a private keeper, cold, or with a shared one, warm."""
    shared = SharedKeeper(remit) if request.param == "shared" else None
    one = SessionClient(remit, shared.env if shared else {"REMIT_KEEPER": ""})
    one.shared = shared
    if shared:
        one.warm_up(policy=policy(), forkable=1)
    yield one
    one.leave()
    if shared:
        shared.close()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"
    assert not leftovers.remaining(leftovers.groups), "groups are left"
    assert not leftovers.mounts()


def begin(client, code="", **more) -> None:
    client.open(policy=policy(**more), forkable=1)
    assert client.run(code)["status"] == "ok"


def fork(client, branch="b", session="s", **more) -> None:
    reply = client.request("fork", branch=branch, session=session, **more)
    assert "failed" not in reply, reply


def refusal(client, branch="b", session="s") -> dict:
    reply = client.request("fork", branch=branch, session=session)
    assert "failed" in reply, reply
    return reply["failed"]


def test_branch_copies_variables_files_and_folder(client):
    begin(client, "import os\nx = [1]\nos.makedirs('d/e')\nopen('d/f', 'w').write('both')\nos.chdir('d')")
    fork(client)
    assert client.out("x.append('session')\nopen('f', 'a').write(' session')\nprint(x, open('f').read(), os.getcwd())") == "[1, 'session'] both session /workspace/d\n"
    assert client.out("x.append('branch')\nopen('f', 'a').write(' branch')\nprint(x, open('f').read(), os.getcwd())", session="b") == "[1, 'branch'] both branch /workspace/d\n"
    assert client.out("os.remove('f')\nos.chdir('/tmp')\nopen('only', 'w').close()\nprint(os.listdir('/workspace/d'))", session="b") == "['e']\n"
    assert client.out("print('only' in os.listdir('/tmp'), sorted(os.listdir('.')), os.getcwd())") == "False ['e', 'f'] /workspace/d\n"


def test_branch_is_ordinary_session(client):
    begin(client, "x = 1")
    fork(client)
    first = client.run("x += 1\nx", session="b")
    assert first["start"] == "branch" and first["value"]["text"] == "2", first
    mine = client.run("x")
    assert first["session"]["branch_of"] == mine["session"]["id"] != first["session"]["id"]
    assert mine["session"]["branch_of"] is None
    failed = client.run("1 / 0", session="b")
    assert failed["status"] == "error" and failed["session"]["state"] == "open"
    assert client.out("print(input())", session="b", stdin="a line\n") == "a line\n"
    assert "failed" not in client.request("reset", session="b")
    fresh = client.run("'x' in globals()", session="b")
    assert fresh["value"]["text"] == "False" and fresh["session"]["branch_of"] is None
    assert client.request("close", session="b")["status"] == "ok"
    assert client.request("close")["status"] == "ok"


def test_branch_of_branch_outlives_both(client):
    begin(client, "x = 'root'\nopen('f', 'w').write(x)")
    fork(client, "one")
    client.run("x = 'one'\nopen('f', 'w').write(x)", session="one")
    fork(client, "two", "one")
    client.run("x = 'two'", session="two")
    assert client.request("close", session="one")["status"] == "ok"
    assert client.request("drop") == {}
    assert client.out("print(x, open('f').read())", session="two") == "two one\n"
    fork(client, "three", "two")
    assert client.out("print(x, open('f').read())", session="three") == "two one\n"


def test_sibling_branches_are_separate(client):
    begin(client, "import os\nseen = []")
    for name in "abc":
        fork(client, name)
    for name in "abc":
        assert client.out(f"seen.append({name!r})\nopen({name!r}, 'w').close()\nprint(seen, sorted(os.listdir('.')))", session=name) == f"['{name}'] ['{name}']\n"
    assert client.out("print(seen, os.listdir('.'))") == "[] []\n"


def test_branches_share_no_random_state(client):
    code = "import random, uuid, tempfile, os\nrandom.seed(1)\ntempfile.mkdtemp()"
    begin(client, code)
    fork(client, "b")
    fork(client, "c")
    draw = "print(random.random(), os.urandom(4), uuid.uuid4(), tempfile.mktemp())"
    reply = [client.out(draw, session=name) for name in ("s", "b", "c")]
    for column in zip(*(line.split() for line in reply)):
        assert len(set(column)) == 3, reply


def test_branch_copies_all_kinds_of_files(client):
    begin(client, """
import os
os.mkdir('deep'); os.symlink('deep', 'link'); os.symlink('/nowhere', 'broken')
open('a', 'w').write('one'); os.link('a', 'deep/b')
with open('holes', 'wb') as f: f.seek(200 << 20); f.write(b'end')
open('mine', 'w').close(); os.chmod('mine', 0o640); os.utime('mine', (1, 2))
os.mkdir('closed'); open('closed/in', 'w').write('in'); os.chmod('closed', 0)
open('/tmp/t', 'w').write('t'); open('/dev/shm/s', 'w').write('s')
del f
""", disk_bytes="16M")
    fork(client)
    assert client.out("""
st = os.stat('mine')
print(os.readlink('link'), os.readlink('broken'), open('link/b').read(), os.stat('a').st_nlink, oct(st.st_mode & 0o777), int(st.st_mtime))
open('a', 'a').write('+'); print(open('deep/b').read(), os.stat('holes').st_size, os.stat('holes').st_blocks < 100)
os.chmod('closed', 0o700); print(open('closed/in').read(), open('/tmp/t').read(), open('/dev/shm/s').read())
""", session="b") == "deep /nowhere one 2 0o640 2\none+ 209715203 True\nin t s\n"
    assert client.out("print(open('a').read())") == "one\n"


# ---- ends ----


@pytest.mark.parametrize("ends", ["import os\nos._exit(3)", "import os\nos.kill(os.getpid(), 9)", "import ctypes\nctypes.string_at(0)", "import os\nos.kill(0, 9)"])
def test_session_dies_without_its_branch(client, ends):
    begin(client, "x = 1")
    fork(client)
    died = client.run(ends)
    assert died["session"]["state"] == "ended" and died["status"] in ("exit", "killed", "crashed", "error"), died
    assert client.out("x += 1\nprint(x)", session="b") == "2\n"
    assert client.run("x")["status"] == "refused"
    assert "failed" not in client.request("reset")
    assert client.out("print('again')") == "again\n"


@pytest.mark.parametrize("ends", ["import os\nos._exit(3)", "import os\nos.kill(os.getpid(), 9)", "import os\nos.kill(0, 9)"])
def test_branch_dies_without_its_session(client, ends):
    begin(client, "x = 1")
    fork(client)
    died = client.run(ends, session="b")
    assert died["session"]["state"] == "ended", died
    if "_exit" in ends:
        assert (died["status"], died["exit_code"]) == ("exit", 3), died
    else:
        assert died["signal"] in ("SIGKILL", 9), died
    assert client.out("x += 1\nprint(x)") == "2\n"
    fork(client, "c")
    assert client.out("print(x)", session="c") == "2\n"


def test_branch_has_separate_timeout(client):
    begin(client)
    fork(client)
    slow = client.begin_cell(DEAF, session="b", timeout_ms=DEAF_MS)
    assert client.out("print('meanwhile')") == "meanwhile\n"
    late = slow()
    assert late["status"] == "timeout" and late["session"]["state"] == "ended", late
    assert client.out("print('after')") == "after\n"


def test_interrupt_reaches_one_branch_only(client):
    begin(client)
    fork(client)
    waits = client.begin_cell(FOREVER, session="b")
    client.request("interrupt", session="b")
    assert waits()["error"]["name"] == "KeyboardInterrupt"
    assert client.out("print('whole')", session="b") == "whole\n"


# ---- limits of each branch ----


def test_branches_have_separate_disk_and_memory(client):
    begin(client, "open('f', 'wb').write(bytes(6 << 20))", disk_bytes="10M", memory_bytes="600M")
    fork(client)
    fill = "try: open('g', 'wb').write(bytes(8 << 20))\nexcept OSError as e: print(e.errno)\nimport os; os.remove('g')"
    for name in ("s", "b"):
        assert client.out(fill, session=name) == "28\n"
        assert client.out("print(open('h', 'wb').write(bytes(3 << 20)))", session=name) == "3145728\n"
    big = client.run("x = bytearray(900 << 20)", session="b")
    assert big["status"] == "memory_limit" or big["error"]["name"] == "MemoryError", big
    assert client.out("y = bytearray(100 << 20)\nprint(len(y))") == "104857600\n"


def test_branches_have_separate_denials_and_usage(client):
    begin(client)
    fork(client)
    refused = client.run("import socket\ntry: socket.socket()\nexcept OSError: pass", session="b")
    assert [d["syscall"] for d in refused["denials"]] == ["socket"], refused
    assert client.run("pass")["denials"] == []
    busy = client.run("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass", session="b")
    assert 250 < busy["usage"]["cpu_ms"] < 2000, busy
    assert client.run("pass")["usage"]["cpu_ms"] < 250


# ---- refusals ----


@pytest.mark.parametrize(
    ("code", "why", "release"),
    [
        ("import threading, time\nstop = threading.Event()\nt = threading.Thread(target=stop.wait)\nt.start()", "other threads", "stop.set()\nt.join()"),
        ("f = open('f', 'w')", "open", "f.close()"),
        ("f = open('/workspace/r', 'w+'); g = open('/workspace/r')", "open", "f.close(); g.close()"),
        ("import os\np = os.pipe()", "open", "[os.close(n) for n in p]"),
        ("import mmap\nm = mmap.mmap(-1, 4096)", "memory", "m.close()"),
        ("import mmap\nwith open('f', 'wb') as f: f.write(b'x' * 4096)\nwith open('f', 'rb') as f: m = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)", "the copy would share", "m.close()"),
        ("import asyncio\nasync def f(): await asyncio.sleep(60)\nt = asyncio.get_running_loop().create_task(f()) if False else None\nasync def g():\n    global t\n    t = asyncio.ensure_future(f())\nawait g()", "tasks", "t.cancel()\nawait asyncio.sleep(0)"),
    ],
    ids=["thread", "file", "files", "pipe", "shared-memory", "mapped-file", "tasks"],
)  # fmt: skip
def test_resource_that_both_would_share_blocks_fork(client, code, why, release):
    begin(client, "x = 1")
    made = client.run(code)
    if made["status"] != "ok":  # shared memory that no limit counts is refused anyway
        assert "mmap.mmap(-1" in code and made["error"]["name"] == "OSError", str(made)
        return
    reply = refusal(client)
    assert why in reply["message"] and reply["remedy"], reply
    assert client.out("print(x)") == "1\n"
    assert client.run(release)["status"] == "ok"
    # Python reports a thread's end before the kernel does.
    until(lambda: "other threads" not in client.request("fork", branch="b").get("failed", {"message": ""})["message"])
    assert client.out("print(x)", session="b") == "1\n"


def test_idle_event_loop_does_not_block_fork(client):
    begin(client, "import asyncio\nawait asyncio.sleep(0)")
    fork(client)
    for name in ("s", "b"):
        assert client.out("await asyncio.sleep(0.01)\nprint('waited')", session=name) == "waited\n"


def test_session_not_opened_as_forkable_is_not_forked(client):
    client.open(policy=policy())
    reply = refusal(client)
    assert reply["where"] == "forkable" and reply["remedy"], reply
    assert client.out("print('goes on')") == "goes on\n"


def test_busy_session_is_not_forked(client):
    begin(client)
    busy = client.begin_cell(UNTIL_INTERRUPTED)
    assert "busy" in refusal(client)["message"]
    client.request("interrupt")
    assert busy()["status"] == "ok"
    fork(client)


def test_lost_session_is_not_forked(client):
    begin(client)
    client.run("import os\nos._exit(0)")
    assert "has ended" in refusal(client)["message"]


def test_branches_are_limited_in_number(client, remit, covers):
    begin(client, branches=2)
    fork(client, "a")
    fork(client, "b", "a")
    for name in ("s", "a", "b"):
        reply = refusal(client, "more", name)
        assert reply["where"] == "branches" and "2" in reply["message"], reply
    row = next(r for r in client.run("")["enforcement"] if r["field"] == "branches")
    assert row["mechanisms"] == ["seccomp"] and row["value"] == 2, row
    covers(remit, "branches", "seccomp")


@pytest.mark.parametrize(
    ("more", "field"),
    [({"subprocess_execution": True}, "subprocess_execution"), ({"network_access": True}, "network_access"), ({"tier": "landlock", "disk_bytes": "unlimited"}, "tier")],
)
def test_unforkable_policy_is_refused_at_open(client, more, field):
    reply = client.request("open", policy=policy(**more), forkable=1)
    assert reply["failed"]["where"] == field and reply["failed"]["remedy"], reply


def test_nesting_of_branches_is_limited_by_kernel(client):
    begin(client, branches=64)
    name, depth = "s", 0
    while depth < 40:
        reply = client.request("fork", branch=f"d{depth}", session=name)
        if "failed" in reply:
            break
        name = f"d{depth}"
        depth += 1
    assert 10 < depth < 33 and reply["failed"]["where"] == "branches" and "deep" in reply["failed"]["message"], (depth, reply)
    assert client.out("print('deep')", session=name) == "deep\n"


# ---- artifacts and remains ----


def test_branches_export_separately(client, remit):
    begin(client, "open('a.txt', 'w').write('both')", artifact_export_paths=["*.txt"])
    fork(client, artifacts=str(remit.folder / f"branch-{time.monotonic_ns()}"))
    assert client.run("open('b.txt', 'w').write('branch')", session="b")["status"] == "ok"
    client.run("open('s.txt', 'w').write('session')")
    assert client.request("close")["status"] == "ok"
    left = client.request("close", session="b")
    assert sorted(a["path"] for a in left["artifacts"]) == ["a.txt", "b.txt"], left


def test_idle_session_ends_without_its_branch(client):
    begin(client, "x = 1", session_idle="6s")
    fork(client)
    for _ in range(3):
        assert client.out("import time\ntime.sleep(3.5)\nprint(x)", session="b") == "1\n"
    assert "session_idle" in client.run("x")["error"]["value"]


def test_killed_client_leaves_no_branches(client):
    begin(client, "x = bytes(1 << 20)")
    fork(client, "a")
    fork(client, "b", "a")
    fork(client, "c")
    for name in ("b", "s"):
        client.begin_cell("print('begun', flush=True)\nwhile True: pass", session=name)
    client.process.kill()


def test_killed_keeper_takes_branches_with_it(remit):
    shared = SharedKeeper(remit)
    one = SessionClient(remit, shared.env)
    begin(one)
    fork(one, "a")
    fork(one, "b", "a")
    family = shared.family()
    kill(shared.pid)
    shared.process.wait()
    assert "gone" in one.run("1", session="b")["failed"]["message"]
    assert not leftovers.remaining(lambda: [pid for pid in family if is_alive(pid)])
    one.leave()
    remit("doctor", "--clean")
