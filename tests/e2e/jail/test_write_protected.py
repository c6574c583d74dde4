"""What is never written to host folders that code may change."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import enforced, skip_or_fail
from host_folder import Folder, folder, kinds, quick, reasons  # noqa: F401


def test_links_and_special_files_are_not_written(quick, covers):
    quick.put("a")
    result = quick(
        "os.symlink('/etc/passwd', 'link'); os.symlink('a', 'inner'); open('one', 'w'); os.link('one', 'two'); open('ok', 'w')"
    )
    assert reasons(result) == {
        "/data/link": "a symbolic link", "/data/inner": "a symbolic link",
        "/data/one": "more than one name (hard links)", "/data/two": "more than one name (hard links)",
    }, result  # fmt: skip
    assert quick.names() == ["a", "ok"]
    covers(quick.remit, "mounts", "commit")


def test_static_tier_changes_nothing(quick, covers):
    quick.put("a")
    result = quick("open('a', 'w').write('new')", "--tier", "static", "--commit", "always")
    assert (result["status"], result["changes"], quick.text("a")) == ("ok", [], "old"), result
    for row in result["enforcement"]:
        covers(quick.remit, row["field"], *row["mechanisms"], tier="static")


def test_folder_replaced_by_link_leads_nowhere(quick):
    """FS-W9."""
    quick.put("dir/x")
    outside = quick.remit.folder / f"{quick.path.name}-outside"
    outside.mkdir()
    result = quick(f"shutil.rmtree('dir'); os.symlink({str(outside)!r}, 'dir')")
    assert reasons(result)["/data/dir"] == "a symbolic link"
    assert quick.text("dir/x") == "old" and list(outside.iterdir()) == []


def test_host_link_is_replaced_and_never_followed(quick):
    target = quick.remit.file(f"{quick.path.name}-target", "mine")
    (quick.path / "link").symlink_to(target)
    result = quick("os.remove('link'); open('link', 'w').write('new')")
    assert result["changes_skipped"] == [], result
    assert target.read_text() == "mine" and quick.text("link") == "new" and not (quick.path / "link").is_symlink()


RENAMES = {
    "a new name": ("os.rename('a', 'z')", {"z": "old"}),
    "a backup": ("os.rename('a', 'a.bak'); open('a', 'w').write('new')", {"a": "new", "a.bak": "old"}),
    "another folder": ("os.rename('a', 'dir/a')", {"dir/a": "old"}),
    "a new folder": ("os.mkdir('fresh'); os.rename('a', 'fresh/a')", {"fresh/a": "old"}),
    "over another": ("os.rename('a', 'b')", {"b": "old"}),
    "by a link": ("os.link('a', 'z'); os.unlink('a')", {"z": "old"}),
    "two in turn": ("os.rename('a', 't'); os.rename('b', 'a'); os.rename('t', 'b')", {"a": "b", "b": "old"}),
    "a folder": ("shutil.move('dir', 'moved')", {"moved/x": "old", "a": "old"}),
    "safely": ("open('a.tmp', 'w').write('new'); os.replace('a.tmp', 'a')", {"a": "new"}),
}


@pytest.mark.parametrize("way", RENAMES)
def test_renamed_file_has_its_new_name(quick, way):
    code, wanted = RENAMES[way]
    quick.put("a")
    quick.put("b", "b")
    quick.put("dir/x")
    result = quick(code)
    assert result["changes_skipped"] == [], result
    for name, text in wanted.items():
        assert quick.text(name) == text, result
    assert ("a" in quick.names()) == ("a" in wanted)


def test_refused_new_name_keeps_old_file(quick):
    for name in ("env", "dir/x", "kept"):
        quick.put(name)
    result = quick("os.rename('env', '.env'); shutil.move('dir', '.dir'); os.remove('kept'); open('new', 'w')")
    assert quick.names() == ["dir", "dir/x", "env", "kept", "new"], result
    assert reasons(result)["/data/env"] == "held back, because other changes were skipped"


def test_code_cannot_change_interpreter_used_outside(remit):
    """The folder has a virtual environment. Its interpreter runs the code, and Remit queries it outside the jail."""
    folder = Folder(remit, remit.json)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder.path / "venv"], check=True)
    for path in (folder.path, *folder.path.rglob("*")):
        if not path.is_symlink():
            remit.own(path)
    python = folder.path / "venv" / "bin" / "python"
    before = {p: p.read_bytes() for p in (folder.path / "venv").rglob("*") if p.is_file()}
    evil = f"#!/bin/sh\ntouch {folder.path}/planted\nexec /usr/bin/python3 \"$@\"\n"
    for place in (folder.path, "/data"):
        code = (
            f"import os, pathlib, shutil\nv = pathlib.Path('{place}/venv'); p = v / 'bin/python'\n"
            "def tried(f, *a):\n    try: f(*a)\n    except OSError as e: print(e)\n"
            f"tried(p.unlink); tried(p.write_text, {evil!r}); tried(p.chmod, 0o755)\n"
            "tried((v / 'bin/activate').write_text, 'evil'); tried((v / 'lib/python3.11/site-packages/numpy.py').write_text, 'evil')\n"
            f"tried(shutil.rmtree, v / 'bin'); tried(v.rename, '{place}/other'); open('{place}/fine', 'w')"
        )
        result = remit.json(code, "--python", python, "--mount", f"{folder.path}:{place}:rw")
        assert result["status"] == "ok" and (folder.path / "fine").exists(), result
        assert {p: p.read_bytes() for p in (folder.path / "venv").rglob("*") if p.is_file()} == before
        remit.json("print(1)", "--python", python)
        assert not (folder.path / "planted").exists()
        (folder.path / "fine").unlink()
    result = remit.json("print('ran')", "--python", python, "--mount", f"{folder.path}:/data:direct")
    assert result["status"] == "refused" and "interpreter" in result["error"]["value"], result


def test_setuid_files_cannot_be_created(quick):
    """Not even in the host's folder in mode direct."""
    quick.put("a")
    code = (
        "def tried(f, *a):\n    try: f(*a)\n    except PermissionError: print('no')\n"
        "for m in (0o4755, 0o2755, 0o6777):\n"
        "    tried(os.chmod, 'a', m); tried(os.open, f'new{m}', os.O_CREAT | os.O_WRONLY, m); tried(os.mkdir, f'dir{m}', m)\n"
        "    tried(os.fchmod, os.open('a', os.O_RDONLY), m)\n"
    )
    result = quick(code, mode="direct")
    assert result["stdout"] == "no\n" * 12, result
    for path in quick.path.rglob("*"):
        assert not path.stat().st_mode & 0o6000, path


def test_bytecode_cache_is_not_written(quick):
    quick.put("module.py", "x = 1")
    result = quick("sys.path.insert(0, '/data'); import module; print(module.x)")
    assert result["stdout"] == "1\n" and (result["changes"], result["changes_skipped"]) == ([], []), result


PROTECTED = [".bashrc", ".git/hooks/pre-commit", ".claude/settings.json", ".vscode/tasks.json", "sub/.envrc", "sitecustomize.py", "SiteCustomize.PY", "x.pth", "lib/usercustomize.py", ".x/y/z", "lib/sitecustomize/__init__.py", "lib/app.cpython-311.pyc", "lib/__pycache__/app.pyc"]


def test_names_executed_by_tools_are_protected(folder, covers):
    """FS-W8."""
    code = f"for n in {PROTECTED!r}:\n    os.makedirs(os.path.dirname(n) or '.', exist_ok=True); open(n, 'w').write('evil')\nopen('fine', 'w')"
    result = folder(code)
    assert set(reasons(result).values()) == {"a protected name (--commit-name allows it)"}, result
    assert set(kinds(result)) == {"/data/fine", "/data/sub/", "/data/lib/"}
    assert folder.names() == ["fine", "lib", "sub"]
    assert enforced(result, "commit_names") == ["commit"]
    covers(folder.remit, "commit_names", "commit")


def test_existing_protected_files_are_not_changed_or_deleted(quick):
    quick.put(".git/config", "[core]")
    quick.put("sub/.env", "KEY")
    quick.put("sub/x")
    result = quick("open('.git/config', 'w').write('evil'); os.remove('sub/.env')")
    assert reasons(result) == {"/data/.git/": "a protected name (--commit-name allows it)", "/data/sub/.env": "a protected name (--commit-name allows it)"}
    result = quick("shutil.rmtree('.git'); shutil.rmtree('sub')")
    assert set(reasons(result)) == {"/data/.git/", "/data/sub/"} and result["changes"] == [], result
    assert quick.text(".git/config") == "[core]" and quick.text("sub/.env") == "KEY"


def test_protected_name_can_be_allowed(folder, covers):
    flags = ("--commit-name", ".gitignore", "--commit-name", ".github/workflows/*.yml")
    result = folder(
        "open('.gitignore', 'w'); os.makedirs('.github/workflows'); open('.github/workflows/ci.yml', 'w'); open('.github/x', 'w'); open('.bashrc', 'w')",
        *flags,
    )
    assert folder.names() == [".github", ".github/workflows", ".github/workflows/ci.yml", ".gitignore"], result
    assert set(reasons(result)) == {"/data/.github/x", "/data/.bashrc"}
    covers(folder.remit, "commit_names", "commit")


# ---- git repositories under ordinary names ----

REPOSITORY = "a git repository (--commit-name allows it)"
NAME = "a protected name (--commit-name allows it)"
PLANT = """
def put(name, text, mode=0o644):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "w").write(text)
    os.chmod(name, mode)
def head(at): put(at + "/HEAD", "ref: refs/heads/master\\n")
def config(at): put(at, '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = "touch %s; false"\\n')
def folders(at): put(at + "/objects/keep", ""); put(at + "/refs/heads/keep", "")
def files(at): put(at + "/objects", "", 0o755); put(at + "/refs", "", 0o755)
"""
# Where the repository is, and the runs that together create it
PLANTS = {
    "at_once": (".", "head('.'); config('config'); folders('.')"),
    "below": ("below", "head('below'); config('below/config'); folders('below')"),
    "head_last": (".", "folders('.')", "config('config')", "head('.')"),
    "head_first": (".", "head('.'); config('config')", "folders('.')"),
    "head_renamed": (".", "folders('.'); config('config'); put('x', 'ref: refs/heads/master'); os.rename('x', 'HEAD')"),
    "files_that_can_be_executed": (".", "head('.'); config('config'); files('.')"),
    "common_directory": (
        "below", "head('below'); put('below/commondir', '../other'); config('below/config.worktree')\n"
        "folders('other'); put('other/config', '[core]\\nrepositoryformatversion = 0\\n[extensions]\\nworktreeConfig = true\\n')",
    ),  # fmt: skip
}


def git_runs_planted_command(path: pathlib.Path, mark: pathlib.Path) -> bool:
    """Whether `git status` in this folder executes the command in the repository's config."""
    if not shutil.which("git"):
        skip_or_fail("git is not installed")
    subprocess.run(
        ["git", "-c", "safe.directory=*", "status"], cwd=path, timeout=60, capture_output=True,
        env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(path.parent), "GIT_CONFIG_NOSYSTEM": "1"},
    )  # fmt: skip
    return mark.exists()


@pytest.mark.parametrize("way", PLANTS)
def test_git_ignores_repository_planted_by_code(quick, tmp_path, way):
    """FS-W8."""
    where, *steps = PLANTS[way]
    mark, plant = tmp_path / "mark", PLANT % (tmp_path / "mark")
    # Control: without Remit, the same code plants a repository that works.
    (tmp_path / "hand").mkdir()
    code = f"import os; os.chdir({str(tmp_path / 'hand')!r})\n" + plant + "\n".join(steps)
    subprocess.run(["python3", "-c", code], check=True)
    assert git_runs_planted_command(tmp_path / "hand" / where, mark)
    mark.unlink()
    skipped = {}
    for step in steps:
        result = quick(plant + step)
        assert result["status"] == "ok", result
        skipped |= reasons(result)
    assert skipped and set(skipped.values()) <= {REPOSITORY, NAME}, skipped
    quick.path.joinpath(where).mkdir(exist_ok=True)
    assert not git_runs_planted_command(quick.path / where, mark)
    assert not [n for n in quick.names() if n.endswith("HEAD")]


def test_planted_repository_is_skipped_as_a_whole(folder, covers):
    result = folder(PLANT % "x" + "for at in ('.', 'below'): head(at); config(at + '/config'); folders(at)\n")
    assert reasons(result) == dict.fromkeys(("/data/HEAD", "/data/config", "/data/objects/", "/data/refs/", "/data/below/"), REPOSITORY), result
    assert folder.names() == []
    covers(folder.remit, "commit_names", "commit")


def put_repository(quick, at: str) -> None:
    for name, text in (("HEAD", "ref: refs/heads/main"), ("config", "[core]"), ("objects/x", ""), ("refs/heads/main", "")):
        quick.put(f"{at}/{name}", text)


def test_existing_repository_is_not_changed_or_deleted(quick):
    put_repository(quick, "bare")
    quick.put("worktree/HEAD", "ref: refs/heads/main")
    quick.put("worktree/commondir", "../bare")
    before = quick.names()
    result = quick("open('bare/config', 'w').write('evil'); os.mkdir('bare/hooks'); open('bare/hooks/x', 'w'); open('worktree/config.worktree', 'w')")
    assert reasons(result) == {"/data/bare/": REPOSITORY, "/data/worktree/": REPOSITORY}, result
    result = quick("os.remove('bare/HEAD'); open('bare/config', 'w').write('evil'); shutil.rmtree('worktree')")
    assert set(reasons(result)) == {"/data/bare/", "/data/worktree/"}, result
    result = quick("shutil.rmtree('bare'); os.mkdir('bare'); open('bare/config', 'w').write('evil')")
    assert set(reasons(result)) == {"/data/bare/"}, result
    assert quick.names() == before and quick.text("bare/config") == "[core]"


def test_root_that_is_a_repository_is_not_changed(quick):
    put_repository(quick, ".")
    before = quick.names()
    result = quick("open('config', 'w').write('evil'); os.mkdir('hooks'); open('hooks/x', 'w'); os.remove('HEAD'); shutil.rmtree('objects')")
    assert reasons(result) == dict.fromkeys(("/data/HEAD", "/data/config", "/data/hooks/", "/data/objects/"), REPOSITORY), result
    assert quick.names() == before and quick.text("config") == "[core]"


def test_repository_can_be_allowed_by_name(quick):
    put_repository(quick, "bare")
    code = "open('bare/config', 'w').write('new'); os.mkdir('bare/hooks'); open('bare/hooks/x', 'w')"
    result = quick(code, "--commit-name", "bare/config")
    assert kinds(result) == {"/data/bare/config": "modified"} and reasons(result) == {"/data/bare/hooks/": REPOSITORY}, result
    result = quick(code, "--commit-name", "bare/**")
    assert result["changes_skipped"] == [] and quick.text("bare/hooks/x") == "", result


def test_some_repository_names_make_no_repository(quick):
    result = quick("for n in ('objects', 'refs', 'a/config', 'a/objects', 'a/refs', 'head', 'AHEAD', 'HEAD.txt', 'b/commondir'): os.makedirs(os.path.dirname(n) or '.', exist_ok=True); open(n, 'w')")
    assert result["changes_skipped"] == [] and result["committed"], result


def test_names_with_control_characters_are_not_written(quick):
    result = quick("for n in (b'a\\nb', b'\\x1b[31m', b'\\xff', b'-rf', 'ok'): open(n, 'w')")
    assert quick.names() == ["ok"] and set(reasons(result).values()) == {"the name has characters that are not allowed"}
    assert len(result["changes_skipped"]) == 4


def test_folders_deeper_than_limit_are_not_written(quick):
    result = quick("for i in range(100):\n    os.mkdir('d'); open('f', 'w'); os.chdir('d')")
    assert result["status"] == "ok" and set(reasons(result).values()) == {"more than 64 levels of folders"}
    assert len(quick.names()) == 63 + 64
