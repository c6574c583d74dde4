"""Builds wheels and environments for the tests of the Python package."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from conftest import PYTHON, exclusive, skip_or_fail  # noqa: E402

HERE = pathlib.Path(__file__).parent
# Downloads are kept after the tests, in a place that every user can read.
CACHE = pathlib.Path(os.environ.get("REMIT_TEST_CACHE", f"/var/tmp/remit-python-tests-{os.getuid()}"))


def call(*argv: object, **more: object) -> str:
    done = subprocess.run(list(map(str, argv)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def make_venv(folder: pathlib.Path, *options: str) -> pathlib.Path:
    """Makes an environment and returns its interpreter."""
    call(PYTHON, "-m", "venv", *options, folder)
    return folder / "bin" / "python"


def build(kind: str, folder: pathlib.Path, *settings: str) -> pathlib.Path:
    """Builds a wheel or sdist with the hooks that pip calls."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = dict(s.split("=") for s in settings)
    shown["build-dir"] = str(ROOT / "build-wheel")
    code = f"import sys; sys.path.insert(0, 'python'); import backend; print(backend.build_{kind}({str(folder)!r}, {shown!r}))"
    with exclusive(ROOT / "python" / "backend.py"):
        return folder / call(PYTHON, "-c", code, cwd=ROOT).splitlines()[-1]


def install(python: pathlib.Path, *what: object) -> None:
    call(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", *what)


def framework(name: str) -> pathlib.Path:
    """Returns the interpreter of an environment with the packages of requirements/NAME.txt, from the cache or the index."""
    wanted = HERE / "requirements" / f"{name}.txt"
    folder = CACHE / f"{name}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    with exclusive(wanted):
        if not (folder / "complete").exists():
            install_requirements(folder, wanted)
    return folder / "bin" / "python"


def install_requirements(folder: pathlib.Path, wanted: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    python = make_venv(folder)
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "-r", wanted], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        skip_or_fail(f"{wanted.stem} cannot be installed here: {done.stdout.strip().splitlines()[-1]}")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    (folder / "complete").touch()


def interpreters() -> list[str]:
    """Returns every installed CPython that the package supports."""
    found = [f"/usr/bin/python3.{minor}" for minor in range(9, 15)]
    found += [str(p) for p in sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python"))]
    return [p for p in found if os.access(p, os.X_OK) and version_of(p) >= (3, 9)]


def version_of(python: str) -> tuple[int, int]:
    shown = call(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(shown[0]), int(shown[1])
