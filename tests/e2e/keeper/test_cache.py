"""Runs with a cache that cannot be written or cannot be trusted: they work without it, and `remit doctor` reports
the cost."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import PYTHON, Remit, skip_or_fail


@contextlib.contextmanager
def mounted(folder: pathlib.Path, options: str) -> collections.abc.Iterator[None]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
    try:
        yield
    finally:
        # A keeper that has just finished its run may still have a file open.
        subprocess.run(["umount", "--lazy", folder], check=True)


def missing_home(remit: Remit, folder: pathlib.Path) -> dict:
    return {"HOME": str(folder / "nothing")}


def no_home(remit: Remit, folder: pathlib.Path) -> dict:
    return {"HOME": ""}


def home_is_a_device(remit: Remit, folder: pathlib.Path) -> dict:
    return {"HOME": "/dev/null"}


def foreign_home(remit: Remit, folder: pathlib.Path) -> dict:
    if os.geteuid() != 0:
        skip_or_fail("only root can give a folder to another user")
    shutil.chown(folder, 1, 1)
    folder.chmod(0o755)
    if remit.by_root:  # root may write anywhere, so the cache of another user must not be trusted
        (folder / ".cache" / "remit").mkdir(parents=True)
        shutil.chown(folder / ".cache" / "remit", 1, 1)
    return {"HOME": str(folder)}


def file_as_cache(remit: Remit, folder: pathlib.Path) -> dict:
    (folder / "file").touch()
    return {"XDG_CACHE_HOME": str(folder / "file")}


def group_writable(remit: Remit, folder: pathlib.Path) -> dict:
    own = folder / "remit"
    own.mkdir()
    remit.own(own)
    own.chmod(0o770)
    return {"XDG_CACHE_HOME": str(folder)}


PLACES = [missing_home, no_home, home_is_a_device, foreign_home, file_as_cache, group_writable]


@pytest.fixture
def folder(remit: Remit) -> collections.abc.Iterator[pathlib.Path]:
    made = remit.folder / "cache-test"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    remit.own(made)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def check_runs(remit: Remit, env: dict) -> None:
    result = remit.json("import sys; print(sys.stdin.read())", input="given", env=env)
    assert result["status"] == "ok" and result["stdout"] == "given\n", result
    done = remit("repl", input="x = 20\nx + 1\n", env=env)
    assert done.stdout == "21\n", done


def check_doctor(remit: Remit, env: dict) -> str:
    """Check that `remit doctor` works, and return its reason for having no cache."""
    text = remit("doctor", env=env)
    assert text.returncode == 0 and "no   cache" in text.stdout, text
    cache = json.loads(remit("doctor", "--json", env=env).stdout)["cache"]
    assert not cache["yes"] and cache["why"] in text.stdout and cache["remedy"] in text.stdout
    assert "slower" in cache["cost"] and "XDG_CACHE_HOME" in cache["remedy"]
    return cache["why"]


@pytest.mark.parametrize("place", PLACES)
def test_run_works_without_cache(remit, folder, place):
    env = place(remit, folder)
    check_runs(remit, env)
    named = env.get("XDG_CACHE_HOME") or env["HOME"]
    assert named in check_doctor(remit, env)


@pytest.mark.parametrize("options", ["ro", "size=4k,nr_inodes=2,mode=777", "size=8k,mode=777", "size=96k,mode=777"])
def test_run_works_if_cache_disk_is_full_or_read_only(remit, folder, options):
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    place = folder / "mounted"
    with mounted(place, options):
        env = {"XDG_CACHE_HOME": str(place)}
        check_runs(remit, env)
        assert str(place) in check_doctor(remit, env)


def test_run_works_with_read_only_cache(remit, folder):
    """What the cache has is used, and nothing is added."""
    env = {"XDG_CACHE_HOME": str(folder)}
    check_runs(remit, env)
    (answer,) = (folder / "remit").glob("python-*/answer.json")
    (folder / "remit").chmod(0o500)
    check_runs(remit, env)
    if not remit.by_root:
        assert "Permission denied" in check_doctor(remit, env)
        check_runs(remit, {**env, "PYENV_VERSION": "other"})
    answer.unlink()
    answer.parent.chmod(0o500)
    check_runs(remit, env)


def test_tiers_without_namespaces_need_no_cache(remit):
    env = {"HOME": "/dev/null"}
    assert remit.json("print(7)", "--tier", "unsafe", env=env)["stdout"] == "7\n"
    assert remit.json("print(7)", "--preset", "landlock", env=env)["stdout"] == "7\n"
    assert remit.json("x = (", "--tier", "static", env=env)["status"] == "rejected"


@pytest.mark.parametrize("others", ["writable by the group", "owned by another"])
def test_cache_writable_by_others_is_not_trusted(remit, folder, others):
    """Control: a private cache with the same content is trusted."""
    env = {"XDG_CACHE_HOME": str(folder)}
    check_runs(remit, env)
    own = folder / "remit"
    (answer,) = own.glob("python-*/answer.json")
    answer.write_text(json.dumps({**json.loads(answer.read_text()), "executable": "/planted"}))

    def python():
        return json.loads(remit("doctor", "--json", env=env).stdout)["python"]

    assert python() == "/planted"
    if others == "owned by another":
        if os.geteuid() != 0:
            skip_or_fail("only root can change a file's owner")
        shutil.chown(own, 1, 1)
        own.chmod(0o755)
        answer.parent.chmod(0o755)
    else:
        own.chmod(0o770)
    assert python() != "/planted"
    check_runs(remit, env)
    assert "must belong to you" in check_doctor(remit, env)


def test_packages_without_cache_are_refused_with_remedy(remit, folder):
    env = missing_home(remit, folder)
    result = remit.json("1", "--package", "six", "--python", PYTHON, env=env)
    assert result["status"] == "refused" and result["error"]["where"] == "packages", result
    assert "cache" in result["error"]["value"] and "XDG_CACHE_HOME" in result["error"]["remedy"]
    done = remit("packages", "list", env=env)
    assert done.returncode == 125 and "XDG_CACHE_HOME" in done.stderr, done


def test_doctor_reports_working_cache(remit, folder):
    env = {"XDG_CACHE_HOME": str(folder)}
    assert "yes  cache" in remit("doctor", env=env).stdout
    assert json.loads(remit("doctor", "--json", env=env).stdout)["cache"] == {"yes": True}
    assert not (folder / "remit" / "trial").exists()
