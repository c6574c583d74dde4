"""Files that are exported from a jail, and files that must not be."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import signal
import stat
import subprocess

import pytest
from conftest import enforced
from leftovers import groups, mounts, remaining, threads_named
from shared_keeper import SharedKeeper

SLOW = ("--timeout", "110s", "--cpu", "110s", "--export-time", "110s")
FALLBACK = ("--memory-fallback", "per_process", "--cpu-fallback", "per_process")


class Place:
    """A folder for artifacts, and the runs that fill it."""

    def __init__(self, remit, run):
        self.remit, self.run = remit, run
        self.renew()

    def renew(self) -> pathlib.Path:
        self.folder = self.remit.folder / f"artifacts-{secrets.token_hex(4)}"
        return self.folder

    def __call__(self, code: str, *flags, export=("**",)) -> dict:
        self.renew()
        patterns = [f for pattern in export for f in ("--export", pattern)]
        self.result = self.run(code, *patterns, "--artifacts", str(self.folder), *flags)
        return self.result

    def files(self) -> dict[str, bytes]:
        """All files in the folder, which must be exactly those in the result."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            mode = path.lstat().st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), path
            if stat.S_ISREG(mode):
                assert stat.S_IMODE(mode) == 0o600
                found[str(path.relative_to(self.folder))] = path.read_bytes()
        listed = self.result["artifacts"]
        assert [a["path"] for a in listed] == sorted(found)
        for a in listed:
            assert a["size_bytes"] == len(found[a["path"]])
            assert a["host_path"] == str(self.folder / a["path"])
        return found

    def skipped(self) -> dict[str, str]:
        return {s["path"]: s["reason"] for s in self.result["artifacts_skipped"]}


@pytest.fixture(params=["cold", "warm"])
def place(request, remit):
    if request.param == "cold":
        yield Place(remit, remit.json)
        return
    keeper = SharedKeeper(remit)
    place = Place(remit, keeper.json)

    def run(code, *flags):
        # Each run has another folder, but all have the same policy.
        keeper.await_child(*flags)
        result = keeper.json(code, *flags)
        assert result["start"] == "warm", result
        return result

    place.run = run
    yield place
    keeper.close()


@pytest.fixture
def quick(remit):
    """A place for tests in which only the files differ."""
    return Place(remit, remit.json)


def test_matching_files_are_exported(place):
    result = place(
        "import os; os.makedirs('out/deep'); open('a.csv', 'w').write('x,y'); open('b.txt', 'w').write('b')\n"
        "open('out/deep/c.bin', 'wb').write(bytes(range(256)) * 1000); open('.hidden.csv', 'w'); open('out/e', 'w')\n"
        "open('/tmp/t.csv', 'w').write('no'); print('done')",
        export=("*.csv", "/workspace/out"),
    )
    assert result["status"] == "ok" and result["stdout"] == "done\n" and result["exit_code"] == 0
    assert place.files() == {"a.csv": b"x,y", "out/deep/c.bin": bytes(range(256)) * 1000, "out/e": b""}
    assert [a["content_type"] for a in result["artifacts"]] == ["text/csv", "application/octet-stream", "text/plain"]
    assert place.skipped() == {}


REPOSITORY = """
import os
for folder in ('.', 'sub', '.dot'):
    for name in ('HEAD', 'config', 'objects/keep', 'refs/heads/keep'):
        os.makedirs(os.path.dirname(f'{folder}/{name}'), exist_ok=True); open(f'{folder}/{name}', 'w').write(name)
"""
HEAD = "it could make a git repository (a pattern that ends in HEAD allows it)"


def test_git_repository_is_exported_without_head(place):
    """FS-W8: git would obey the repository's config as soon as a user enters the folder."""
    place(REPOSITORY)
    assert place.skipped() == {"HEAD": HEAD, "sub/HEAD": HEAD}
    assert {"config", "objects/keep", "sub/config"} < set(place.files())
    place(REPOSITORY, export=("sub", "H*", ".dot/**"))
    assert place.skipped() == {"HEAD": HEAD, "sub/HEAD": HEAD}
    assert ".dot/HEAD" in place.files()
    place(REPOSITORY, export=("**", "sub/HEAD"))
    assert place.skipped() == {"HEAD": HEAD} and place.files()["sub/HEAD"] == b"HEAD"
    place(REPOSITORY, export=("**/HEAD",))
    assert place.skipped() == {} and set(place.files()) == {"HEAD", "sub/HEAD"}


def test_artifact_fields_are_enforced_only_with_export_paths(remit, quick):
    result = quick("open('a', 'w')")
    fields = ("artifact_file_bytes", "artifact_bytes", "artifact_files", "artifact_depth", "artifact_time")
    assert enforced(result, "artifact_export_paths") == ["openat2"]
    for field in fields:
        assert enforced(result, field) == ["export_cap"]
    rows = [r["field"] for r in remit.json("pass")["enforcement"]]
    assert not [r for r in rows if r.startswith("artifact")]


@pytest.mark.parametrize(
    "ending,status",
    [
        ("", "ok"),
        ("1 / 0", "error"),
        ("import sys; sys.exit(3)", "exit"),
        ("import os; os._exit(3)", "exit"),
        ("while True: pass", "timeout"),
        ("import os; os.kill(os.getpid(), 9)", "killed"),
        ("import os; os.abort()", "killed"),
        ("while True: print('x' * 10000)", "output_limit"),
    ],
)
def test_files_are_exported_whatever_the_ending(place, ending, status):
    flags = ("--timeout", "3s" if status == "timeout" else "60s", "--stdout-max", "1k", "--output-ceiling", "100")
    result = place(f"open('a', 'w').write('kept')\n{ending}", *flags)
    assert result["status"] == status, result
    assert place.files() == {"a": b"kept"}


def test_run_that_did_not_start_exports_nothing(quick, covers):
    result = quick("import os; open('a', 'w')", "--allow-import", "json")
    assert result["status"] == "rejected" and quick.files() == {}
    result = quick("open('a', 'w')", "--tier", "static")
    assert result["status"] == "ok" and quick.files() == {}
    for row in result["enforcement"]:
        covers(quick.remit, row["field"], *row["mechanisms"], tier="static")
    result = quick("open('a', 'w')", "--tier", "unsafe")
    assert (result["status"], result["error"]["where"]) == ("refused", "artifact_export_paths")


def test_exporting_run_is_answered_after_all_processes_died(remit):
    """Other runs are answered while the program's process still waits to be reaped."""
    name = f"w-{secrets.token_hex(4)}"
    code = f"import ctypes; ctypes.CDLL(None).prctl(15, b'{name}'); open('a', 'w')\n"
    keeper = SharedKeeper(remit)
    try:
        place = Place(remit, keeper.json)
        for _ in range(10):
            assert place(code)["status"] == "ok"
            assert not threads_named(name)
    finally:
        keeper.close()


# ---- A1 to A10: files of an attacker ----


def test_links_are_not_exported(place, covers):
    """A1."""
    code = (
        "import os\n"
        "open('good', 'w').write('good'); open('twice', 'w').write('x'); os.link('twice', 'again')\n"
        "for name, target in (('passwd', '/etc/passwd'), ('inner', 'good'), ('self', 'self'), ('dir', '/etc'), ('up', '..'),\n"
        "                     ('environ', '/proc/self/environ'), ('root', '/proc/1/root'), ('gone', '/nowhere')):\n"
        "    os.symlink(target, name)\n"
    )
    assert place(code, export=("*", "dir/*", "up/**", "root/etc/*"))["status"] == "ok"
    assert place.files() == {"good": b"good"}
    skipped = place.skipped()
    assert {n for n, why in skipped.items() if why == "a symbolic link"} == {
        "passwd", "inner", "self", "dir", "up", "environ", "root", "gone",
    }  # fmt: skip
    assert {n for n, why in skipped.items() if "hard links" in why} == {"twice", "again"}
    assert len(skipped) == 10
    covers(place.remit, "artifact_export_paths", "openat2")


def test_folders_swapped_until_end_export_nothing_foreign(place):
    """A2: all processes that could swap them are dead at the export."""
    code = (
        "import os, threading, time\n"
        "os.mkdir('out'); open('out/shadow', 'w').write('own'); os.symlink('/etc', 'evil')\n"
        "def swap():\n"
        "    while True:\n"
        "        os.rename('out', 'x'); os.rename('evil', 'out'); os.rename('out', 'evil'); os.rename('x', 'out')\n"
        "for _ in range(2): threading.Thread(target=swap, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    for _ in range(5):
        result = place(code, export=("out/**", "x/**", "evil/**"))
        assert result["status"] in ("ok", "error"), result
        files = place.files()
        assert set(files.values()) <= {b"own"} and {pathlib.Path(p).name for p in files} <= {"shadow"}, files


def test_special_files_are_not_exported(quick):
    """A3: the types that code can create. tests/unit/keeper/test_export.c has the others."""
    quick("import os; os.mkdir('out.csv'); open('out.csv/x', 'w'); open('a.csv', 'w')", export=("*.csv",))
    assert quick.files() == {"a.csv": b""}
    assert quick.skipped() == {"out.csv": "a folder"}


def test_names_with_control_characters_are_not_exported(place):
    """A5."""
    code = (
        "import os\n"
        "names = [b'a\\nb', b'\\x1b[2J', b'\\xff\\xfe', b'-rf', b'\\xc2\\x9bx', b'good name', b'n' * 255, 'é'.encode(), b'CON', b'Con', b'a\\\\b', b'..x', b'$(id)']\n"
        "for n in names: open(n, 'wb').write(b'x')\n"
        "os.mkdir(b'-d'); open(b'-d/x', 'w'); os.mkdir(b'd\\n'); open(b'd\\n/x', 'w')\n"
    )
    place(code, export=("**", "..x"))
    assert set(place.files()) == {"good name", "n" * 255, "é", "CON", "Con", "a\\b", "..x", "$(id)"}
    assert set(place.skipped().values()) == {"the name has characters that are not allowed"} and len(place.skipped()) == 7


def test_exported_files_are_limited_in_number(remit, covers):
    """A6."""
    place = Place(remit, remit.json)
    code = "for n in range(100_000):\n    open(str(n), 'w').close()"
    result = place(code, "--files", "150000", "--memory", "2G", *FALLBACK, "--export-files", "50", *SLOW)
    assert result["status"] == "ok", result
    assert len(place.files()) == 50
    assert len(result["artifacts_skipped"]) == 101
    assert result["artifacts_skipped"][-1] == {"path": "", "reason": "99850 more"}
    covers(remit, "artifact_files", "export_cap")


def test_exported_tree_is_limited_in_depth(place, covers):
    """A6."""
    code = (
        "import os\nfor n in range(1000):\n    open('f', 'w').close(); os.mkdir('d'); os.chdir('d')\n"
    )
    place(code, "--export-depth", "3")
    assert set(place.files()) == {"f", "d/f", "d/d/f"}
    assert place.skipped() == {"d/d/d": "deeper than artifact_depth"}
    place(code, "--export-depth", "64")
    assert len(place.files()) == 64
    covers(place.remit, "artifact_depth", "export_cap")


def test_exported_files_are_limited_in_size(place, covers):
    """A7: a file counts with its apparent size."""
    code = (
        "open('sparse', 'wb').truncate(200 << 20); open('hole', 'wb').truncate(100_000)\n"
        "for n in 'abc': open(n, 'w').write('x' * 40_000)\n"
    )
    place(code, "--export-file-max", "1M")
    assert set(place.files()) == {"hole", "a", "b", "c"}
    assert place.skipped() == {"sparse": "larger than artifact_file_bytes"}
    place(code, "--export-file-max", "50000", "--export-max", "100000")
    assert len(place.files()) == 2
    assert sorted(place.skipped().values()) == ["artifact_bytes is reached", *["larger than artifact_file_bytes"] * 2]
    covers(place.remit, "artifact_file_bytes", "export_cap")
    covers(place.remit, "artifact_bytes", "export_cap")


def test_growing_file_is_exported_as_writer_left_it(place):
    """A8: the export has the content at the moment when the writer died."""
    code = (
        "import os, threading, time\nf = open('log', 'wb', buffering=0)\n"
        "def grow():\n    while True: f.write(b'x' * 1000)\n"
        "threading.Thread(target=grow, daemon=True).start()\n"
        "while not os.path.getsize('log'): time.sleep(0.01)\n"
        "time.sleep(0.2)\nos._exit(0)\n"
    )
    place(code, "--disk", "16M")
    (content,) = place.files().values()
    assert content and set(content) == {ord("x")}


def test_processes_that_outlive_program_are_dead_at_export(quick):
    """A8, with processes that outlive the program."""
    code = (
        "import os, time\n"
        "for n in range(3):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); f = open(f'log{n}', 'wb', buffering=0)\n"
        "        while True: f.write(b'x')\n"
        "while len(os.listdir()) < 3: time.sleep(0.01)\n"
        "time.sleep(0.3)\n"
    )
    result = quick(code, "--subprocess", *FALLBACK)
    assert result["status"] == "ok", result
    assert set(quick.files()) == {"log0", "log1", "log2"}


def test_unreadable_files_are_exported(place):
    code = (
        "import os; os.mkdir('d'); open('d/a', 'w').write('a'); open('b', 'w').write('b')\n"
        "os.chmod('b', 0); os.chmod('d/a', 0o4000); os.chmod('d', 0); os.chmod('.', 0)"
    )
    place(code)
    assert place.files() == {"b": b"b", "d/a": b"a"}


def test_mount_in_workspace_is_not_exported(quick):
    """A10."""
    data = quick.remit.file("mounted.csv", "of the host")
    result = quick("print(open('m.csv').read())", "--mount", f"{data}:/workspace/m.csv")
    assert result["stdout"] == "of the host\n", result
    assert quick.files() == {} and quick.skipped() == {"m.csv": "mounted by the policy"}


def test_export_time_is_limited(remit, covers):
    place = Place(remit, remit.json)
    code = "for n in range(3000): open(str(n), 'w').write('x' * 1000)"
    result = place(code, "--export-time", "1ms", "--export-files", "100000")
    assert result["status"] == "ok"
    assert len(place.files()) < 3000
    (reason,) = place.skipped().values()
    assert "artifact_time" in reason
    covers(remit, "artifact_time", "export_cap")


# ---- the caller's folder ----


def test_existing_files_are_never_changed(remit):
    folder = remit.folder / f"kept-{secrets.token_hex(4)}"
    folder.mkdir()
    remit.own(folder)
    victim = remit.file("artifact-victim", "untouched")
    remit.file(f"{folder.name}/a", "old")
    (folder / "link").symlink_to(victim)
    (folder / "deep").symlink_to(remit.folder)
    code = "import os\nfor n in ('a', 'link', 'new'): open(n, 'w').write('code')\nos.mkdir('deep'); open('deep/planted', 'w')"
    result = remit.json(code, "--export", "**", "--artifacts", folder)
    assert [a["path"] for a in result["artifacts"]] == ["new"]
    assert (folder / "a").read_text() == "old" and victim.read_text() == "untouched" and not (remit.folder / "planted").exists()
    reasons = {s["path"]: s["reason"] for s in result["artifacts_skipped"]}
    assert set(reasons) == {"a", "link", "deep/planted"} and "exists already" in reasons["a"]
    assert sorted(os.listdir(folder)) == ["a", "deep", "link", "new"]


def test_skipped_artifacts_are_reported_on_stderr(any_remit):
    folder = any_remit.folder / f"skipped-{secrets.token_hex(4)}"
    code = "import os; os.symlink('x', 'a\\x1b[2J'); open('good', 'w')"
    done = any_remit("run", "--export", "*", "--artifacts", folder, "-c", code)
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "remit: not exported: a" in done.stderr and "\x1b" not in done.stderr
    assert "symbolic link" in done.stderr and os.listdir(folder) == ["good"]


def test_export_and_artifacts_need_each_other(any_remit):
    for args, words in (
        (("--export", "*"), "--artifacts"),
        (("--artifacts", "x"), "--export"),
        (("--export", "*", "--artifacts", "/nowhere/at/all"), "/nowhere/at/all"),
        (("--export", "*", "--artifacts", "/etc/passwd"), "/etc/passwd"),
    ):
        done = any_remit("run", *args, "-c", "print('ran')")
        assert done.returncode == 2 and words in done.stderr and not done.stdout, done


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../b", "/workspace", "x" * 300])
def test_pattern_outside_workspace_is_refused(any_remit, pattern):
    result = any_remit.json("print('ran')", "--export", pattern, "--artifacts", "refused")
    assert result["status"] == "refused" and "artifact_export_paths" in result["error"]["value"], result


def test_batch_without_artifacts_folder_exports_nothing(any_remit):
    jobs = any_remit.file("jobs.jsonl", json.dumps({"code": "open('a', 'w')", "policy": {"artifact_export_paths": ["*"]}}) + "\n")
    (line,) = any_remit("batch", "--quiet", jobs).stdout.splitlines()
    result = json.loads(line)
    assert result["status"] == "ok" and result["artifacts"] == [] == result["artifacts_skipped"], result


# ---- the keeper ----


def test_large_files_need_little_memory_in_keeper(remit):
    """The keeper reads no faster than the client."""
    keeper = SharedKeeper(remit)
    place = Place(remit, keeper.json)
    try:
        code = "for n in range(4):\n    with open(str(n), 'wb') as f:\n        for _ in range(40): f.write(bytes(1 << 20))"
        flags = ("--memory", "2G", "--disk", "200M", *SLOW)
        place(code, *flags)
        assert {len(c) for c in place.files().values()} == {40 << 20}
        with open(f"/proc/{keeper.pid}/status") as f:
            (peak,) = [int(line.split()[1]) for line in f if line.startswith("VmHWM")]
        assert peak < 60_000
    finally:
        keeper.close()


def test_other_runs_do_not_wait_for_large_export(remit):
    keeper = SharedKeeper(remit)
    try:
        keeper.await_child()
        code = "for n in range(20000): open(str(n), 'w').write('x')"
        folder = remit.folder / f"slow-{secrets.token_hex(4)}"
        out = open(remit.file("slow.json"), "r+")
        slow = remit.popen(
            "run", "--json", "--files", "30000", "--memory", "2G", *FALLBACK, "--export-files", "100000", *SLOW,
            "--export", "*", "--artifacts", folder, "-c", code,
            env=keeper.env, stdin=subprocess.DEVNULL, stdout=out,
        )  # fmt: skip
        meanwhile = 0
        while slow.poll() is None:
            under_way = folder.exists() and any(folder.iterdir())
            assert keeper.json("print(1)")["stdout"] == "1\n"
            meanwhile += under_way and len(os.listdir(folder)) < 16000
        assert meanwhile  # runs that were answered while more remained than a socket can buffer
        out.seek(0)
        assert len(json.load(out)["artifacts"]) == 20000
    finally:
        keeper.close()


def test_exports_leak_no_descriptor_and_no_file_system(remit):
    keeper = SharedKeeper(remit)

    def descriptors() -> int:
        return len(os.listdir(f"/proc/{keeper.pid}/fd"))

    try:
        place = Place(remit, keeper.json)
        flags = ("--file", remit.file("inputs/data", "x" * 100_000))
        for _ in range(5):
            place("open('a', 'w')", *flags)
        keeper.until(keeper.is_full)
        before = descriptors()
        for n in range(30):
            place("1 / 0" if n % 2 else "import os; os.mkdir('d'); open('d/a', 'w')", *flags)
        keeper.until(lambda: keeper.is_full() and descriptors() <= before)
    finally:
        keeper.close()


def test_client_killed_during_export_leaves_nothing(remit):
    keeper = SharedKeeper(remit)
    try:
        code = "for n in range(100): open(str(n), 'wb').truncate(1 << 20)"
        folder = remit.folder / f"left-{secrets.token_hex(4)}"
        flags = ("--export", "*", "--artifacts", folder)
        for _ in range(3):
            client = remit.popen("run", "--json", *flags, "-c", code, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            keeper.until(lambda: folder.exists() and any(folder.iterdir()))
            client.send_signal(signal.SIGKILL)
            client.wait()
            for path in folder.iterdir():
                path.unlink()
        keeper.until(lambda: keeper.status()["running"] == 0)
        assert keeper.json("print(1)")["stdout"] == "1\n"
    finally:
        keeper.close()
    assert not remaining(groups) and not mounts()


def test_stopped_client_does_not_outlast_export_time(remit):
    keeper = SharedKeeper(remit)
    try:
        code = "for n in range(100): open(str(n), 'wb').truncate(1 << 20)"
        folder = remit.folder / f"asleep-{secrets.token_hex(4)}"
        client = remit.popen(
            "run", "--json", "--export", "*", "--export-time", "2s", "--artifacts", folder, "-c", code,
            env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        keeper.until(lambda: folder.exists() and any(folder.iterdir()))
        client.send_signal(signal.SIGSTOP)
        keeper.until(lambda: not keeper.status()["running"])  # the export's time is over
        assert keeper.json("print(1)")["stdout"] == "1\n"
        client.send_signal(signal.SIGCONT)
        result = json.loads(client.communicate(timeout=120)[0])
        assert result["status"] == "ok"
    finally:
        keeper.close()
