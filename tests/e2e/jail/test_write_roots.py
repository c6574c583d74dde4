"""Host folders that code may change, in the modes rw, overlay and direct."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import time

import pytest
from conftest import enforced, make_remit, skip_or_fail
from leftovers import name_of, processes, remaining
from shared_keeper import SharedKeeper, children, kill
from waiting import until
from host_folder import Folder, folder, kinds, quick, reasons  # noqa: F401


# ---- writing changes ----


def test_changes_are_written_after_run(folder, covers):
    folder.put("changed")
    folder.put("deleted")
    folder.put("kept")
    folder.put("sub/gone/x")
    result = folder(
        "open('changed', 'a').write(' and new'); os.remove('deleted'); shutil.rmtree('sub')\n"
        "os.makedirs('made/deep'); open('made/deep/f', 'w').write('f'); print(open('kept').read())"
    )
    assert (result["status"], result["stdout"], result["committed"]) == ("ok", "old\n", True), result
    assert kinds(result) == {
        "/data/changed": "modified", "/data/deleted": "deleted", "/data/sub/": "deleted",
        "/data/made/": "created", "/data/made/deep/": "created", "/data/made/deep/f": "created",
    }  # fmt: skip
    assert result["changes_skipped"] == []
    assert result["changes"][0]["host_path"] == str(folder.path / "changed")
    assert folder.names() == ["changed", "kept", "made", "made/deep", "made/deep/f"]
    assert folder.text("changed") == "old and new" and folder.text("made/deep/f") == "f"
    assert enforced(result, "mounts") == ["mount_namespace", "landlock", "overlay", "commit"]
    covers(folder.remit, "mounts", "overlay", "commit")
    covers(folder.remit, "filesystem_write_roots", "commit")


def test_write_option_mounts_folder_at_its_path(folder, covers):
    folder.put("a")
    result = folder.run(f"open({str(folder.path / 'a')!r}, 'w').write('new')", "--write", folder.path)
    assert result["status"] == "ok", result
    assert folder.text("a") == "new"
    assert enforced(result, "filesystem_write_roots") == ["mount_namespace", "landlock", "overlay", "commit"]
    outside = folder.remit.file(f"{folder.path.name}-outside", "mine")
    result = folder.run(f"open({str(outside)!r}, 'w').write('no')", "--write", folder.path)
    assert result["status"] == "error" and outside.read_text() == "mine"
    covers(folder.remit, "filesystem_write_roots", "mount_namespace", "landlock", "overlay")


def test_host_folder_is_unchanged_during_run(quick):
    quick.put("a")
    seen = []
    result = quick.during("open('a', 'w').write('new')", lambda: seen.append(quick.text("a")))
    assert seen == ["old"] and result["status"] == "ok" and quick.text("a") == "new"


def test_overlay_changes_are_discarded(folder, covers):
    folder.put("a")
    folder.put("sub/b")
    result = folder("open('a', 'w').write('new'); shutil.rmtree('sub'); open('c', 'w'); print(sorted(os.listdir()))", mode="overlay")
    assert result["stdout"] == "['a', 'c']\n", result
    assert (result["changes"], result["changes_skipped"], result["committed"]) == ([], [], None)
    assert folder.names() == ["a", "sub", "sub/b"] and folder.text("a") == "old"
    assert enforced(result, "mounts") == ["mount_namespace", "landlock", "overlay"]
    covers(folder.remit, "mounts", "overlay")


def test_next_run_reads_written_changes(folder):
    for n in range(5):
        result = folder("p = pathlib.Path('n'); n = int(p.read_text()) if p.exists() else 0; p.write_text(str(n + 1)); print(n)")
        assert result["stdout"] == f"{n}\n" and result["changes_skipped"] == [], result
    assert folder.text("n") == "5"


def test_direct_mode_changes_folder_itself_without_limits(folder):
    folder.put("a")
    result = folder("open('a', 'w').write('new'); open('b', 'w'); os._exit(3)", mode="direct")
    assert result["exit_code"] == 3 and folder.text("a") == "new" and folder.names() == ["a", "b"]
    assert (folder.path / "b").stat().st_uid == folder.path.stat().st_uid
    rows = {r["field"]: r for r in result["enforcement"]}
    assert rows["disk_bytes"]["strength"] == rows["files"]["strength"] == "fallback"
    assert "mode direct" in rows["disk_bytes"]["note"] and "without limits" in rows["mounts"]["note"]
    assert "overlay" not in rows["mounts"]["mechanisms"]


def test_fsync_reaches_disk_only_in_direct_mode(folder):
    """RS19. An invalid descriptor shows the difference: the kernel refuses it, while Remit's answer is always 0."""
    code = (
        "f = open('a', 'w'); f.write('new'); f.flush(); os.fsync(f.fileno()); os.fdatasync(f.fileno())\n"
        "fd = os.open('.', os.O_RDONLY); os.fsync(fd)\n"
        "for call in os.fsync, os.fdatasync:\n"
        "    try: call(999); print('answered')\n"
        "    except OSError as e: print(e.errno)\n"
    )
    for mode, wanted in (("rw", "answered\n" * 2), ("overlay", "answered\n" * 2), ("direct", f"{errno.EBADF}\n" * 2)):
        result = folder(code, mode=mode)
        assert (result["status"], result["stdout"]) == ("ok", wanted), (mode, result)


def test_modes_times_owners_and_holes_are_preserved(folder):
    folder.put("script", "#!", 0o755)
    folder.put("private", "x", 0o600)
    result = folder(
        "for n in ('script', 'private'): open(n, 'a').write('more')\n"
        "open('new', 'w').close(); os.chmod('new', 0o640); os.utime('new', (1, 1_000_000_000))\n"
        "os.mkdir('dir', 0o750); os.chmod('dir', 0o750); open('dir/f', 'w')\n"
        "f = open('sparse', 'wb'); f.truncate(100 << 20); f.seek(50 << 20); f.write(b'x'); f.close()"
    )
    assert result["status"] == "ok" and result["changes_skipped"] == [], result
    mode = {n: stat.S_IMODE((folder.path / n).stat().st_mode) for n in folder.names()}
    assert (mode["script"], mode["private"], mode["new"], mode["dir"]) == (0o755, 0o600, 0o640, 0o750)
    assert (folder.path / "new").stat().st_mtime == 1_000_000_000
    owner = folder.path.stat()
    for name in folder.names():
        assert (folder.path / name).stat().st_uid == owner.st_uid, name
    sparse = (folder.path / "sparse").stat()
    assert sparse.st_size == 100 << 20 and sparse.st_blocks * 512 < 1 << 20


def test_root_writes_as_folder_s_owner(stage):
    if os.geteuid() != 0:
        skip_or_fail("only root can write as another user")
    remit = make_remit("root", stage)
    folder = Folder(remit, remit.json)
    for path in (folder.path, folder.put("a")):
        os.chown(path, 12345, 23456)
    result = folder("open('a', 'a').write('!'); open('b', 'w'); os.mkdir('c'); open('c/d', 'w')")
    assert result["changes_skipped"] == [] and result["committed"], result
    for name in ("a", "b", "c", "c/d"):
        st = (folder.path / name).stat()
        assert (st.st_uid, st.st_gid) == (12345, 23456), name


def test_file_only_opened_is_not_a_change(folder):
    folder.put("a")
    folder.put("b")
    result = folder("open('a', 'r+').close(); f = open('b', 'r+'); s = os.stat('b'); f.write('new'); f.close(); os.utime('b', ns=(s.st_atime_ns, s.st_mtime_ns))")
    assert kinds(result) == {"/data/b": "modified"}, result
    assert folder.text("b") == "new"


def test_file_and_folder_may_replace_each_other(folder):
    folder.put("file")
    folder.put("dir/x")
    folder.put("again/x")
    folder.put("again/y")
    result = folder(
        "os.remove('file'); os.mkdir('file'); open('file/in', 'w')\n"
        "shutil.rmtree('dir'); open('dir', 'w').write('now a file')\n"
        "shutil.rmtree('again'); os.mkdir('again'); open('again/y', 'w').write('new')"
    )
    assert result["changes_skipped"] == [], result
    assert folder.names() == ["again", "again/y", "dir", "file", "file/in"]
    assert folder.text("dir") == "now a file" and folder.text("again/y") == "new"


def test_folder_mode_is_written(folder):
    folder.put("dir/x")
    result = folder("os.chmod('dir', 0o700)")
    assert kinds(result) == {"/data/dir/": "mode"}, result
    assert stat.S_IMODE((folder.path / "dir").stat().st_mode) == 0o700


def test_files_without_owner_rights_are_written(folder):
    result = folder("os.mkdir('d'); open('d/f', 'w').write('x'); os.chmod('d/f', 0); os.chmod('d', 0o500)")
    assert result["changes_skipped"] == [] and kinds(result) == {"/data/d/": "created", "/data/d/f": "created"}, result


# ---- when changes are written ----

ENDS = {
    "error": ("1 / 0", ()),
    "exit": ("os._exit(1)", ()),
    "killed": ("os.kill(os.getpid(), 9)", ()),
    "timeout": ("import time; time.sleep(60)", ("--timeout", "5")),
}


@pytest.mark.parametrize("status", ENDS)
def test_failed_run_writes_nothing_unless_commit_always(quick, status):
    quick.put("a")
    code, flags = ENDS[status]
    result = quick(f"open('a', 'w').write('new')\n{code}", *flags)
    assert (result["status"], result["committed"]) == (status, False), result
    assert kinds(result) == {"/data/a": "modified"} and quick.text("a") == "old"
    result = quick(f"open('a', 'w').write('new')\n{code}", *flags, "--commit", "always")
    assert (result["status"], result["committed"]) == (status, True) and quick.text("a") == "new"


def test_dry_run_only_lists_changes(folder):
    folder.put("a")
    for flags in (("--dry-run",), ("--commit", "never")):
        result = folder("open('a', 'w').write('new'); open('.profile', 'w')", *flags)
        assert (kinds(result), result["committed"]) == ({"/data/a": "modified"}, False), result
        assert "protected" in reasons(result)["/data/.profile"]
        assert folder.text("a") == "old" and folder.names() == ["a"]


def test_dry_run_lists_changes_on_stderr(quick):
    quick.put("a")
    code = f"open('{quick.path}/a', 'w').write('new'); open('{quick.path}/b', 'w')"
    done = quick.remit("run", "--dry-run", "--write", quick.path, "-c", code)
    assert done.returncode == 0 and quick.names() == ["a"], done
    assert done.stderr == f"remit: would be modified: {quick.path}/a\nremit: would be created: {quick.path}/b\n"
    done = quick.remit("run", "--dry-run", "-c", "pass")
    assert done.returncode == 2 and "--write DIR" in done.stderr


def test_skipped_changes_are_reported_on_stderr(quick):
    quick.put("a")
    code = f"open('{quick.path}/a', 'w').write('new'); open('{quick.path}/.x', 'w')"
    done = quick.remit("run", "--write", quick.path, "-c", code)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"remit: not written: {quick.path}/.x: a protected name (--commit-name allows it)\n"
    done = quick.remit("run", "--write", quick.path, "-c", code + "; 1 / 0")
    assert "remit: 1 change was not written, since the program did not succeed (see --commit always)" in done.stderr


# ---- concurrent changes on the host ----

CONFLICT = "changed by others during the run"


def test_file_changed_on_host_is_not_overwritten(quick):
    for name in ("changed", "touched", "replaced", "deleted", "mine", "removed", "also", "dir/x"):
        quick.put(name)

    def others():
        quick.put("changed", "theirs")
        os.utime(quick.path / "touched", (1, 1))
        quick.put("new", "theirs")
        os.replace(quick.put("other", "theirs"), quick.path / "replaced")
        (quick.path / "deleted").unlink()
        shutil.rmtree(quick.path / "dir")
        quick.put("removed", "theirs")

    result = quick.during(
        "for n in ('changed', 'touched', 'replaced', 'mine', 'new'): open(n, 'a').write('!')\nos.remove('removed'); os.remove('also')",
        others, first="open('deleted', 'a').write('!'); open('dir/y', 'w')",
    )  # fmt: skip
    why = {line.split(": ")[2].rsplit("/", 1)[1]: line.split(": ")[3] for line in result["stderr"].splitlines() if "not written" in line}
    held = "held back, because other changes were skipped"
    assert why == {"changed": CONFLICT, "touched": CONFLICT, "new": CONFLICT, "replaced": CONFLICT, "removed": CONFLICT, "also": held, "": "deleted by others during the run"}, result
    assert kinds(result) == {"/data/mine": "modified", "/data/deleted": "created"}
    assert (quick.text("changed"), quick.text("replaced"), quick.text("new"), quick.text("removed")) == ("theirs",) * 4
    assert quick.text("mine") == "old!" and "dir" not in quick.names() and quick.text("also") == "old"


def test_folder_filled_on_host_is_not_deleted(quick):
    quick.put("dir/a")
    quick.put("deep/er/a")
    result = quick.during("shutil.rmtree('dir'); shutil.rmtree('deep')", lambda: (quick.put("dir/b"), quick.put("deep/er/b")))
    assert result["changes"] == [] and result["stderr"].count("not written") == 2, result
    assert {"dir/a", "dir/b", "deep/er/a", "deep/er/b"} < set(quick.names())


def test_folder_replaced_on_host_is_not_written(quick):
    """The new folder has a file with the same name, and no file in it is newer than the run."""
    quick.put("dir/a")
    quick.put("other/a", "theirs")

    def swap():
        (quick.path / "dir").rename(quick.path / "dir.old")
        (quick.path / "other").rename(quick.path / "dir")
        quick.put("dir/b")

    result = quick.during("open('dir/a', 'w').write('new')", swap)
    assert "its folder was changed by others" in result["stderr"], result
    assert quick.text("dir/a") == "theirs" and quick.text("dir.old/a") == "old"


def test_files_added_on_host_do_no_harm(quick):
    quick.put("dir/a")
    quick.put("b")
    result = quick.during("open('dir/a', 'w').write('new'); open('dir/mine', 'w'); open('b', 'w').write('new')", lambda: quick.put("dir/theirs"))
    assert "not written" not in result["stderr"], result
    assert quick.names() == ["b", "dir", "dir/a", "dir/mine", "dir/theirs"] and quick.text("dir/a") == "new"


def test_root_replaced_or_deleted_on_host_is_not_written(quick):
    quick.put("a")
    moved = quick.path.with_name(quick.path.name + "-moved")

    def replace():
        quick.path.rename(moved)
        quick.path.mkdir()
        quick.remit.own(quick.path)
        quick.put("a", "theirs")

    result = quick.during("open('a', 'w').write('new'); open('b', 'w')", replace)
    assert result["stderr"].count("the folder was replaced during the run") == 2
    assert quick.text("a") == "theirs" and quick.names() == ["a"] and (moved / "a").read_text() == "old"

    result = quick.during("open('b', 'w')", lambda: shutil.rmtree(quick.path))
    assert "the folder was replaced" in result["stderr"] and not quick.path.exists()


def test_concurrent_runs_do_not_overwrite_each_other(quick):
    quick.put("a")
    other = Folder(quick.remit, quick.run)
    other.path.rmdir()
    other.path = quick.path
    result = quick.during("open('a', 'a').write(' slow')", lambda: other("open('a', 'a').write(' quick')"))
    assert CONFLICT in result["stderr"] and quick.text("a") == "old quick"


def test_concurrent_runs_never_leave_partial_file(quick):
    """The file has the whole text of one run, and no temporary files are left."""
    sizes = [1 << 20, 2 << 20, 3 << 20, 4 << 20]
    quick.put("a", "x" * sizes[0])
    running = []
    for n, size in enumerate(sizes * 2):
        code = f"open('/data/a', 'w').write({str(n)!r} * {size}); open('/data/own-{n}', 'w').write('y')"
        running.append(quick.remit.popen("run", "--mount", f"{quick.path}:/data:rw", "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    for p in running:
        p.communicate(timeout=120)
        assert p.returncode == 0
    # On a busy machine a file that others replace at each try is kept next to it (docs/guide/files.md).
    saved = [name for name in quick.names() if name.startswith("a.remit-saved-")]
    for name in ["a", *saved]:
        text = quick.text(name)
        assert len(set(text)) == 1 and len(text) in sizes
    assert quick.names() == ["a", *saved, *(f"own-{n}" for n in range(8))]


# ---- limits and refusals ----


def test_disk_limit_applies_to_overlay(folder, covers):
    result = folder("open('a', 'wb').write(bytes(20 << 20))", "--disk", "10M", "--memory", "1G")
    assert result["status"] == "error" and "No space left" in result["error"]["value"], result
    assert folder.names() == []
    result = folder("for i in range(300): open(str(i), 'w')", "--files", "200")
    assert result["status"] == "error" and "No space left" in result["error"]["value"] and folder.names() == []
    covers(folder.remit, "disk_bytes", "tmpfs_size")
    covers(folder.remit, "files", "tmpfs_inodes")


def test_overlay_has_separate_size(quick):
    rules = [{"host": str(quick.path), "jail": "/data", "mode": "rw", "max_bytes": "4M"}]
    policy = quick.remit.file(f"{quick.path.name}.json", json.dumps({"mounts": rules, "memory_bytes": "1G"}))
    code = "open('/workspace/w', 'wb').write(bytes(40 << 20)); open('/data/a', 'wb').write(bytes(3 << 20))\nopen('/data/b', 'wb').write(bytes(3 << 20))"
    result = quick.remit.json(code, "--policy", policy, "--commit", "always")
    assert result["status"] == "error" and "No space left" in result["error"]["value"], result
    assert (quick.path / "a").stat().st_size == 3 << 20


@pytest.mark.parametrize("mode", ["ro", "direct"])
def test_unenforceable_overlay_size_is_refused(quick, mode):
    rules = [{"host": str(quick.path), "jail": "/data", "mode": mode, "max_bytes": "4M"}]
    policy = quick.remit.file(f"{quick.path.name}.json", json.dumps({"mounts": rules}))
    result = quick.remit.json("print('ran')", "--policy", policy)
    assert (result["status"], result["error"]["where"], result["stdout"]) == ("refused", "mounts", "")


def test_unusable_write_root_is_refused(quick):
    file = quick.put("file")
    link = quick.path / "link"
    link.symlink_to(quick.path / "gone")
    for path in (file, link, quick.path / "missing"):
        result = quick.run("print('ran')", "--write", path)
        assert (result["status"], result["stdout"]) == ("refused", ""), result
        assert result["error"]["where"] == "filesystem_write_roots"
    if not quick.remit.by_root:
        result = quick.run("print('ran')", "--write", "/usr/share")
        assert result["status"] == "refused" and "may write" in result["error"]["remedy"]
        result = quick.run("open('/share/x', 'w'); print(open('/share/x').read() == '')", "--mount", "/usr/share:/share:overlay")
        assert result["stdout"] == "True\n" and not os.path.exists("/usr/share/x"), result


def test_link_to_root_is_resolved_once_at_start(quick):
    link = quick.path.with_name(quick.path.name + "-link")
    link.symlink_to(quick.path)
    result = quick.remit.json("open('/data/a', 'w').write('new')", "--mount", f"{link}:/data:rw")
    assert result["committed"] and quick.text("a") == "new", result


def test_root_containing_mount_is_refused(remit):
    folder = Folder(remit, remit.json)
    folder.put("inner/x")
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    subprocess.run(["mount", "-t", "tmpfs", "none", folder.path / "inner"], check=True)
    try:
        result = folder("print('ran')")
        assert result["status"] == "refused" and "another file system is mounted" in result["error"]["value"], result
    finally:
        subprocess.run(["umount", folder.path / "inner"], check=True)
    assert folder("open('y', 'w')")["committed"]


def test_file_system_without_overlay_support_is_refused(quick):
    result = quick.run("print('ran')", "--mount", "/proc/sys:/data:overlay")
    assert (result["status"], result["error"]["where"], result["stdout"]) == ("refused", "mounts", ""), result


def test_full_host_disk_changes_nothing(remit):
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    folder = Folder(remit, remit.json)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "none", folder.path], check=True)
    try:
        remit.own(folder.path)
        folder.put("a")
        result = folder("open('a', 'w').write('new'); open('b', 'wb').write(bytes(3 << 20)); open('c', 'w').write('new')")
        assert result["status"] == "ok" and result["changes"] == [], result
        assert "No space left on device" in reasons(result)["/data/b"]
        assert folder.names() == ["a"] and folder.text("a") == "old"
    finally:
        subprocess.run(["umount", folder.path], check=True)


def test_read_only_file_system_is_refused(remit):
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    folder = Folder(remit, remit.json)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=755", "none", folder.path], check=True)
    try:
        result = folder("print('ran')")
        assert (result["status"], result["stdout"]) == ("refused", ""), result
    finally:
        subprocess.run(["umount", folder.path], check=True)


def test_file_system_with_coarse_times_is_refused(remit):
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    folder = Folder(remit, remit.json)
    image = remit.folder / f"{folder.path.name}.img"
    with open(image, "wb") as f:
        f.truncate(8 << 20)
    subprocess.run(["/sbin/mkfs.ext4", "-q", "-I", "128", image], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", image, folder.path], check=True)
    try:
        shutil.rmtree(folder.path / "lost+found")
        remit.own(folder.path)
        while time.time() % 1 < 0.1:
            time.sleep(0.01)  # poll: the clock has to show a fraction of a second
        result = folder("print('ran')")
        assert result["status"] == "refused" and "inexact timestamps" in result["error"]["value"], result
        assert folder("print('ran')", mode="overlay")["stdout"] == "ran\n"
    finally:
        subprocess.run(["umount", folder.path], check=True)


def test_unsafe_tier_has_no_overlay(quick):
    for flags in (("--write", quick.path), ("--mount", f"{quick.path}:/data:overlay"), ("--dry-run", "--write", quick.path)):
        result = quick.remit.json("print('ran')", "--tier", "unsafe", *flags)
        assert (result["status"], result["stdout"]) == ("refused", ""), result


def test_write_roots_are_limited_in_number(quick):
    flags = []
    for n in range(9):
        (quick.path / str(n)).mkdir()
        quick.remit.own(quick.path / str(n))
        flags += ["--mount", f"{quick.path}/{n}:/data/{n}:rw"]
    code = "for n in range(8): open(f'/data/{n}/f', 'w').write(str(n))"
    result = quick.run(code, *flags[:16])
    assert result["committed"] and [quick.text(f"{n}/f") for n in range(8)] == list("01234567"), result
    assert quick.run(code, *flags)["status"] == "refused"


def test_unchanged_files_cost_nothing(quick):
    """The cost depends on the number of changes. Deleted files must be examined."""
    for n in range(100):
        folder = quick.path / str(n)
        folder.mkdir()
        quick.remit.own(folder)
        for i in range(200):
            (folder / str(i)).touch()
            quick.remit.own(folder / str(i))
    result = quick("open('7/7', 'w').write('new'); shutil.rmtree('9'); print(sum(len(f) for _, _, f in os.walk('.')))", "--timeout", "200s")
    assert result["stdout"] == "19800\n" and result["changes_skipped"] == [], result
    assert quick.text("7/7") == "new" and not (quick.path / "9").exists()


def test_listed_changes_are_limited_in_number(quick):
    result = quick("for i in range(9000): open('a-rather-long-name-' * 5 + str(i), 'w')", "--timeout", "200s")
    assert result["changes"][-1]["kind"].endswith(" more") and len(result["changes"]) > 1000, result["changes"][-1]
    assert len(quick.names()) == 9000


# ---- killed processes ----


def stages(path: pathlib.Path) -> list[str]:
    return [n for n in os.listdir(path) if n.startswith(".remit-stage-")]


def await_stage(p, path: pathlib.Path) -> None:
    """Wait until changes are being written."""
    until(lambda: stages(path) or p.poll() is not None, every=0.002)
    assert p.poll() is None


def signal_children(keeper: int, number: int) -> None:
    """The committer, and possibly what is left of the jail."""
    for pid in children(keeper):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@pytest.mark.parametrize("moment", ["staging", "placing"])
def test_keeper_killed_during_commit_leaves_whole_files(quick, moment):
    """Each file has the old or the new content, and the next run removes the temporary files."""
    for n in range(1000):
        quick.put(str(n), "old" * 100)
    code = "for n in range(1000): open(f'/data/{n}', 'w').write('new' * 1000)"
    p = quick.remit.popen("run", "--disk", "200M", "--memory", "1G", "--mount", f"{quick.path}:/data:rw", "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_stage(p, quick.path)
    (keeper,) = children(p.pid)
    signal_children(keeper, signal.SIGSTOP)
    texts = {quick.text(str(n)) for n in range(1000)}
    assert texts == {"old" * 100} and stages(quick.path)
    if moment == "placing":  # this phase may be short
        signal_children(keeper, signal.SIGCONT)
        while quick.text("0")[:3] == "old" and p.poll() is None:
            pass
        texts.add("new" * 1000)
    stopped = children(keeper)
    kill(keeper)
    p.communicate(timeout=60)
    # A jail that was being built for the next run ends by itself unless it is stopped.
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert {quick.text(str(n)) for n in range(1000)} <= texts
    assert remaining(lambda: processes(quick.remit.command)) == []  # the committer has the lock of what it leaves
    assert quick("open('x', 'w')")["committed"]
    assert remaining(lambda: stages(quick.path)) == []
    assert quick.names() == sorted([*map(str, range(1000)), "x"])


def test_hanging_committer_is_killed(holes):
    """The test build accepts shorter deadlines."""
    folder = Folder(holes, holes.json)
    code = "for n in range(2000): open(f'/data/{n}', 'w').write('x' * 10000)"
    p = holes.popen("run", "--json", "--disk", "200M", "--memory", "1G", "--mount", f"{folder.path}:/data:rw", "-c", code, env={"REMIT_DEADLINES": "commit=3000"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    await_stage(p, folder.path)
    (keeper,) = children(p.pid)
    signal_children(keeper, signal.SIGSTOP)
    result = json.loads(p.communicate(timeout=120)[0])
    assert 'not all written within 3 s (deadline "commit")' in result["changes_skipped"][0]["reason"], result["changes_skipped"]


def test_stopped_keeper_finishes_commit(remit):
    keeper = SharedKeeper(remit)
    folder = Folder(remit, keeper.json)
    code = "for n in range(500): open(f'/data/{n}', 'w').write('x' * 1000)"
    p = remit.popen("run", "--mount", f"{folder.path}:/data:rw", "-c", code, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_stage(p, folder.path)
    keeper.close()
    p.communicate(timeout=60)
    assert len(folder.names()) == 500


def test_commit_leaves_no_temporary_files(folder):
    folder.put("a")
    folder.put("b/c")
    for code in ("open('a', 'w').write('1')", "os.remove('a')", "shutil.rmtree('b')", "open('.x', 'w')", "pass", "1/0"):
        folder(code)
        assert not any(n.startswith(".") for n in folder.names()), code


def test_other_runs_are_served_during_commit(remit):
    keeper = SharedKeeper(remit)
    folder = Folder(remit, keeper.json)
    try:
        code = "for n in range(500): open(f'/data/{n}', 'wb').write(bytes(100_000))"
        slow = remit.popen("run", "--disk", "200M", "--memory", "1G", "--mount", f"{folder.path}:/data:rw", "-c", code, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        await_stage(slow, folder.path)
        # A process that builds a jail also has the keeper's name, for a moment.
        (committer,) = keeper.until(lambda: found if len(found := [pid for pid in children(keeper.pid) if name_of(pid) == "remit"]) == 1 else None)
        os.kill(committer, signal.SIGSTOP)
        try:
            assert keeper.json("print(1)")["stdout"] == "1\n"
            assert stages(folder.path) and slow.poll() is None
        finally:
            os.kill(committer, signal.SIGCONT)
        assert slow.wait(timeout=120) == 0 and len(folder.names()) == 500
    finally:
        keeper.close()


def test_landlock_tier_has_only_direct_mode(remit, covers):
    folder = Folder(remit, remit.json)
    for mode in ("rw", "overlay"):
        result = remit.json("print('ran')", "--preset", "landlock", "--mount", f"{folder.path}:{folder.path}:{mode}")
        assert (result["status"], result["error"]["where"], result["stdout"]) == ("refused", "mounts", "")
    outside = remit.file(f"{folder.path.name}-outside", "mine")
    code = f"open('{folder.path}/a', 'w').write('new'); open({str(outside)!r}, 'w')"
    result = remit.json(code, "--preset", "landlock", "--mount", f"{folder.path}:{folder.path}:direct")
    if remit.by_root:
        assert result["status"] == "refused", result
    else:
        assert folder.text("a") == "new" and result["status"] == "error" and outside.read_text() == "mine", result
        assert enforced(result, "mounts") == ["landlock"]
    covers(remit, "filesystem_write_roots", "landlock", tier="landlock")
    result = remit.json("print('ran')", "--preset", "landlock", "--commit-name", ".x")
    assert (result["status"], result["error"]["where"]) == ("refused", "commit_names")
