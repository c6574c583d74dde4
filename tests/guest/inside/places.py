"""Starts Remit as one user in one cgroup."""

from __future__ import annotations

import pathlib

import groups
from conftest import TEST_USER, Remit

ENTER = 'echo 0 >"$0/cgroup.procs" && exec "$@"'
BECOME = ["setpriv", f"--reuid={TEST_USER}", f"--regid={TEST_USER}", "--clear-groups"]


class PlacedRemit(Remit):
    """The command, started in one cgroup. Only root can move a process there, so it
    changes to the user afterwards."""

    def __init__(self, label: str, folder: pathlib.Path, group: pathlib.Path):
        super().__init__(label, folder)
        self.group = group
        # The cgroup in which only runs have cgroups.
        self.home = group if group == groups.TOP else group.parent

    def argv(self, *args: str) -> list[str]:
        become = [] if self.by_root else BECOME
        return ["/bin/sh", "-c", ENTER, str(self.group), *become, *super().argv(*args)]

    def identity(self) -> dict:
        return {}
