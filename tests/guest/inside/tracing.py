"""Traces what the kernel does with cgroups (tracefs)."""

from __future__ import annotations

import contextlib
import pathlib
import re
import subprocess

FOLDER = pathlib.Path("/sys/kernel/tracing")


class Trace:
    def __init__(self) -> None:
        self.text = ""

    def moved(self) -> list[str]:
        """Returns the cgroups of runs into which a process moved."""
        return re.findall(r"cgroup_attach_task: .*dst_path=\S*/(remit-[0-9a-f]{16}) ", self.text)

    def made(self) -> list[str]:
        return re.findall(r"cgroup_mkdir: .*path=\S*/(remit-[0-9a-f]{16})\b", self.text)

    def kills(self) -> int:
        """Returns how often cgroup.kill was written."""
        return len(re.findall(r": remit_kill: ", self.text))


@contextlib.contextmanager
def tracing():
    if not (FOLDER / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", FOLDER], check=True)
    trace = Trace()
    (FOLDER / "kprobe_events").write_text("p:remit_kill cgroup_kill_write\n")
    wanted = [FOLDER / "events" / name / "enable" for name in ("cgroup/cgroup_mkdir", "cgroup/cgroup_attach_task", "kprobes/remit_kill")]
    (FOLDER / "trace").write_text("")
    for switch in wanted:
        switch.write_text("1")
    try:
        yield trace
    finally:
        for switch in wanted:
            switch.write_text("0")
        trace.text = (FOLDER / "trace").read_text()
        (FOLDER / "kprobe_events").write_text("")
