"""Files of a session between its cells, and its contexts."""

from __future__ import annotations

import errno
import gzip
import os
import time

import leftovers
import pytest
from conftest import PYTHON
from session_client import UNTIL_INTERRUPTED, SessionClient
from shared_keeper import SharedKeeper

REFUSED, BUSY = 2, 3  # enum remit_code


def policy(**more) -> dict:
    return {"python": PYTHON, **more}


@pytest.fixture(params=["private", "shared"])
def client(request, remit):
    shared = SharedKeeper(remit) if request.param == "shared" else None
    one = SessionClient(remit, shared.env if shared else {"REMIT_KEEPER": ""})
    yield one
    one.leave()
    if shared:
        shared.close()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@pytest.fixture
def cold(any_remit):
    """A client for tests that do not depend on the keeper or the user."""
    one = SessionClient(any_remit, {"REMIT_KEEPER": ""})
    yield one
    one.leave()
    assert not leftovers.remaining(lambda: leftovers.processes(any_remit.command)), "processes are left"


def read(client, path: str, **more) -> str:
    reply = client.request("file", op="read", path=path, **more)
    assert "failed" not in reply, reply
    return reply["bytes"]


def errno_of(client, op: str, path: str, **more) -> int:
    """Return the errno of a request that must fail without ending the session."""
    reply = client.request("file", op=op, path=path, **more)
    assert "failed" in reply, reply
    assert reply["failed"]["code"] == 1, reply
    assert client.out("print(6 * 7)") == "42\n"
    return reply["failed"]["errno"]


def names(client, path: str, **more) -> list[str]:
    reply = client.request("file", op="list", path=path, **more)
    assert "failed" not in reply, reply
    return [e["path"] for e in reply["entries"]]


# ---- operations ----


def test_written_file_is_read_by_code_and_back(client):
    client.open(policy=policy())
    wrote = client.request("file", op="write", path="data/in.csv", data="a,b\n1,2\n")
    assert wrote["entries"][0]["path"] == "/workspace/data/in.csv" and wrote["entries"][0]["size"] == 8, wrote
    # Names are relative to the workspace, not to the code's current folder.
    assert client.out("import os\nos.chdir('/tmp')\nprint(open('/workspace/data/in.csv').read(), end='')") == "a,b\n1,2\n"
    client.run("open('/workspace/out', 'w').write('from inside')")
    assert read(client, "out") == "from inside"
    assert read(client, "/workspace/out", offset=5, length=3) == "ins"
    assert read(client, "/workspace/out", offset=100) == ""
    assert "failed" not in client.request("file", op="write", path="out", data="!", append=1)
    assert read(client, "../workspace/./out") == "from inside!"
    assert "failed" not in client.request("file", op="write", path="out", data="")
    assert read(client, "out") == ""
    assert client.request("close")["status"] == "ok"


def test_folders_are_listed_made_moved_and_removed(client):
    client.open(policy=policy())
    made = client.request("file", op="make", path="a/b/c")
    assert made["entries"][0]["type"] == "folder", made
    assert errno_of(client, "make", "a/b/c") == errno.EEXIST
    client.run("import os\nopen('a/one', 'w').write('x' * 5)\nos.symlink('one', 'a/link')\nopen('a/b/two', 'w').close()\nos.chmod('a/one', 0o640)")
    assert names(client, "a") == ["/workspace/a/b", "/workspace/a/link", "/workspace/a/one"]
    assert names(client, "/workspace", depth=3) == [f"/workspace/a{x}" for x in ("", "/b", "/b/c", "/b/two", "/link", "/one")]
    one = client.request("file", op="stat", path="a/one")["entries"][0]
    assert (one["type"], one["size"], one["mode"]) == ("file", 5, 0o640) and abs(one["modified_ns"] / 1e9 - time.time()) < 100, one
    link = client.request("file", op="stat", path="a/link")["entries"][0]
    assert (link["type"], link["target"]) == ("link", "one")
    assert link["resolved"] == ["/workspace/a/one", "file", 0o640] and one["resolved"] is None
    assert client.request("file", op="stat", path="/dev/null")["entries"][0]["type"] == "other"
    assert "failed" not in client.request("file", op="move", path="a", to="z/y")
    assert names(client, "z/y/b") == ["/workspace/z/y/b/c", "/workspace/z/y/b/two"]
    assert "failed" not in client.request("file", op="remove", path="z")
    assert names(client, ".") == []
    assert errno_of(client, "remove", "z") == errno.ENOENT
    assert errno_of(client, "list", "z") == errno.ENOENT


def test_links_are_made_and_attributes_set_without_following(client):
    client.open(policy=policy())
    assert "failed" not in client.request("file", op="write", path="a/f", data="1")
    link = client.request("file", op="link", path="new/l", to="../a/f")["entries"][0]
    assert (link["type"], link["target"], link["resolved"][0]) == ("link", "../a/f", "/workspace/a/f")
    assert client.request("file", op="link", path="away", to="/etc/shadow")["entries"][0]["target"] == "/etc/shadow"
    assert errno_of(client, "link", "away", to="x") == errno.EEXIST
    when = 10**18 + 7
    for path, mode in (("a/f", 0o440), ("a", 0o510)):
        set_to = client.request("file", op="set", path=path, mode=0o7000 | mode, modified_ns=when)["entries"][0]
        assert (set_to["mode"], set_to["modified_ns"]) == (mode, when), set_to
    # The target of a link keeps its mode.
    assert errno_of(client, "set", "new/l", mode=0o777, modified_ns=1) == errno.ELOOP
    assert client.request("file", op="stat", path="a/f")["entries"][0]["mode"] == 0o440
    assert errno_of(client, "set", "none", mode=0o777) == errno.ENOENT
    for wrong in ({"op": "link", "path": "a"}, {"op": "link", "path": "a", "to": ""}, {"op": "set", "path": "a", "modified_ns": -1}):
        assert client.request("file", **wrong)["failed"]["code"] == 1


def test_file_identity_survives_rename(client):
    client.open(policy=policy())
    first = client.request("file", op="write", path="a", data="1")["entries"][0]["file"]
    assert first[1] and client.request("file", op="write", path="a", data="2")["entries"][0]["file"] == first
    client.run("import os\nos.rename('a', 'b')\nopen('a', 'w').close()")
    assert {e["path"][-1]: e["file"] == first for e in client.request("file", op="list", path=".")["entries"]} == {"a": False, "b": True}
    assert client.request("file", op="stat", path="b")["entries"][0]["file"] == first


def test_compressed_file_is_decompressed_in_jail(client):
    client.open(policy=policy(disk_bytes="4MiB"))
    packed = gzip.compress(b"text\n" * 100_000)

    def write(path: str, data: bytes) -> dict:
        return client.request("file", op="write", path=path, hex=data.hex(), gunzip=1)

    assert write("a", packed)["entries"][0]["size"] == 500_000
    assert client.out("print(open('a').read() == 'text\\n' * 100_000)") == "True\n"
    for wrong in (b"", b"plain", packed[:-1], packed + b"x", packed[:50] + b"\0" * 50):
        assert write("b", wrong)["failed"]["errno"] == errno.EINVAL, wrong[-9:]
    bomb = gzip.compress(bytes(64 << 20))
    assert len(bomb) < 70_000 and write("c", bomb)["failed"]["errno"] == errno.ENOSPC
    assert read(client, "a", length=5) == "text\n"


def test_links_are_resolved_unless_circular(client):
    client.open(policy=policy())
    client.run("""
import os
os.makedirs('d/deep')
open('d/f', 'w').close()
os.chmod('d/deep', 0o700)
os.symlink('d', 'folder')
os.symlink('folder/../folder/./deep', 'through')
os.symlink(os.path.abspath('d/f'), 'absolute')
os.symlink('absolute', 'twice')
os.symlink('nowhere', 'dangling')
os.symlink('round', 'round')
os.symlink('x' * 200 + '/..', 'long')
os.lstat = os.readlink = os.stat = None  # what code replaces does not matter
""")
    wanted = {
        "absolute": ["/workspace/d/f", "file", 0o644],
        "dangling": None,
        "folder": ["/workspace/d", "folder", 0o755],
        "long": None,
        "round": None,
        "through": ["/workspace/d/deep", "folder", 0o700],
        "twice": ["/workspace/d/f", "file", 0o644],
    }
    listed = {e["path"].removeprefix("/workspace/"): e["resolved"] for e in client.request("file", op="list", path=".")["entries"] if e["type"] == "link"}
    assert listed == wanted
    for name, found in wanted.items():
        assert client.request("file", op="stat", path=name)["entries"][0]["resolved"] == found, name


def test_file_names_are_bytes(cold):
    cold.open(policy=policy())
    odd = "a b\udcff\n\u00e9"
    assert "failed" not in cold.request("file", op="write", path=odd, data="\0\x01")
    assert names(cold, "/workspace") == ["/workspace/" + odd]
    assert read(cold, odd) == "\0\x01"


def test_forbidden_file_operation_gives_errno(remit):
    cold = SessionClient(remit, {"REMIT_KEEPER": ""})
    cold.open(policy=policy(input_bytes="1MiB", disk_bytes="2MiB"))
    assert errno_of(cold, "read", "missing") == errno.ENOENT
    assert errno_of(cold, "read", "/workspace") == errno.EISDIR
    assert errno_of(cold, "write", "/usr/new", data="x") in (errno.EROFS, errno.EACCES, errno.EPERM)
    assert errno_of(cold, "remove", "/usr") in (errno.EROFS, errno.EACCES, errno.EPERM, errno.EBUSY)
    assert errno_of(cold, "remove", "/workspace/x/..") == errno.EBUSY
    assert errno_of(cold, "remove", "/") == errno.EBUSY
    assert errno_of(cold, "read", "/etc/shadow") in (errno.ENOENT, errno.EACCES)
    assert errno_of(cold, "write", "x" * 300, data="x") == errno.ENAMETOOLONG
    assert "failed" not in cold.request("file", op="write", path="kept", size=1 << 20)
    assert "failed" not in cold.request("file", op="write", path="full", size=900_000)
    assert errno_of(cold, "write", "more", size=1_000_000) == errno.ENOSPC
    too_long = cold.request("file", op="write", path="long", size=(1 << 20) + 1)["failed"]
    assert "input_bytes" in too_long["message"] and too_long["code"] == 1, too_long
    assert cold.out("import os\nprint(os.path.getsize('kept'), os.path.exists('long'))") == f"{1 << 20} False\n"
    for wrong in ({"op": "read", "path": ""}, {"op": "list", "path": "/", "depth": 65}, {"op": "move", "path": "a"}):
        assert cold.request("file", **wrong)["failed"]["code"] == 1
    cold.leave()


def test_large_files_are_transferred_in_pieces(client):
    client.open(policy=policy(disk_bytes="200MiB", memory_bytes="700MiB", input_bytes="100MiB", file_bytes="200MiB"))
    size = 40 << 20
    assert client.request("file", op="write", path="big", size=size)["entries"][0]["size"] == size
    assert client.out("import os\nprint(os.path.getsize('big'))") == f"{size}\n"
    assert client.request("file", op="read", path="big")["len"] == size
    client.run("os.truncate('big', 100 << 20)")
    part = client.request("file", op="read", path="big")
    assert part["len"] == 64 << 20 and part["entries"][0]["size"] == 100 << 20, part
    assert client.request("file", op="read", path="big", offset=64 << 20)["len"] == 36 << 20


# ---- hostile programs ----


def test_special_files_do_not_block_requests(cold, any_remit):
    folder = any_remit.file("special/pipe").parent
    folder.joinpath("pipe").unlink()
    os.mkfifo(folder / "pipe")
    any_remit.own(folder / "pipe")
    cold.open(policy=policy(mounts=[{"host": str(folder), "jail": "/data", "mode": "ro"}]))
    cold.run("import os\nos.symlink('/data/pipe', 'pipe')\nos.symlink('loop', 'loop')\nos.symlink('/dev/urandom', 'random')\nos.symlink('/etc', 'out')")
    assert errno_of(cold, "read", "pipe") == errno.EINVAL
    assert errno_of(cold, "write", "pipe", data="x") in (errno.ENXIO, errno.EACCES, errno.EROFS)
    assert errno_of(cold, "read", "loop") == errno.ELOOP
    assert errno_of(cold, "read", "random") == errno.EINVAL
    # The code's own process follows the link, and it sees only the jail.
    assert errno_of(cold, "write", "out/x", data="x") in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)
    assert "failed" not in cold.request("file", op="remove", path="out")
    assert cold.out("print(os.path.lexists('out'), os.path.isdir('/usr'))") == "False True\n"


def test_deep_and_full_folders_are_handled(cold):
    cold.open(policy=policy(files=30_000, timeout="60s", disk_bytes="100MiB", memory_bytes="700MiB"))
    cold.run("import os\nos.mkdir('deep')\nos.chdir('deep')\nfor _ in range(1500):\n    os.mkdir('d' * 20)\n    os.chdir('d' * 20)\nos.chdir('/workspace')")
    assert len(names(cold, "deep", depth=64)) == 64
    cold.run("os.mkdir('wide')\nfor i in range(12_000): open(f'wide/{i}', 'w').close()")
    reply = cold.request("file", op="list", path="wide")
    assert len(reply["entries"]) == 10_000 and reply["truncated"] == 1
    for name in ("deep", "wide"):
        assert "failed" not in cold.request("file", op="remove", path=name)
    assert names(cold, "/workspace") == []


PATCH = """
import os, posix, io, builtins
def no(*a, **k): raise RuntimeError('patched')
for module in (os, posix):
    for name in ('open', 'read', 'write', 'pread', 'stat', 'lstat', 'fstat', 'scandir', 'listdir', 'mkdir', 'close', 'unlink', 'rename'):
        setattr(module, name, no)
io.open = builtins.open = no
"""


def test_replaced_functions_do_not_affect_file_requests(cold):
    cold.open(policy=policy())
    cold.run(PATCH)
    assert "failed" not in cold.request("file", op="write", path="a/b", data="still")
    assert read(cold, "a/b") == "still"
    assert names(cold, "/workspace", depth=2) == ["/workspace/a", "/workspace/a/b"]


LIAR = """
import gc, sys
records = next(m for m in gc.get_objects() if type(m) is type(sys) and m.__name__ == 'records')
files = next(m for m in gc.get_objects() if type(m) is type(sys) and m.__name__ == 'files')
"""


@pytest.mark.parametrize(
    "lie, outcome",
    [
        ("files.perform = lambda *a: records.put(records.frame(47, b'path\\0/etc/shadow\\0type\\0file\\0size\\0007\\0'))", "lie"),
        ("files.perform = lambda *a: records.put(records.frame(47, b'errno\\0999999\\0'))", "input"),
        ("files.perform = lambda *a: records.put(records.frame(47, b'size\\0001\\0'))", "protocol"),
        ("files.perform = lambda *a: records.put(records.frame(47, b'path\\0a\\0' * 2))", "protocol"),
        ("files.perform = lambda *a: records.put(records.frame(47, b'no end'))", "protocol"),
        ("files.perform = lambda *a: [records.put(records.frame(46, bytes(65536))) for _ in range(1100)]", "ended"),
        ("files.perform = lambda *a: records.put(b'x' * 100)", "ended"),
        ("files.perform = lambda *a: records.put(records.frame(47, b'')) or records.put(records.frame(47, b''))", "twice"),
        ("import posix\nfiles.perform = lambda *a: posix._exit(0)", "ended"),
        ("files.perform = lambda *a: bytearray(1 << 40)", "ended"),
    ],
)
def test_session_can_lie_only_about_its_own_files(cold, lie, outcome):
    cold.open(policy=policy())
    cold.open(session="other", policy=policy())
    assert cold.run(LIAR + lie)["status"] == "ok"
    reply = cold.request("file", op="read", path="x")
    after = cold.run("print(1)")
    if outcome == "lie":
        assert reply["entries"][0]["path"] == "/etc/shadow" and reply["bytes"] == "", reply
    elif outcome == "input":
        assert reply["failed"]["errno"] == errno.EIO, reply
    elif outcome == "protocol":
        assert reply["failed"]["code"] == 7, reply
    elif outcome == "ended":
        assert "the session has ended" in reply["failed"]["message"], reply
    assert after["session"]["state"] == ("ended" if outcome in ("ended", "twice") else "open"), after
    again = cold.request("file", op="stat", path="/workspace")
    assert ("failed" in again) == (outcome != "lie"), again
    assert cold.out("print(2)", session="other") == "2\n"
    assert cold.request("file", op="stat", path="/workspace", session="other")["entries"][0]["type"] == "folder"


def test_missing_file_answer_ends_session(holes):
    client = SessionClient(holes, {"REMIT_KEEPER": "", "REMIT_DEADLINES": "file=2000"})
    try:
        client.open(policy=policy())
        client.run(LIAR + "import time\nfiles.perform = lambda *a: time.sleep(1000)")
        begin = time.monotonic()
        reply = client.request("file", op="stat", path=".")
        assert 'did not answer a request for a file within 2 s (deadline "file")' in reply["failed"]["message"], reply
        assert reply["failed"]["code"] == BUSY, reply
        assert time.monotonic() - begin >= 2
        assert client.run("1")["session"]["state"] == "ended"
        again = client.request("file", op="write", path="x", size=200_000)["failed"]
        assert "ended" in again["message"] and again["code"] == REFUSED, again
        client.request("reset")
        assert "failed" not in client.request("file", op="write", path="x", data="y")
    finally:
        client.leave()


def test_file_request_does_not_disturb_running_cell(cold):
    cold.open(policy=policy())
    waits = cold.begin_cell(UNTIL_INTERRUPTED)
    assert cold.request("file", op="read", path="x")["failed"]["code"] == 3
    cold.request("interrupt")
    assert waits()["stdout"] == "begun\ninterrupted\n"


def test_client_may_leave_during_file_request(remit):
    client = SessionClient(remit, {"REMIT_KEEPER": ""})
    client.open(policy=policy(disk_bytes="200MiB", memory_bytes="700MiB", input_bytes="200MiB", file_bytes="200MiB"))
    client.begin("file", op="write", path="x", size=150 << 20)
    time.sleep(0.05)  # time to reach the middle of the transfer
    client.process.kill()
    client.process.wait()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


def test_branches_have_separate_files(cold):
    cold.open(policy=policy(), forkable=1)
    cold.request("file", op="write", path="x", data="both")
    assert "failed" not in cold.request("fork", branch="b")
    cold.request("file", op="write", path="x", data="branch", session="b")
    assert (read(cold, "x"), read(cold, "x", session="b")) == ("both", "branch")


# ---- contexts ----


def test_contexts_have_separate_variables_and_share_the_rest(client):
    client.open(policy=policy())
    client.run("import math\nx = 1\nopen('f', 'w').write('shared')")
    other = client.run("import sys\nprint('math' in sys.modules, open('f').read(), __name__)\nx", context="other")
    assert other["error"]["name"] == "NameError" and other["stdout"] == "True shared __main__\n", other
    client.run("x = 2\nclass C: pass\nimport __main__\nassert __main__.x == 2", context="other")
    assert client.out("import pickle\nprint(x, type(pickle.loads(pickle.dumps(C()))) is C)", context="other") == "2 True\n"
    assert client.out("print(x)") == "1\n" == client.out("print(x)", context="main")
    assert client.run("x", context="other", fresh=1)["error"]["name"] == "NameError"
    assert client.run("x", fresh=1)["error"]["name"] == "NameError"
    # Files that were never closed are flushed at the end, in each context.
    client.run("import atexit\natexit.register(lambda: None)", context="third")
    assert client.request("close")["status"] == "ok"


def test_context_has_separate_current_folder(cold):
    cold.open(policy=policy())
    assert cold.out("import os\nos.mkdir('a')\nos.chdir('a')\nprint(os.getcwd())") == "/workspace/a\n"
    assert cold.out("import os\nprint(os.getcwd())\nos.chdir('/tmp')", context="b") == "/workspace\n"
    assert cold.out("print(os.getcwd())\nos.rmdir('/workspace/a')") == "/workspace/a\n"
    assert cold.out("print(os.getcwd())", context="b") == "/tmp\n"
    assert cold.out("print(os.getcwd())") == "/workspace\n"


def test_environment_of_one_cell_ends_with_it(client):
    client.open(policy=policy(env={"OLD": "policy"}))
    look = "import os\nprint(os.environ.get('OLD'), os.environ.get('NEW'), os.getenv('HOME'))"
    assert client.out(look, env=["OLD=cell", "NEW=a=b", "HOME=/x"]) == "cell a=b /x\n"
    assert client.out(look) == "policy None /workspace\n"
    assert client.run("os.environ.clear()\n1/0", env=["NEW=1"])["error"]["name"] == "ZeroDivisionError"
    assert client.out("print(dict(os.environ))") == "{}\n"


def test_many_contexts_work(cold):
    cold.open(policy=policy())
    assert cold.out("print(1)", context="a\u00e9 b" * 100) == "1\n"
    for i in range(300):
        assert cold.out("print(1)", context=f"c{i}") == "1\n"
