"""Mounts of jails and of the host, where the host's mounts are shared, as under systemd (tests/conftest.py)."""

from __future__ import annotations

import os
import subprocess

import mounts
import pytest
from conftest import PYTHON, skip_or_fail


def test_read_root_containing_interpreter_leaves_no_mount(remit):
    """The jail mounts into a clone of the host's mount, which must not be a peer of that mount."""
    before = mounts.listed()
    for _ in range(2):
        assert remit.json("print(1)", "--python", PYTHON, "--read", "/usr")["stdout"] == "1\n"
    assert mounts.listed() == before


@pytest.fixture
def outside(remit):
    """A separate shared file system with a directory in it."""
    if os.geteuid() != 0:
        skip_or_fail("only root can mount")
    top = remit.folder / "outside"
    top.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", top], check=True)
    subprocess.run(["mount", "--make-shared", top], check=True)
    (top / "sub").mkdir()
    for path in (top, top / "sub"):
        remit.own(path)
    yield top
    subprocess.run(["umount", "-R", top], check=True)


@pytest.mark.parametrize("flag", ["--read", "--write"])
def test_mount_made_during_run_does_not_appear_in_jail(remit, outside, flag):
    """It would have none of the flags of the policy's mount: it would be writable, with setuid files and devices."""
    sub = outside / "sub"
    run = remit.popen(
        "run", "--python", PYTHON, flag, outside, "--timeout", "60s", "-c", f"print('ready', flush=True); input(); import os; print(os.listdir({str(sub)!r}))",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"REMIT_KEEPER": ""},
    )  # fmt: skip
    assert run.stdout.readline() == "ready\n"
    subprocess.run(["mount", "-t", "tmpfs", "none", sub], check=True)
    (sub / "late").write_text("x")
    assert run.communicate("\n", timeout=120)[0] == "[]\n"
