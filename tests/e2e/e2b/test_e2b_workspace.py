"""Where sandboxes of E2B's API have their workspace: at /home/user, as with E2B."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess

import leftovers
import pytest
from conftest import PYTHON, make_remit, users
from served import serve
from test_e2b import COMMANDS, boxed, form, of


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit) as one:
        yield one
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@pytest.fixture(scope="module")
def one(stage):
    """A server whose sandboxes may start programs."""
    with serve(make_remit(users()[-1], stage), *COMMANDS) as s:
        yield s


HERE = "import os\nprint(os.getcwd(), os.environ['HOME'], os.path.expanduser('~'), sorted(os.listdir('/home/user')), os.path.samefile('/workspace', '.'))"


def printed(box, code: str) -> str:
    lines = box.execute(code)
    assert not of(lines, "error"), lines
    return "".join(line["text"] for line in of(lines, "stdout"))


def test_workspace_is_home_of_user(served):
    """Paths that E2B's users and models write work in code, and come back in answers."""
    with boxed(served) as box:
        for path in ("/home/user/data.csv", "rel/x", "/workspace/w"):
            status, _, text = box.request("POST", f"/files?path={path}", *form(("x", path.encode())))
            name = path.removeprefix("/home/user/").removeprefix("/workspace/")
            assert status == 200 and json.loads(text)[0]["path"] == f"/home/user/{name}"
        assert printed(box, HERE) == "/home/user /home/user /home/user ['data.csv', 'rel', 'w'] True\n"
        assert printed(box, "print(open('/home/user/data.csv').read(), open('/workspace/w').read())") == "/home/user/data.csv /workspace/w\n"
        assert printed(box, "open('/home/user/made', 'w').write('by code')\nNone") == ""
        assert box.request("GET", "/files?path=made")[2] == box.request("GET", "/files?path=/workspace/made")[2] == b"by code"
        (error,) = of(box.execute("open('/home/user/none')"), "error")
        assert "'/home/user/none'" in error["value"]
        for path in ("/home/user", "/workspace", ".", ""):
            entries = box.json("POST", "/filesystem.Filesystem/ListDir", {"path": path})["entries"]
            assert [e["path"] for e in entries] == [f"/home/user/{n}" for n in ("data.csv", "made", "rel", "w")]
        assert [c["cwd"] for c in box.json("GET", "/contexts")] == ["/home/user"]
        assert box.json("POST", "/contexts", {})["cwd"] == "/home/user"
        assert box.json("POST", "/contexts", {"cwd": "/home/user/rel"})["cwd"] == "/home/user/rel"
        watcher = box.json("POST", "/filesystem.Filesystem/CreateWatcher", {"path": "/workspace/rel", "includeEntry": True})["watcherId"]
        box.execute("open('/home/user/rel/y', 'w').close()")
        (event,) = box.json("POST", "/filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})["events"]
        assert (event["name"], event["entry"]["path"]) == ("y", "/home/user/rel/y")
        for path in ("/home/user", "/workspace"):
            assert box.request("POST", "/filesystem.Filesystem/Remove", {"path": path})[0] == 400


def test_metadata_of_file_is_forgotten_by_either_name(served):
    with boxed(served) as box:
        for i, path in enumerate(("/home/user/m", "/workspace/m")):
            sent, headers = form(("m", b"x"))
            made = json.loads(box.request("POST", "/files?path=m", sent, {**headers, "X-Metadata-N": str(i)})[2])
            assert made[0]["metadata"] == {"n": str(i)}
            box.json("POST", "/filesystem.Filesystem/Remove", {"path": path})
            assert "metadata" not in json.loads(box.request("POST", "/files?path=m", sent, headers)[2])[0]


def test_commands_start_at_home(one):
    with boxed(one) as box:
        for more in ({}, {"cwd": "/home/user"}, {"cwd": "/workspace"}):
            messages = box.command("pwd; cd; pwd; echo ~ > /home/user/f; cat /workspace/f", **more)
            out = b"".join(base64.b64decode(m["event"]["data"]["stdout"]) for m in messages if "data" in m.get("event", {}))
            assert out == b"/home/user\n/home/user\n/home/user\n", messages


def test_copy_of_sandbox_has_same_home(served):
    with boxed(served) as box:
        box.request("POST", "/files?path=/home/user/f", *form(("x", b"both")))
        made = served.json("POST", f"/sandboxes/{box.id}/fork", {}, status=201)
        about = made[0]["sandbox"]
        named = {"E2b-Sandbox-Id": about["sandboxID"], "X-Access-Token": about["envdAccessToken"]}
        entry = json.loads(served.request("POST", "/filesystem.Filesystem/Stat", {"path": "/workspace/f"}, named, token="")[2])["entry"]
        assert entry["path"] == "/home/user/f"
        served.request("DELETE", f"/sandboxes/{about['sandboxID']}")


def test_workspace_of_servers_policy_is_alias(stage):
    remit = make_remit(users()[-1], stage)
    with serve(remit, "--workspace", "/mnt/data", "--workspace-alias", "/content") as other, boxed(other) as box:
        box.request("POST", "/files?path=/mnt/data/f", *form(("x", b"1")))
        assert printed(box, "import os\nprint(os.getcwd(), os.listdir('/content'), os.listdir('/mnt/data'), os.path.exists('/workspace'))") == "/home/user ['f'] ['f'] False\n"
        assert box.json("POST", "/filesystem.Filesystem/Stat", {"path": "/content/f"})["entry"]["path"] == "/home/user/f"
        assert other.run("import os; print(os.getcwd())")["stdout"] == "/mnt/data\n"


def stays(served) -> None:
    """Checks a sandbox whose workspace cannot be at /home/user."""
    with boxed(served) as box:
        assert json.loads(box.request("POST", "/files?path=/home/user/f", *form(("x", b"1")))[2])[0]["path"] == "/workspace/f"
        assert printed(box, "import os\nprint(os.getcwd(), os.environ['HOME'], open('f').read())") == "/workspace /workspace 1\n"
        assert [c["cwd"] for c in box.json("GET", "/contexts")] == ["/workspace"]
        assert box.json("POST", "/contexts", {"cwd": "/home/user"})["cwd"] == "/home/user"


def test_workspace_stays_where_policy_mounts_at_home(stage):
    """What the server's policy mounts is neither hidden nor in a writable folder."""
    remit = make_remit(users()[-1], stage)
    folder = remit.file("shown/one", "1").parent
    for jail in ("/home/user", "/home/user/data", "/home"):
        with serve(remit, "--mount", f"{folder}:{jail}") as other:
            stays(other)
            with boxed(other) as box:
                assert printed(box, f"print(open('{jail}/one').read())") == "1\n"


@pytest.mark.skipif(os.geteuid() != 0 or os.path.exists("/home/user"), reason="needs a folder /home/user for this test alone")
def test_workspace_stays_where_interpreter_is_at_home(stage):
    os.mkdir("/home/user")
    try:
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--copies", "/home/user/venv"], check=True, capture_output=True)
        with serve(make_remit(users()[-1], stage), "--python", "/home/user/venv/bin/python3") as other:
            stays(other)
    finally:
        shutil.rmtree("/home/user")
