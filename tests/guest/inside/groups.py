"""Finds and makes cgroups (version 2) for the tests."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import time

from conftest import TEST_USER

TOP = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = "+memory +pids +cpu"
WAIT_TIMEOUT_S = 60


def group_of(pid: int | str = "self") -> pathlib.Path:
    """Returns the cgroup of a process."""
    line = pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip()
    return TOP / line.removeprefix("0::/")


def remaining(below: pathlib.Path = TOP) -> list[str]:
    """Returns the cgroups of runs and keepers. Those that vanish meanwhile do not count."""
    return sorted(os.path.join(path, name) for path, names, _ in os.walk(below) for name in names if name.startswith("remit-"))


def is_populated(group: pathlib.Path) -> bool:
    """Whether a cgroup has processes; one that has vanished has none."""
    try:
        return "populated 1" in (group / "cgroup.events").read_text()
    except OSError:
        return False


def until(look, seconds: float = WAIT_TIMEOUT_S):
    """Returns the first true answer, or the last answer after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        answer = look()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.01)  # polls


def assert_nothing_left(below: pathlib.Path = TOP) -> None:
    until(lambda: not remaining(below))
    assert remaining(below) == []


def join(group: pathlib.Path):
    """Returns a preexec_fn for subprocess that enters the cgroup."""
    return lambda: (group / "cgroup.procs").write_text("0")


@contextlib.contextmanager
def delegated(name: str, user: str | None = TEST_USER):
    """Makes a cgroup that is delegated to a user, as systemd would do
    (cgroups(7), "Delegating a hierarchy to a less privileged user"), with one
    leaf for the user's processes."""
    (TOP / "cgroup.subtree_control").write_text(CONTROLLERS)
    group = TOP / name
    leaf = group / "main"
    leaf.mkdir(parents=True)
    if user:
        entry = pwd.getpwnam(user)
        for folder in (group, leaf):
            for file in (".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
                os.chown(folder / file, entry.pw_uid, entry.pw_gid)
    try:
        yield group
    finally:
        until(lambda: not is_populated(group))
        leaf.rmdir()
        group.rmdir()
