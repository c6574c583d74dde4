"""A folder of the host that programs may change, and its fixtures."""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess

import pytest
from shared_keeper import SharedKeeper

numbers = itertools.count()


class Folder:
    """A folder on the host, and a function that runs programs with it."""

    def __init__(self, remit, run):
        self.remit, self.run = remit, run
        self.path = remit.folder / f"root-{next(numbers)}"
        self.path.mkdir()
        remit.own(self.path)

    def put(self, name: str, content: str = "old", mode: int | None = None) -> pathlib.Path:
        path = self.path / name
        for folder in reversed(path.relative_to(self.path).parents[:-1]):
            if not (self.path / folder).exists():
                (self.path / folder).mkdir()
                self.remit.own(self.path / folder)
        path.write_text(content)
        self.remit.own(path)
        if mode is not None:
            path.chmod(mode)
        return path

    def text(self, name: str) -> str | None:
        path = self.path / name
        return path.read_text() if path.exists() else None

    def names(self) -> list[str]:
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*"))

    def __call__(self, code: str, *flags, mode: str = "rw", **more) -> dict:
        head = "import os, shutil, pathlib, sys\nos.chdir('/data')\n"
        return self.run(head + code, "--mount", f"{self.path}:/data:{mode}", *flags, **more)

    def during(self, code: str, act, *flags, first: str = "") -> dict:
        """Do something on the host while the program waits halfway."""
        head = f"import os, shutil, pathlib, sys\nos.chdir('/data')\nos.listdir('.')\n{first}\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        p = self.remit.popen(
            "run", "--audit", self.path.with_suffix(".audit"), "--mount", f"{self.path}:/data:rw", "--timeout", "200s", *flags, "-c", head + code,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert p.stdout.readline() == "ready\n", p.communicate()
        act()
        _, stderr = p.communicate("\n", timeout=120)
        line = json.loads(self.path.with_suffix(".audit").read_text().splitlines()[-1])
        return {**line, "stderr": stderr}


@pytest.fixture(params=["cold", "warm"])
def folder(request, remit):
    if request.param == "cold":
        yield Folder(remit, remit.json)
        return
    keeper = SharedKeeper(remit)
    yield Folder(remit, keeper.warm)
    keeper.close()


@pytest.fixture
def quick(remit):
    """A folder for tests that are the same cold and warm."""
    return Folder(remit, remit.json)


def kinds(result: dict) -> dict[str, str]:
    return {c["path"]: c["kind"] for c in result["changes"]}


def reasons(result: dict) -> dict[str, str]:
    return {c["path"]: c["reason"] for c in result["changes_skipped"]}
