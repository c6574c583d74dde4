"""Paused sandboxes and snapshots: requests as E2B's clients send them. (For the clients themselves see
test_e2b_clients.py; for the files on disk tests/unit/hosted/test_snapshot_store.c.)"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import leftovers
import pytest
from conftest import make_remit, users
from served import Served, serve
from test_e2b import Box, boxed, of
from waiting import until


@pytest.fixture(params=users())
def kept(request, stage):
    """A user, and a directory for the server's state, which must be empty of sandboxes at the end."""
    remit = make_remit(request.param, stage)
    remit.state = remit.folder / "state"
    shutil.rmtree(remit.state, ignore_errors=True)
    yield remit
    shutil.rmtree(remit.state, ignore_errors=True)
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@contextlib.contextmanager
def storing(remit, *flags: str):
    with serve(remit, "--state", remit.state, *flags) as s:
        yield s


@contextlib.contextmanager
def doomed(remit, *flags: str):
    """A server that is killed at the end of the block."""
    stack = contextlib.ExitStack()
    s = stack.enter_context(storing(remit, *flags))
    try:
        yield s
    finally:
        s.process.kill()
        s.process.wait()
        with contextlib.suppress(AssertionError):  # its exit status is not 0
            stack.close()


def peak_bytes(served: Served) -> int:
    """The server's peak memory in bytes."""
    (kib,) = re.findall(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{served.process.pid}/status").read_text())
    return int(kib) * 1024


def objects(remit) -> list[pathlib.Path]:
    return list(remit.state.glob("snapshots/*/objects/*"))


def say(box: Box, code: str) -> str:
    lines = box.execute(code)
    assert not of(lines, "error"), of(lines, "error")[0]["traceback"]
    return "".join(line["text"] for line in of(lines, "stdout"))


def pause(box: Box, status: int = 204, **body) -> dict:
    got, _, text = box.served.request("POST", f"/sandboxes/{box.id}/pause", {"memory": False, **body})
    assert got == status, (got, text)
    return json.loads(text or b"{}")


def resume(served: Served, box: Box, status: int = 201, **body) -> Box:
    """Connect to a paused sandbox as its client does, which keeps its token."""
    about = served.json("POST", f"/v2/sandboxes/{box.id}/connect", body, status=status)
    if status < 300:
        assert about == box.about
    box.served = served
    return box


def left(info: dict) -> float:
    """The seconds until a sandbox ends."""
    end = datetime.datetime.fromisoformat(info["endAt"].replace("Z", "+00:00"))
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def snapshot(box: Box, status: int = 201, **body) -> dict:
    return box.served.json("POST", f"/sandboxes/{box.id}/snapshots", {"memory": False, **body}, status=status)


TREE = """
import os, stat
os.makedirs('d/empty'); os.makedirs('d/deep')
open('d/run', 'w').write('#!/bin/sh')
os.chmod('d/run', 0o750); os.utime('d/run', ns=(10**18, 10**18))
os.link('d/run', 'd/second name')
os.symlink('/etc/passwd', 'd/away'); os.symlink('run', 'd/near'); os.symlink('nowhere', 'broken')
open(b'odd \\xff\\n name', 'w').write('odd')
open('-', 'w').close()
open('big', 'wb').write(bytes(range(256)) * 40000)
os.chmod('d/empty', 0o500); os.utime('d/deep', ns=(10**18, 10**18))
x = 41
"""
SHOWN = """
import os, stat, hashlib
for base, folders, files in sorted(os.walk(b'.')):
    for name in sorted(folders + files):
        path = os.path.join(base, name); st = os.lstat(path)
        print(path, stat.filemode(st.st_mode), os.readlink(path) if os.path.islink(path) else '',
              st.st_mtime_ns if st.st_mtime_ns == 10**18 else '',
              hashlib.sha256(open(path, 'rb').read()).hexdigest()[:8] if stat.S_ISREG(st.st_mode) else '')
"""


def test_paused_sandbox_comes_back_with_its_files_after_restart(kept):
    with doomed(kept) as served:
        box = Box(served, timeout=1000, metadata={"who": "me & you"}, envVars={"NAME": "value"})
        say(box, TREE)
        shown = say(box, SHOWN)
        assert "drwx" in shown and "-rwxr-x---" in shown and "l" in shown and "/etc/passwd" in shown, shown
        pause(box)
        info = served.json("GET", f"/sandboxes/{box.id}")
        assert info["state"] == "paused" and info["metadata"] == {"who": "me & you"} and info["diskSizeMB"] and info["skippedFiles"] == []
        assert "envdAccessToken" not in info
        assert [s["state"] for s in served.json("GET", "/v2/sandboxes")] == ["paused"]
        assert served.json("GET", "/v2/sandboxes?state=running") == []
        assert [s["sandboxID"] for s in served.json("GET", "/v2/sandboxes?state=paused&metadata=who%3Dme%2520%2526%2520you")] == [box.id]
        assert served.json("GET", "/v2/sandboxes?state=paused&metadata=who%3Dother") == []
        assert box.request("GET", "/health")[0] == 502
        pause(box, 409)
        served.wait_for_no_hosted_sessions()
        # Files of other users cannot be seen, and equal ones are stored once.
        assert (kept.state / "snapshots").stat().st_mode & 0o777 == 0o700 and len(objects(kept)) == 4
    with storing(kept) as served:
        resume(served, box)
        assert say(box, SHOWN) == shown
        info = served.json("GET", f"/sandboxes/{box.id}")
        assert info["state"] == "running" and info["metadata"] == {"who": "me & you"}
        # The interpreter is another one, and has the variables that the client gave.
        assert of(box.execute("x"), "error")[0]["name"] == "NameError"
        assert say(box, "import os; print(os.environ['NAME'])") == "value\n"
        assert box.request("GET", "/files?path=d/run")[2] == b"#!/bin/sh"
        # The client named no time, so the sandbox keeps what it had left.
        assert left(info) > 800 and objects(kept) == []
        say(box, "open('more', 'w').write('1')")
        pause(box)
        resume(served, box, timeout=300)
        assert say(box, "print(open('more').read())") == "1\n"
        resume(served, box, status=200)
        box.kill()
        resume(served, box, status=404)
        assert served.json("GET", "/sandboxes") == []


def test_paused_sandboxes_keep_their_place_in_lists(kept):
    with storing(kept) as served, boxed(served) as first, boxed(served) as second:
        started = served.json("GET", f"/sandboxes/{first.id}")["startedAt"]
        pause(first)
        listed = served.json("GET", "/v2/sandboxes")
        assert [s["sandboxID"] for s in listed] == [second.id, first.id] and listed[1]["startedAt"] == started, listed
        resume(served, first)


def test_killed_paused_sandbox_leaves_nothing(kept):
    with storing(kept) as served:
        box = Box(served)
        say(box, TREE)
        pause(box)
        assert objects(kept)
        box.kill()
        assert served.json("GET", "/sandboxes") == [] and objects(kept) == []
        assert served.request("DELETE", f"/sandboxes/{box.id}")[0] == 404
        resume(served, box, status=404)


def test_memory_is_refused_unless_server_or_client_accepts_files_only(kept):
    wishes = ({}, {"memory": True}, {"memory": None})
    with storing(kept) as served, boxed(served) as box:
        for wish in wishes:
            for path in ("pause", "snapshots"):
                said = served.json("POST", f"/sandboxes/{box.id}/{path}", wish, status=400)["message"]
                assert "memory" in said and "keep_memory=False" in said and "--pause-files-only" in said
        assert "boolean" in pause(box, 400, memory=1)["message"]
        assert served.request("POST", "/sandboxes", {"autoPause": True})[0] == 400
        assert served.request("POST", "/sandboxes", {"autoPause": True, "autoPauseMemory": True})[0] == 400
        assert say(box, "print(1)") == "1\n"
    with storing(kept, "--pause-files-only") as served:
        for wish in wishes:
            box = Box(served)
            say(box, "open('a', 'w').write('kept')")
            assert served.request("POST", f"/sandboxes/{box.id}/pause", wish)[0] == 204
            assert say(resume(served, box), "print(open('a').read())") == "kept\n"
            box.kill()
    with serve(kept) as served, boxed(served) as box:
        assert "--state" in pause(box, 400)["message"] and "--state" in snapshot(box, 400)["message"]
    said = kept("serve", "--pause-files-only")
    assert said.returncode and "--state" in said.stderr


def test_sandbox_is_paused_at_the_end_of_its_time(kept):
    with storing(kept) as served:
        box = Box(served, timeout=600, autoPause=True, autoPauseMemory=False)
        other = Box(served, timeout=600)
        assert served.json("GET", f"/sandboxes/{box.id}")["lifecycle"] == {"onTimeout": "pause", "autoResume": False}
        assert served.json("GET", f"/sandboxes/{other.id}")["lifecycle"]["onTimeout"] == "kill"
        say(box, "open('a', 'w').write('kept')")
        before = served.json("GET", f"/sandboxes/{box.id}")["endAt"]
        served.json("POST", f"/sandboxes/{box.id}/connect", {"timeout": 5})
        assert served.json("GET", f"/sandboxes/{box.id}")["endAt"] == before
        served.json("POST", f"/sandboxes/{box.id}/connect", {"timeout": 1000})
        assert served.json("GET", f"/sandboxes/{box.id}")["endAt"] > before
        for one in (box, other):
            assert served.request("POST", f"/sandboxes/{one.id}/timeout", {"timeout": 0})[0] == 204
        until(lambda: [s["state"] for s in served.json("GET", "/sandboxes")] == ["paused"], "it is not paused")
        # It had no time left, gets the default, and pauses at its end again.
        assert say(resume(served, box), "print(open('a').read())") == "kept\n"
        assert left(served.json("GET", f"/sandboxes/{box.id}")) > 200
        assert served.json("GET", f"/sandboxes/{box.id}")["lifecycle"]["onTimeout"] == "pause"
        assert served.request("POST", f"/sandboxes/{box.id}/timeout", {"timeout": 0})[0] == 204
        until(lambda: [s["state"] for s in served.json("GET", "/sandboxes")] == ["paused"], "it is not paused")
        box.kill()
    # Without space the sandbox ends like others.
    with storing(kept, "--max-snapshots", "1") as served:
        with boxed(served) as first:
            snapshot(first)
            box = Box(served, timeout=1, autoPause=True, autoPauseMemory=False)
            until(lambda: [s["sandboxID"] for s in served.json("GET", "/sandboxes")] == [first.id], "it is not ended")


def test_running_cell_is_interrupted_by_a_pause(kept):
    with storing(kept, "--timeout", "1h") as served:
        box = Box(served)
        with box.executing("open('begun', 'w').write('1')\nprint('on', flush=True)\nimport time; time.sleep(3000)"):
            pause(box)
        assert say(resume(served, box), "import os; print(os.listdir())") == "['begun']\n"


def test_commands_end_with_a_pause_and_new_ones_start_after_it(kept):
    with storing(kept, "--subprocess", "--memory-fallback", "per_process", "--cpu", "unlimited") as served:
        box = Box(served)
        assert box.command("echo kept >a; (sleep 3000 >/dev/null 2>&1 &); mkfifo pipe")[-1]["last"]
        pause(box)
        piped = [s.split(":")[0] for s in served.json("GET", f"/sandboxes/{box.id}")["skippedFiles"]]
        assert piped in ([], ["pipe"])
        served.wait_for_no_hosted_sessions()
        messages = resume(served, box).command("cat a; ls")
        said = "".join(base64.b64decode(m["event"]["data"].get("stdout", "")).decode() for m in messages if "data" in m.get("event", {}))
        assert said.split() == ["kept", "a"], messages
        box.kill()


def test_snapshot_makes_sandboxes_that_are_independent(kept):
    with storing(kept) as served:
        with boxed(served, metadata={"a": "b"}, envVars={"NAME": "old"}) as box:
            say(box, "open('a', 'w').write('first'); x = 1")
            made = snapshot(box, name="mine:v1")
            assert made["names"] == ["mine:v1"] and made["skippedFiles"] == []
            # The sandbox goes on.
            assert say(box, "print(x); open('a', 'w').write('second')") == "1\n"
            other = snapshot(box)
        listed = [{k: m[k] for k in ("snapshotID", "names")} for m in (other, made)]
        assert served.json("GET", "/snapshots") == listed
        assert served.json("GET", f"/snapshots?sandboxID={box.id}") == listed and served.json("GET", "/snapshots?sandboxID=x") == []
        assert served.json("GET", "/snapshots?name=mine:v1") == listed[1:]
        _, headers, text = served.request("GET", "/snapshots?limit=1")
        assert json.loads(text) == listed[:1] and served.json("GET", f"/snapshots?nextToken={headers['x-next-token']}") == listed[1:]
        assert served.json("GET", "/sandboxes") == []
        assert served.json("GET", "/templates/aliases/mine:v1")["templateID"] == "mine:v1"
        with boxed(served, templateID="mine:v1") as one, boxed(served, templateID=made["snapshotID"], envVars={"NAME": "new"}) as two:
            info = served.json("GET", f"/sandboxes/{one.id}")
            assert info["templateID"] == made["snapshotID"] and info["metadata"] == {}
            assert say(one, "import os; print(open('a').read(), os.environ['NAME']); open('a', 'w').write('changed')") == "first old\n"
            assert say(two, "import os; print(open('a').read(), os.environ['NAME'])") == "first new\n"
            assert of(one.execute("x"), "error")
        with boxed(served, templateID=other["snapshotID"]) as one:
            assert say(one, "print(open('a').read())") == "second\n"
        assert served.request("DELETE", f"/templates/{made['snapshotID']}")[0] == 204
        assert served.request("DELETE", f"/templates/{made['snapshotID']}")[0] == 404
        assert served.request("DELETE", "/templates/base")[0] == 403
        assert served.json("POST", "/sandboxes", {"templateID": "mine:v1"}, status=404)["code"] == 404
        assert served.request("DELETE", f"/templates/{other['snapshotID']}")[0] == 204
        assert objects(kept) == []


def test_names_of_snapshots_are_plain(kept):
    with storing(kept) as served, boxed(served) as box:
        for name in ("", "a b", "x" * 129, "ü", "base", 5):
            assert "name" in snapshot(box, 400, name=name)["message"]
        assert served.json("GET", "/snapshots") == []


def test_restrictions_of_the_network_are_inherited(kept):
    with storing(kept, "--allow-host", "*", "--net", "--memory-fallback", "per_process") as served:
        with boxed(served, allow_internet_access=False) as box:
            assert not served.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
            made = snapshot(box)["snapshotID"]
        with boxed(served, templateID=made) as box:
            assert not served.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
            pause(box)
            assert not served.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
            resume(served, box)
            assert not served.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
        with boxed(served, templateID=made, allow_internet_access=True) as box:
            assert served.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]


def test_sandbox_with_secret_headers_is_not_stored(kept):
    wish = {"network": {"rules": {"a.test": [{"transform": {"headers": {"Authorization": "secret"}}}]}, "allowOut": ["a.test"], "denyOut": ["0.0.0.0/0"]}}
    with storing(kept, "--memory-fallback", "per_process") as served:
        with boxed(served, **wish) as box:
            assert "headers" in pause(box, 400)["message"] and "headers" in snapshot(box, 400)["message"]
        assert "headers" in served.json("POST", "/sandboxes", {**wish, "autoPause": True, "autoPauseMemory": False}, status=400)["message"]
        assert not any(b"secret" in path.read_bytes() for path in kept.state.rglob("*") if path.is_file())


def test_stored_sandboxes_of_another_key_do_not_exist(kept):
    path = kept.folder / "pause-keys"
    path.unlink(missing_ok=True)
    a, b = (kept("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("a", "b"))
    with serve(kept, "--keys", path, "--state", kept.state) as two:
        two.token = a
        box, source = Box(two), Box(two)
        say(box, "open('a', 'w').write('same')")
        pause(box)
        made = snapshot(source, name="shared")["snapshotID"]
        for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/connect"), ("POST", "/resume"), ("POST", "/pause"), ("POST", "/snapshots")):
            for one in (box, source):
                assert two.request(method, f"/sandboxes/{one.id}{tail}", {} if method == "POST" else None, token=b)[0] == 404, (method, tail)
        assert two.json("GET", "/sandboxes", token=b) == [] and two.json("GET", "/snapshots", token=b) == []
        for name in (made, "shared", box.id):
            assert two.json("POST", "/sandboxes", {"templateID": name}, status=404, token=b)["code"] == 404
            assert two.request("DELETE", f"/templates/{name}", token=b)[0] == 404
            assert two.request("GET", f"/templates/aliases/{name}", token=b)[0] == 404
        # A paused sandbox is not a template, and the token of a sandbox does not open snapshots.
        assert two.json("POST", "/sandboxes", {"templateID": box.id}, status=404)["code"] == 404
        assert two.request("GET", "/snapshots", headers={"X-Access-Token": source.about["envdAccessToken"]}, token="")[0] == 401
        # The same name and the same contents of another key are its own.
        two.token = b
        third = Box(two)
        say(third, "open('a', 'w').write('same')")
        assert snapshot(third, name="shared")["snapshotID"] != made
        assert len(objects(kept)) == 2
        third.kill()
        two.token = a
        assert say(resume(two, box), "print(open('a').read())") == "same\n"


@contextlib.contextmanager
def unread_lists(served: Served, key: str, count: int):
    """Connections that have requested the key's list of sandboxes and read nothing of it."""
    with contextlib.ExitStack() as stack:
        every = []
        for _ in range(count):
            s = stack.enter_context(socket.socket())
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(60)
            s.connect(("127.0.0.1", served.port))
            s.sendall(f"GET /v2/sandboxes?state=paused HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: {key}\r\n\r\n".encode())
            every.append(s)
        yield every


def test_long_lists_are_made_in_turn(kept):
    """Each list is an MB: if all were made at once, they would fill the memory and delay other keys."""
    path = kept.folder / "pause-keys"
    path.unlink(missing_ok=True)
    a, b = (kept("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("a", "b"))
    with serve(kept, "--keys", path, "--state", kept.state) as two:
        two.token = a
        boxes = []
        for _ in range(16):
            boxes.append(Box(two, metadata={"k": "\x01" * 10000}))
            pause(boxes[-1])
        size = len(two.request("GET", "/v2/sandboxes?state=paused")[2])
        assert size > 900_000
        before = peak_bytes(two)
        with unread_lists(two, a, 100) as readers:
            until(lambda: two.request("GET", "/healthz", token="")[0] == 200, "it does not answer")
            assert two.json("GET", "/v2/sandboxes", token=b) == []
            # Those that leave without their turn delay nobody.
            for reader in readers[50:]:
                reader.close()
            for reader in readers[:50]:
                with reader.makefile("rb") as f:
                    assert f.readline().split()[1] == b"200" and len(f.read()) > size
        assert peak_bytes(two) - before < 20 * size
        for box in boxes:
            two.request("DELETE", f"/sandboxes/{box.id}")


def test_sandbox_deleted_while_it_is_stored_leaves_nothing(kept):
    with storing(kept) as served:
        for n in range(80):
            box = Box(served)
            pausing = served.connect()
            body = json.dumps({"memory": False})
            pausing.request("POST", f"/sandboxes/{box.id}/pause", body, {"Content-Type": "application/json", "X-API-Key": served.token})
            time.sleep(n % 20 / 1000)  # another moment in each round
            assert served.request("DELETE", f"/sandboxes/{box.id}")[0] == 204
            assert pausing.getresponse().status in (204, 404)
            pausing.close()
            assert served.request("GET", f"/sandboxes/{box.id}")[0] == 404
        assert not list(kept.state.glob("snapshots/*/*/head"))


HOSTILE = """
import os
try: os.mkfifo('pipe')  # where a jail may make one
except PermissionError: pass
open('unreadable', 'w').write('x'); os.chmod('unreadable', 0)
os.mkdir('closed'); open('closed/inside', 'w').write('x'); os.chmod('closed', 0)
os.symlink('/', 'root'); os.symlink('.', 'self'); os.symlink('x' * 4000, 'long'); os.symlink('../../../../etc', 'd' * 255)
for name in ('head', 'manifest', 'about', 'objects', '.new-x', '..x', '\\\\', '$(id)', '%s%n'): open(name, 'w').write('x')
os.makedirs('/'.join(['deep' * 50] * 15)); where = os.getcwd()
for i in range(60):  # deeper than a path can be long
    os.chdir('deep' * 50) if i < 15 else (os.mkdir('deeper' * 20), os.chdir('deeper' * 20))
os.chdir(where)
"""


def test_hostile_files_are_stored_as_they_are_or_skipped_by_name(kept):
    with storing(kept, "--preset", "scientific") as served:
        box = Box(served)
        say(box, HOSTILE)
        listing = "import os; print(sorted((n, os.readlink(n) if os.path.islink(n) else os.path.isfile(n) and open(n).read()) for n in os.listdir() if n not in ('pipe', 'unreadable')))"
        shown = say(box, listing)
        piped = {"pipe"} & set(say(box, "import os; print(*os.listdir(), sep='\\n')").splitlines())
        pause(box)
        skipped = served.json("GET", f"/sandboxes/{box.id}")["skippedFiles"]
        assert {s.split(":")[0].split("/")[0] for s in skipped} == {*piped, "unreadable", "closed", "deep" * 50} and len(skipped) == 3 + len(piped), skipped
        # None of the names is a name on disk.
        names = {p.name for p in kept.state.rglob("*")}
        assert not names & {"pipe", "$(id)", "unreadable", "..x"} and not any(p.is_symlink() for p in kept.state.rglob("*"))
        assert len([p for p in kept.state.glob("snapshots/*/*") if p.is_dir()]) == 2
        resume(served, box)
        assert say(box, listing) == shown
        assert say(box, "import os; print(os.path.lexists('pipe'), os.path.lexists('unreadable'), os.listdir('closed') if os.access('closed', os.R_OK) else 'closed')") == "False False closed\n"
        box.kill()


def test_mounts_in_the_workspace_are_not_stored(kept):
    folder = kept.folder / "shared"
    folder.mkdir(exist_ok=True)
    (folder / "secret").write_text("of the host")
    kept.own(folder)
    with storing(kept, "--mount", f"{folder}:/workspace/shared:ro") as served:
        box = Box(served)
        say(box, "open('a', 'w').write(open('shared/secret').read()[:2])")
        pause(box)
        (skipped,) = served.json("GET", f"/sandboxes/{box.id}")["skippedFiles"]
        assert skipped == "shared: it is on another file system"
        assert not any(b"of the host" in path.read_bytes() for path in kept.state.rglob("*") if path.is_file())
        assert say(resume(served, box), "print(open('shared/secret').read(), open('a').read())") == "of the host of\n"
        box.kill()


def test_files_with_holes_must_fit_their_disk(kept):
    with storing(kept, "--disk", "64M") as served:
        box = Box(served)
        say(box, "open('hole', 'wb').truncate(60 << 20)")
        pause(box)
        assert say(resume(served, box), "import os; print(os.path.getsize('hole'))") == f"{60 << 20}\n"
        say(box, "open('other hole', 'wb').truncate(60 << 20)")
        said = pause(box, 400)["message"]
        assert "holes" in said and "disk_bytes" in said
        # The sandbox goes on, and nothing is left of the attempt.
        assert say(box, "print(len(open('hole', 'rb').read()))") == f"{60 << 20}\n" and objects(kept) == []
        box.kill()


# The code replaces the functions that answer for its files.
LIAR = """
import gc
def lie(task):
    for name in NAMES:
        words = b'path', name, b'type', b'file', b'mode', b'511', b'size', SIZE, b'modified', b'0', b'device', DEVICE, b'inode', b'1'
        real.__globals__['send_pieces'](bytes(1).join(words) + bytes(1))
    return b''
(found,) = [o for o in gc.get_objects() if type(o) is dict and b'list' in o and b'stat' in o and callable(o[b'list'])]
real = found[b'list']
import os
DEVICE = str(os.stat('.').st_dev).encode()
found[b'list'] = lie
"""


@pytest.mark.parametrize(
    "names, size, status",
    [
        ("[b'OUTSIDE']", "b'1'", 204),  # only the last part of a name is used
        ("[b'..']", "b'1'", 400),
        ("[b'/']", "b'1'", 400),
        ("[b'x' * 5000]", "b'1'", 400),
        ("[b'ok']", "b'9' * 30", 400),
        ("[b'ok'] * 9000", "b'1'", 204),
        ("[b'ok']", "b'999999999999999'", 400),
    ],
)
def test_lying_session_hurts_only_itself(kept, names, size, status):
    # Other tests of this process use the same folder, and may leave a file with a simple name.
    outside = kept.folder / "written-by-the-lying-session"
    names = names.replace("OUTSIDE", f"../../../../../../..{outside}")
    with storing(kept) as served:
        box = Box(served)
        say(box, f"NAMES, SIZE = {names}, {size}\nopen('x', 'w').write('1'); open('ok', 'w').write('1')\n" + LIAR)
        got, _, text = served.request("POST", f"/sandboxes/{box.id}/pause", {"memory": False})
        assert got == status or (status == 400 and got in (404, 500)), text
        if got == 204:
            (manifest,) = kept.state.glob("snapshots/*/*/manifest")
            assert b"path\0" in manifest.read_bytes() and not any(b"path\0" + wrong in manifest.read_bytes() for wrong in (b"/", b".."))
        else:
            assert objects(kept) == []
        assert not outside.exists()
        served.request("DELETE", f"/sandboxes/{box.id}")
        with boxed(served) as other:
            assert say(other, "print(1)") == "1\n"


def test_damaged_file_is_an_error_and_sandbox_stays_paused(kept):
    with storing(kept) as served:
        box = Box(served)
        say(box, "open('precious', 'w').write('content that is precious')")
        pause(box)
        (stored,) = objects(kept)
        right = stored.read_bytes()
        for wrong in (right[:-1] + b"!", right + b"!", b""):
            stored.chmod(0o600)
            stored.write_bytes(wrong)
            said = served.json("POST", f"/sandboxes/{box.id}/connect", {}, status=500)["message"]
            assert "damaged" in said and "precious" in said and "SHA-256" in said
            assert served.json("GET", f"/sandboxes/{box.id}")["state"] == "paused"
            served.wait_for_no_hosted_sessions()
        stored.write_bytes(right)
        assert say(resume(served, box), "print(open('precious').read())") == "content that is precious\n"
        box.kill()


def test_full_share_refuses_to_pause_and_sandbox_goes_on(kept):
    with storing(kept, "--max-snapshot-bytes", "8M", "--max-snapshots", "2") as served:
        box = Box(served)
        say(box, "import os; open('a', 'wb').write(os.urandom(9 << 20)); x = 1")
        assert "disk" in pause(box, 507)["message"] and "disk" in snapshot(box, 507)["message"]
        assert say(box, "print(x, len(open('a', 'rb').read()))") == f"1 {9 << 20}\n" and objects(kept) == []
        # Equal contents count once.
        say(box, "part = os.urandom(3 << 20); os.remove('a'); [open(str(i), 'wb').write(part) for i in range(8)]")
        first = snapshot(box)["snapshotID"]
        snapshot(box)
        assert "as many as it may have" in pause(box, 507)["message"]
        assert served.request("DELETE", f"/templates/{first}")[0] == 204
        pause(box)
        assert say(resume(served, box), "import os; print(len(os.listdir()))") == "8\n"
        box.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_full_disk_refuses_to_pause_and_sandbox_goes_on(kept):
    kept.state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", kept.state], check=True)
    try:
        kept.own(kept.state)
        with storing(kept) as served:
            box = Box(served)
            say(box, "import os; open('a', 'wb').write(os.urandom(3 << 20)); x = 1")
            assert "No space left" in pause(box, 507)["message"] and "No space left" in snapshot(box, 507)["message"]
            assert say(box, "print(x, os.path.getsize('a')); os.truncate('a', 10)") == f"1 {3 << 20}\n" and objects(kept) == []
            pause(box)
            assert say(resume(served, box), "import os; print(os.path.getsize('a'))") == "10\n"
            box.kill()
    finally:
        subprocess.run(["umount", kept.state], check=True)


def test_expired_snapshot_is_removed(kept):
    with storing(kept, "--keep-snapshots", "1") as served:
        with boxed(served) as box:
            say(box, "open('a', 'w').write('x')")
            made = snapshot(box)["snapshotID"]
        until(lambda: objects(kept) == [], "it is kept")
        assert served.json("GET", "/snapshots") == []
        assert served.json("POST", "/sandboxes", {"templateID": made}, status=404)["code"] == 404


def test_paused_sandbox_is_resumed_once(kept):
    with storing(kept) as served:
        box = Box(served)
        say(box, "open('a', 'w').write('x')")
        pause(box)
        connections = [served.connect() for _ in range(4)]
        for one in connections:
            one.request("POST", f"/sandboxes/{box.id}/connect", "{}", {"Content-Type": "application/json", "X-API-Key": served.token})
        codes = sorted(one.getresponse().status for one in connections)
        assert codes.count(201) == 1 and set(codes) <= {200, 201, 409}, codes
        assert len(served.json("GET", "/sandboxes")) == 1
        box.kill()


def test_directory_is_used_by_one_server(kept):
    with storing(kept):
        said = kept("serve", "--listen", "127.0.0.1:0", "--state", kept.state)
        assert said.returncode and "another server uses" in said.stderr
    kept.state.chmod(0o777)
    said = kept("serve", "--listen", "127.0.0.1:0", "--state", kept.state)
    assert said.returncode and "writable by other users" in said.stderr


def test_server_that_stops_while_it_stores_leaves_the_rest_whole(kept):
    with doomed(kept) as served:
        box = Box(served)
        say(box, "open('a', 'w').write('x')")
        pause(box)
        other = Box(served)
        say(other, "[open(str(i), 'w').write(str(i)) for i in range(3000)]")
        connection = served.connect()
        connection.request("POST", f"/sandboxes/{other.id}/pause", json.dumps({"memory": False}), {"Content-Type": "application/json", "X-API-Key": served.token})
        until(lambda: len(objects(kept)) > 20, "it is not stored")
    with storing(kept) as served:
        assert [s["sandboxID"] for s in served.json("GET", "/sandboxes")] in ([box.id], [other.id, box.id])
        if served.request("GET", f"/sandboxes/{other.id}")[0] == 404:
            assert len(objects(kept)) == 1
        assert say(resume(served, box), "print(open('a').read())") == "x\n"
