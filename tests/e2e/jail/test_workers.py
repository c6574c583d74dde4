"""Workers of multiprocessing that are fresh interpreters find the program."""

from __future__ import annotations

import pathlib
import tempfile

import pytest
from conftest import PYTHON, make_remit, skip_or_fail, users
from session_client import SessionClient


@pytest.fixture
def flags(remit):
    """An ordinary user cannot write cgroups, and must accept limits of each process."""
    return ["--subprocess"] + ([] if remit.by_root else ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"])


# Prints what workers answer, and what the workspace contains meanwhile.
SPAWN = """
import multiprocessing, os, sys
def square(n):
    return n * n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, [2, 3]), __file__, sorted(os.listdir(".")))
"""


def exported(remit) -> list[str]:
    folder = tempfile.mkdtemp(dir=remit.folder)
    remit.own(pathlib.Path(folder))
    return ["--timeout", "60s", "--export", "*", "--artifacts", folder]


def test_workers_by_spawn_find_the_program(remit, flags):
    result = remit.json(SPAWN, *flags, *exported(remit))
    assert result["status"] == "ok" and result["stdout"] == "[4, 9] main.py ['main.py']\n", result
    # The file is not a result of the program.
    assert result["artifacts"] == []


def test_a_file_of_the_programs_name_is_left_alone(remit, flags):
    code = "open('main.py', 'w').write('raise SystemExit(9)')\n" + SPAWN
    result = remit.json(code, *flags, *exported(remit))
    assert result["status"] == "ok" and result["stdout"] == "[4, 9] main.py ['main.py']\n", result
    assert [artifact["path"] for artifact in result["artifacts"]] == ["main.py"], result


def test_workers_by_spawn_find_the_cell(stage):
    """Programs in a session need a cgroup for each cell, which root has here."""
    if "root" not in users():
        skip_or_fail("no cgroup can be written")
    session = SessionClient(make_remit("root", stage), {"REMIT_KEEPER": ""})
    try:
        session.open(policy={"python": PYTHON, "subprocess_execution": True})
        assert session.out("x = 1") == ""
        assert session.out(SPAWN) == "[4, 9] <cell 2> []\n"
    finally:
        session.leave()
