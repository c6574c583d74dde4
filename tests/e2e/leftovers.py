"""Rule 5: nothing is left. Looks on the host for anything that belongs to a jail."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import time


def program_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def name_of(pid: int) -> str:
    """Return the process's name, or an empty string if it no longer exists."""
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def memory_has(pid, word):
    """Whether a writable page of the process contains these bytes. A process that has ended has no pages."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            if " rw" not in line:
                continue
            first, last = (int(n, 16) for n in line.split()[0].split("-"))
            memory.seek(first)
            with contextlib.suppress(OSError):
                if word in memory.read(last - first):
                    return True
    return False


def threads_named(name: str) -> list[str]:
    """All threads on the host that have this name."""
    found = []
    for path in glob.glob("/proc/[0-9]*/task/*/comm"):
        try:
            with open(path) as f:
                if f.read() == f"{name}\n":
                    found.append(path)
        except OSError:
            continue
    return found


def processes_with_argument(argument: str) -> list[str]:
    """All processes on the host that have this text on their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if argument.encode() in f.read():
                    found.append(path)
        except OSError:
            continue
    return found


def processes(command: str) -> list[int]:
    """Processes of this command (keepers and pid 1 of each jail) and their children."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    own = {pid for pid in pids if program_of(pid) == command}
    return sorted(own | {pid for pid in pids if parent_of(pid) in own})


def unlocked(paths: list[str]) -> list[str]:
    """Folders whose lock is free, since their keeper has ended."""
    left = []
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.append(path)
        except OSError:
            pass
        finally:
            os.close(fd)
    return left


def groups() -> list[str]:
    return unlocked(glob.glob("/sys/fs/cgroup/**/remit-*", recursive=True))


def workspaces(remit, temp="/tmp") -> list[str]:
    """Workspaces of the tier `landlock` that are left, including empty ones."""
    uid = 0 if remit.by_root else os.stat(remit.folder).st_uid
    return unlocked([f"{temp}/remit-{uid}", *glob.glob(f"{temp}/remit-{uid}/*")])


def mounts() -> list[str]:
    """Mounts of a jail that became visible outside it. There must never be any."""
    with open("/proc/self/mountinfo") as f:
        return [line for line in f if "/.remit" in line or " /workspace " in line]


def remaining(look, seconds: float = 30) -> list:
    """Return what still exists when the time is over."""
    end = time.monotonic() + seconds
    while True:
        left = look()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)  # poll
