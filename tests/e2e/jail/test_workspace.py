"""Where the workspace appears in the jail: the policy fields workspace and workspace_aliases."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile

import pytest
from conftest import PYTHON, enforced
from session_client import SessionClient
from shared_keeper import SharedKeeper

PLACES = ("/home/user", "/mnt/data", "/content", "/root", "/opt/my-app/work_1.2", "/" + "a" * 254)
HOME = ("--workspace", "/home/user", "--workspace-alias", "/workspace", "--workspace-alias", "/mnt/data")

LOOK = """
import json, os, pathlib, pwd, sys, tempfile
here = os.getcwd()
open(here + '/a.txt', 'w').write('a')
print(json.dumps([here, os.environ['HOME'], os.path.expanduser('~'), str(pathlib.Path.home()), pwd.getpwuid(1000).pw_dir,
                  os.path.realpath('.'), os.listdir('.'), os.stat('.').st_mode & 0o7777, tempfile.gettempdir()]))
"""


@pytest.fixture(params=["cold", "warm"])
def run(request, remit):
    """Runs one program, in a jail made for it or in a warm one."""
    if request.param == "cold":
        yield remit.json
        return
    keeper = SharedKeeper(remit)
    yield keeper.warm
    keeper.close()


@pytest.mark.parametrize("place", PLACES)
def test_code_starts_and_writes_at_chosen_place(run, remit, covers, place):
    result = run(LOOK, "--workspace", place)
    assert json.loads(result["stdout"]) == [*[place] * 6, ["a.txt"], 0o755, "/tmp"], result
    covers(remit, "workspace", *enforced(result, "workspace"))
    assert enforced(result, "workspace") == ["mount_namespace"]


def test_former_place_is_gone(run):
    code = "import os\nfor p in ('/workspace', '/home/user/..', '/home', '/mnt'):\n    try: print(p, os.listdir(p))\n    except OSError as e: print(p, type(e).__name__)"
    seen = dict(line.split() for line in run(code, "--workspace", "/home/user")["stdout"].splitlines())
    assert seen == {"/workspace": "FileNotFoundError", "/home/user/..": "PermissionError", "/home": "PermissionError", "/mnt": "FileNotFoundError"}


def test_nothing_is_written_around_workspace(run):
    code = """
import os
for what in (lambda: open('/home/x', 'w'), lambda: os.mkdir('/home/other'), lambda: os.rename('/home/user', '/home/mine'), lambda: os.rmdir('/home/user'),
             lambda: os.symlink('x', '/home/l'), lambda: os.unlink('/workspace'), lambda: os.rename('/workspace', '/w'), lambda: os.symlink('/etc', '/workspace2'),
             lambda: os.chmod('/home', 0o777), lambda: os.mkdir('/mnt/x'), lambda: open('/etc/passwd', 'a')):
    try: what(); print('done')
    except OSError as e: print(type(e).__name__)
"""
    seen = run(code, *HOME)["stdout"].split()
    assert len(seen) == 11 and "done" not in seen, seen


def test_aliases_are_same_directory(run, remit, covers):
    code = """
import os
open('/mnt/data/x.csv', 'w').write('x')
open('/workspace/y.csv', 'w').write('y')
print(open('/home/user/x.csv').read(), open('y.csv').read(), sorted(os.listdir('/mnt/data')), os.path.samefile('/workspace', '.'))
os.rename('/mnt/data/x.csv', '/workspace/z.csv')   # one file system
os.link('/home/user/z.csv', '/workspace/l')
os.chdir('/workspace'); print(os.getcwd(), os.path.realpath('/mnt/data/l'))
os.makedirs('/mnt/data', exist_ok=True); os.makedirs('/workspace/d/e')
print(sorted(os.listdir('/home/user')))
"""
    result = run(code, *HOME)
    assert result["stdout"].splitlines() == [
        "x y ['x.csv', 'y.csv'] True", "/home/user /home/user/l", "['d', 'l', 'y.csv', 'z.csv']",
    ], result  # fmt: skip
    covers(remit, "workspace_aliases", *enforced(result, "workspace_aliases"))


def test_longest_places_fit(run):
    """The root of a jail is a small file system, and holds the directories above every alias."""
    deep = [f"/{chr(97 + i)}{'/x' * 126}" for i in range(17)]
    flags = ("--workspace", deep[0], *(f for place in deep[1:] for f in ("--workspace-alias", place)))
    result = run(f"import os\nopen('f', 'w').write('1')\nprint(os.getcwd() == {deep[0]!r}, all(open(d + '/f').read() == '1' for d in {deep!r}))", *flags)
    assert result["stdout"] == "True True\n", result


def test_static_tier_accepts_place(remit, covers):
    result = remit.json("print(1)", "--tier", "static", *HOME)
    assert result["status"] == "ok"
    for field in ("workspace", "workspace_aliases"):
        covers(remit, field, *enforced(result, field), tier="static")


@pytest.mark.parametrize("tier", [("--preset", "landlock"), ("--tier", "unsafe")])
def test_tier_without_own_root_refuses_by_name(remit, tier):
    for flags, field in ((("--workspace", "/home/user"), "workspace"), (("--workspace-alias", "/mnt/data"), "workspace_aliases")):
        result = remit.json("print('ran')", *tier, *flags)
        assert (result["status"], result["stdout"], result["error"]["where"]) == ("refused", "", field), result
        assert result["error"]["remedy"]
    assert remit.json("print('ran')", *tier, "--workspace", "/workspace")["stdout"] == "ran\n"


HOSTILE = (
    "/", "//", "/.", "", ".", "home/user", "../x", "/..", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm", "/etc", "/etc/x", "//etc", "/usr", "/usr/lib/x",
    "/bin", "/lib", "/lib64", "/run/x", "/var", "/tmp", "/tmp/x", "/.remit/lib", "/workspace/../etc", "/home/user/..", "/a:b", "/a\nroot::0:0::/:", "/a\tb",
    "/a b", "/a\x7f", "/ä", "/a`b`", "/$HOME", "/a*", "/-x", "/" + "a" * 255, "/" + "a/" * 2047,
)  # fmt: skip


@pytest.mark.parametrize("place", HOSTILE)
def test_place_that_jail_needs_is_refused(any_remit, place):
    for flag, field in (("--workspace", "workspace"), ("--workspace-alias", "workspace_aliases")):
        done = any_remit("run", flag, place, "-c", "print('ran')")
        assert done.returncode == 2 and not done.stdout and flag in done.stderr, done
        value = place if field == "workspace" else [place]
        path = any_remit.file("policy.json", json.dumps({field: value}))
        done = any_remit("run", "--policy", path, "-c", "print('ran')")
        assert done.returncode == 2 and not done.stdout and field in done.stderr, done


def test_colliding_places_are_refused_by_field(any_remit):
    folder = any_remit.file("inputs/one", "1").parent
    for flags, field in (
        (("--workspace", "/opt", "--read", "/opt"), "workspace"),
        (("--workspace", "/opt/below", "--read", "/opt"), "workspace"),
        (("--workspace", "/data/below", "--mount", f"{folder}:/data"), "workspace"),
        (("--workspace", "/home/user", "--mount", f"{folder}:/home/user"), "workspace"),
        (("--workspace", "/home/user", "--mount", f"{folder}:/home"), "workspace"),
        (("--workspace-alias", "/mnt/data", "--mount", f"{folder}:/mnt/data"), "workspace_aliases"),
        (("--workspace-alias", "/workspace"), "workspace_aliases"),
        (("--workspace-alias", "/workspace/x"), "workspace_aliases"),
        (("--workspace", "/home/user", "--workspace-alias", "/home"), "workspace_aliases"),
        (("--workspace-alias", "/a", "--workspace-alias", "/a/"), "workspace_aliases"),
        (("--workspace-alias", "/a", "--workspace-alias", "/a/b"), "workspace_aliases"),
    ):
        result = any_remit.json("print('ran')", *flags)
        assert (result["status"], result["stdout"], result["error"]["where"]) == ("refused", "", field), (flags, result)


@pytest.fixture
def host_folder():
    """A folder of the host, readable by everyone, where a workspace may be."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-", dir="/opt"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not os.access("/opt", os.W_OK), reason="needs a folder of the host outside of its home and temporary folders")
def test_host_directory_of_same_name_is_not_shown(any_remit, host_folder):
    """A place that exists on the host, even as a link, shows nothing of it and changes nothing there."""
    folder, link = host_folder / "there", host_folder / "link"
    folder.mkdir(mode=0o777)
    (folder / "secret").write_text("secret")
    link.symlink_to("there")
    for place in (folder, link):
        result = any_remit.json("import os; print(os.getcwd(), os.listdir()); open('new', 'w').write('x')", "--workspace", place)
        assert result["stdout"] == f"{place} []\n", result
        result = any_remit.json(f"import os; print(os.listdir({str(place)!r})); open({str(place / 'new')!r}, 'w')", "--workspace-alias", place)
        assert (result["status"], result["stdout"]) == ("ok", "[]\n"), result
    assert [p.name for p in folder.iterdir()] == ["secret"] and link.is_symlink()


@pytest.mark.skipif(not os.access("/opt", os.W_OK), reason="needs a folder of the host outside of its home and temporary folders")
def test_interpreter_in_chosen_place_is_refused(any_remit, host_folder):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--copies", host_folder / "venv"], check=True, capture_output=True)
    python = ("--python", host_folder / "venv" / "bin" / "python3")
    assert any_remit.json("print('ran')", *python)["stdout"] == "ran\n"
    (packages,) = host_folder.glob("venv/lib/python*/site-packages")
    for place in (host_folder, host_folder / "venv", packages, packages / "x"):
        for flag, field in (("--workspace", "workspace"), ("--workspace-alias", "workspace_aliases")):
            result = any_remit.json("print('ran')", *python, flag, place)
            assert (result["status"], result["stdout"], result["error"]["where"]) == ("refused", "", field), result
            assert "which the programs in it need" in result["error"]["value"]


# ---- what names the workspace follows ----


def test_files_enter_and_leave_by_either_name(run, remit):
    path = remit.file("data.csv", "1,2")
    for inside in ("in.csv", "/home/user/in.csv", "/workspace/in.csv", "/mnt/data//in.csv"):
        artifacts = remit.folder / f"out-{secrets.token_hex(4)}"
        result = run(
            "open('/mnt/data/out.csv', 'w').write(open('/home/user/in.csv').read() + ',3')",
            *HOME, "--file", f"{path}:{inside}", "--export", "/workspace/out.*", "--export", "/home/user/none", "--artifacts", artifacts,
        )  # fmt: skip
        assert result["status"] == "ok" and [a["path"] for a in result["artifacts"]] == ["out.csv"], result
        assert (artifacts / "out.csv").read_text() == "1,2,3"


def test_names_of_other_places_are_refused_with_workspace(any_remit):
    path = any_remit.file("data.csv", "1")
    for inside in ("/workspace/in.csv", "/home/username/x", "/home/user", "/home", "/etc/x"):
        result = any_remit.json("print('ran')", "--workspace", "/home/user", "--file", f"{path}:{inside}")
        assert result["status"] == "refused" and "relative to /home/user" in result["error"]["value"], result
        result = any_remit.json("print('ran')", "--workspace", "/home/user", "--export", inside, "--artifacts", any_remit.folder / "no")
        assert result["status"] == "refused" and "relative to /home/user" in result["error"]["value"], result


def test_program_in_workspace_imports_its_neighbours(any_remit):
    """The directory of a program whose name is in the workspace is on the import path."""
    client = SessionClient(any_remit, {"REMIT_KEEPER": ""})
    client.open(policy={"python": PYTHON, "workspace": "/home/user", "workspace_aliases": ["/workspace"]})
    for folder, name in (("p", "/home/user/p/main.py"), ("q", "/workspace/q/main.py")):
        client.request("file", op="write", path=f"{folder}/mod_{folder}.py", data="answer = 42")
        assert client.out(f"import mod_{folder}; print(mod_{folder}.answer, __file__)", name=name) == f"42 {name}\n"
    client.leave()


def test_mount_below_workspace_is_seen_by_every_name(run, remit):
    folder = remit.file("inputs/one", "1").parent
    for jail in ("/home/user/in", "/workspace/in"):
        result = run(
            "import os\nprint(*[open(d + '/in/one').read() for d in ('.', '/home/user', '/workspace', '/mnt/data')])\n"
            "try: open('/workspace/in/new', 'w')\nexcept OSError as e: print(e.strerror)",
            *HOME, "--mount", f"{folder}:{jail}", "--export", "**", "--artifacts", remit.folder / "seen",
        )  # fmt: skip
        assert result["stdout"].splitlines() == ["1 1 1 1", "Read-only file system"], result
        assert result["artifacts"] == [] and [s["path"] for s in result["artifacts_skipped"]] in ([], ["in"])


def test_missing_file_in_workspace_is_not_denied(run):
    for place in ("/home/user/none", "/workspace/none", "/mnt/data/none"):
        assert run(f"open({place!r})", *HOME)["denials"] == []
    (row,) = run("open('/workspace/none')", "--workspace", "/home/user")["denials"]
    assert row["field"] == "filesystem_read_roots" and row["reported"]["path"] == "/workspace/none"


def test_explain_and_instructions_name_place(any_remit):
    shown = any_remit("explain", *HOME).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("workspace ")]
    assert line.split() == ["workspace", "/home/user", "enforced", "mount_namespace"]
    assert not [line for line in any_remit("explain").stdout.splitlines() if line.startswith("workspace ")]
    assert "`/home/user` (the same folder as `/workspace`, `/mnt/data`)" in any_remit("instructions", *HOME).stdout
    assert "current folder, `/workspace`." in any_remit("instructions").stdout


def test_workers_find_program_and_home(any_remit):
    code = """
import multiprocessing as mp, os
def f(x): return [os.getcwd(), os.environ['HOME'], x]
if __name__ == '__main__':
    print(mp.get_context('spawn').Pool(1).map(f, [1]), os.popen('cd; pwd; echo ~').read().split())
"""
    result = any_remit.json(code, *HOME, "--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    assert result["stdout"] == "[['/home/user', '/home/user', 1]] ['/home/user', '/home/user']\n", result


# ---- jails that wait ----


def test_waiting_jails_are_not_mixed(remit):
    """Jails with different places are never exchanged, also not those that wait, and neither are their zygotes."""
    keeper = SharedKeeper(remit)
    code = "import os; print(os.getcwd(), os.environ['HOME'], os.path.expanduser('~'), os.path.exists('/workspace'), sorted(os.listdir()))\nopen('left', 'w')"
    flags = {"/workspace": (), "/home/user": ("--workspace", "/home/user"), "/mnt/data": ("--workspace", "/mnt/data")}
    for place in flags:
        keeper.await_child(*flags[place])
    for _ in range(3):
        for place in flags:
            result = keeper.warm(code, *flags[place])
            assert result["stdout"] == f"{place} {place} {place} {place == '/workspace'} []\n", result
    assert len(keeper.status()["zygotes"]) == 3
    aliased = keeper.warm(code, "--workspace", "/mnt/data", "--workspace-alias", "/workspace")
    assert aliased["stdout"] == "/mnt/data /mnt/data /mnt/data True []\n"
    assert len(keeper.status()["zygotes"]) == 3
    keeper.close()


# ---- sessions and branches ----


@pytest.fixture(params=["private", "shared"])
def client(request, remit):
    shared = SharedKeeper(remit) if request.param == "shared" else None
    policy = {"python": PYTHON, "workspace": "/home/user", "workspace_aliases": ["/workspace"]}
    one = SessionClient(remit, shared.env if shared else {"REMIT_KEEPER": ""})
    one.shared = shared
    if shared:
        one.warm_up(policy=policy, forkable=1)
    one.open(policy=policy, forkable=1)
    yield one
    one.leave()
    if shared:
        shared.close()


def names(client, path: str, **more) -> list[str]:
    return [e["path"] for e in client.request("file", op="list", path=path, **more)["entries"]]


def test_files_of_session_have_one_name(client):
    for path in ("a", "/home/user/b", "/workspace/d/c", "/workspace/../workspace//e"):
        (entry,) = client.request("file", op="write", path=path, data="x")["entries"]
        assert entry["path"] == "/home/user/" + path.removeprefix("/workspace/../workspace/").removeprefix("/workspace/").removeprefix("/home/user/").lstrip("/"), entry
    for path in (".", "/home/user", "/workspace", "/workspace/"):
        assert names(client, path) == [f"/home/user/{n}" for n in "abde"]
    assert client.request("file", op="stat", path="/workspace")["entries"][0]["type"] == client.request("file", op="stat", path=".")["entries"][0]["type"]
    assert client.out("import os; os.symlink('/workspace/d', 'l'); print(sorted(os.listdir('/workspace')))") == "['a', 'b', 'd', 'e', 'l']\n"
    (link,) = client.request("file", op="stat", path="l")["entries"]
    assert link["path"] == "/home/user/l"
    assert "failed" not in client.request("file", op="move", path="/workspace/a", to="/home/user/moved")
    for path in ("/home/user", "/workspace", ".", "/"):
        assert "failed" in client.request("file", op="remove", path=path)
    assert "failed" not in client.request("file", op="remove", path="/workspace/d")
    assert names(client, ".") == [f"/home/user/{n}" for n in ("b", "e", "l", "moved")]
    assert "failed" in client.request("file", op="write", path="/home/x", data="x")


def test_branch_has_copy_at_same_place(client):
    assert client.run("import os\nopen('f', 'w').write('both')\nos.mkdir('d')\nos.chdir('/workspace/d')")["status"] == "ok"
    reply = client.request("fork", branch="b", session="s")
    assert "failed" not in reply, reply
    assert client.out("open('/workspace/f', 'a').write(' branch')\nprint(os.getcwd(), open('/home/user/f').read())", session="b") == "/home/user/d both branch\n"
    assert client.out("print(os.getcwd(), open('/home/user/f').read(), os.path.expanduser('~'))") == "/home/user/d both /home/user\n"


def test_branch_with_mapped_file_of_workspace_is_refused(client):
    """Both would share the mapping, wherever the workspace is. The descriptor is closed, so that only the path tells."""
    code = "import ctypes\nf = open('f', 'w+b'); f.write(bytes(4096)); f.flush()\nm = ctypes.CDLL(None).mmap(None, 4096, 1, 2, f.fileno(), 0)\nf.close()"
    assert client.run(code)["status"] == "ok"
    reply = client.request("fork", branch="b", session="s")
    assert "failed" in reply and "/home/user/f" in str(reply), reply
