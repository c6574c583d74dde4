"""Files that a job brings."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess

import pytest
from conftest import enforced
from shared_keeper import SharedKeeper

SHOW = "import os; p = {!r}; s = os.stat(p); print(open(p).read(), oct(s.st_mode & 0o7777), s.st_uid, os.access(p, os.W_OK))"


@pytest.fixture(params=["cold", "warm"])
def run(request, remit):
    """Runs one program, in a jail made for it or in a warm one."""
    if request.param == "cold":
        yield remit.json
        return
    keeper = SharedKeeper(remit)
    yield keeper.warm
    keeper.close()


def test_input_file_is_writable_copy(run, remit):
    path = remit.file("data.csv", "1,2,3")
    for flag, inside in (
        (f"{path}:in.csv", "in.csv"),
        (f"{path}:/workspace/deep/er/in.csv", "deep/er/in.csv"),
        (f"{path}:./a//b.csv", "a/b.csv"),
        (f"{path}", "data.csv"),
        ("data.csv", "data.csv"),
    ):
        result = run(SHOW.format(f"/workspace/{inside}"), "--file", flag)
        assert result["stdout"] == "1,2,3 0o644 1000 True\n", result
    result = run("open('in.csv', 'a').write('x'); import os; os.rename('in.csv', 'b'); print(open('b').read())", "--file", f"{path}:in.csv")
    assert result["stdout"] == "1,2,3x\n" and path.read_text() == "1,2,3"


def test_many_input_files_arrive_unchanged(run, remit):
    contents = {f"f{n}": os.urandom(n * 7919) for n in range(20)}
    contents["empty"] = b""
    contents["large"] = os.urandom(5 << 20)
    flags = []
    for name, content in contents.items():
        flags += ["--file", f"{remit.file(name, content)}:in/{name}"]
    code = "import hashlib, os\nfor n in sorted(os.listdir('in')): print(n, hashlib.sha256(open('in/' + n, 'rb').read()).hexdigest())"
    result = run(code, *flags)
    assert result["stdout"].splitlines() == [f"{n} {hashlib.sha256(c).hexdigest()}" for n, c in sorted(contents.items())]


def test_input_file_is_absent_from_next_run(run, remit):
    path = remit.file("secret", "x")
    assert run("import os; print(os.listdir())", "--file", path)["stdout"] == "['secret']\n"
    assert run("import os; print(os.listdir())")["stdout"] == "[]\n"


def test_input_file_may_be_named_like_runtime_module(run, remit):
    path = remit.file("inputs.py", "answer = 42")
    code = "import sys; sys.path.insert(0, '/workspace'); import inputs; print(inputs.answer)"
    assert run(code, "--file", path)["stdout"] == "42\n"


@pytest.mark.parametrize("inside", ["/etc/passwd", "/tmp/x", "../x", "a/../../x", "/workspace", "/workspacer/x", ".", "x" * 300])
def test_input_path_outside_workspace_is_refused(any_remit, inside):
    path = any_remit.file("inputs/data", "x")
    result = any_remit.json("print('ran')", "--file", f"{path}:{inside}")
    assert result["status"] == "refused" and "input file" in result["error"]["value"], result


def test_conflicting_input_paths_are_refused(any_remit):
    path = any_remit.file("inputs/data", "x")
    for one, other in (("a", "a"), ("a", "/workspace/./a"), ("a", "a/b"), ("a/b", "a")):
        result = any_remit.json("print('ran')", "--file", f"{path}:{one}", "--file", f"{path}:{other}")
        assert result["status"] == "refused" and "input file" in result["error"]["value"], result


def test_input_that_is_not_file_is_refused(remit):
    fifo = remit.folder / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    closed = remit.file("inputs/closed", "x")
    closed.chmod(0)
    for path, words in (
        (fifo, "special"), ("/dev/zero", "special"), (remit.folder, "a folder"), (remit.folder / "missing", "No such file"),
        *(() if remit.by_root else ((closed, "Permission denied"),)),
    ):  # fmt: skip
        done = remit("run", "--file", f"{path}:x", "-c", "print('ran')")
        assert done.returncode == 2 and words in done.stderr and str(path) in done.stderr and not done.stdout, done
    for flag in (":x", "", f"{closed}:"):
        done = remit("run", "--file", flag, "-c", "print('ran')")
        assert done.returncode == 2 and "--file" in done.stderr
    done = remit("run", "--file")
    assert done.returncode == 2 and "requires a value" in done.stderr


def test_input_sizes_are_limited(remit, covers):
    path = remit.file("inputs/data", b"x" * 3_000_000)
    for flags, where in (
        (("--input-max", "2M"), "input_bytes"),
        (("--disk", "2M"), "disk_bytes"),
        (("--file-size", "2M"), "file_bytes"),
    ):
        result = remit.json("print('ran')", *flags, "--file", f"{path}:x")
        assert result["status"] == "refused" and result["stdout"] == "", result
        assert where in result["error"]["value"], result
    covers(remit, "input_bytes", *enforced(remit.json("pass"), "input_bytes"))
    result = remit.json("print('ran')", "--files", "16", *(f for n in range(20) for f in ("--file", f"{path}:{n}")))
    assert result["status"] == "refused" and result["error"]["where"] == "files", result
    result = remit.json("import os; print(os.path.getsize('x'))", "--disk", "3M", "--file", f"{path}:x")
    assert result["stdout"] == "3000000\n", result
    for tier in ("static", "unsafe"):
        result = remit.json("print(1)", "--tier", tier, "--input-max", "2M", "--file", f"{path}:x")
        assert result["status"] == "refused" and "input_bytes" in result["error"]["value"], result
        covers(remit, "input_bytes", "frame_cap", tier=tier)
    path.unlink()


def test_input_files_count_against_jail_memory(remit):
    """The input is larger than the jail's memory. Its limit applies, although the program is not the one that
    writes."""
    path = remit.file("inputs/data")
    os.truncate(path, 220 << 20)
    memory = ("--memory", "200M") if remit.by_root else ()
    result = remit.json("print('ran')", *memory, "--input-max", "300M", "--file", f"{path}:x")
    path.unlink()
    assert result["stdout"] == ""
    if remit.by_root:
        assert result["status"] == "memory_limit", result
    else:  # without a cgroup, files are a share of the memory
        assert (result["status"], result["error"]["where"]) == ("refused", "disk_bytes"), result


def test_input_file_in_mount_is_program_error(any_remit):
    folder = any_remit.folder / "mounted"
    folder.mkdir(exist_ok=True)
    any_remit.own(folder)
    path = any_remit.file("inputs/data", "x")
    result = any_remit.json("print('ran')", "--mount", f"{folder}:/workspace/m", "--file", f"{path}:m/x")
    assert (result["status"], result["stdout"]) == ("error", ""), result
    assert result["error"]["name"] == "OSError" and "m/x" in result["error"]["value"]


def test_validated_code_gets_its_input_files(run, remit):
    path = remit.file("inputs/data", "x")
    result = run("import json; print(open('data').read())", "--allow-import", "json", "--file", path)
    assert result["stdout"] == "x\n", result
    result = run("import os", "--allow-import", "json", "--file", path)
    assert result["status"] == "rejected"


def test_unsafe_tier_refuses_input_files(any_remit):
    path = any_remit.file("inputs/data", "x")
    result = any_remit.json("print('ran')", "--tier", "unsafe", "--file", path)
    assert (result["status"], result["error"]["where"]) == ("refused", "tier"), result


def test_input_file_larger_than_every_buffer_arrives(remit):
    path = remit.file("big", os.urandom(1 << 20) * 24)
    code = "import hashlib; print(hashlib.sha256(open('big', 'rb').read()).hexdigest())"
    done = remit("run", "--json", "--file", path, "-c", code)
    want = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
    assert json.loads(done.stdout)["stdout"] == want + "\n"
    path.unlink()
