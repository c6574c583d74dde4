"""Mount namespaces of the tests."""

from __future__ import annotations

import ctypes
import os
import pathlib

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE, MS_SHARED = 0x1000, 0x4000, 1 << 18, 1 << 19, 1 << 20


def check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0) -> None:
    words = (source.encode(), target.encode(), kind.encode() if kind else None)
    check(libc.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def make_private() -> None:
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def make_shared() -> None:
    """As systemd has it: what is mounted here appears on every clone of the mount that is not private."""
    mount("none", "/", flags=MS_REC | MS_SHARED)


def unshare(flags: int) -> None:
    check(libc.unshare(flags), "unshare")


def enter_shared() -> None:
    """This process gets its own copy of all mounts, which are shared. What the machine mounts later still arrives, as systemd's
    directories of users; what is mounted here stays here."""
    unshare(CLONE_NEWNS)
    mount("none", "/", flags=MS_REC | MS_SLAVE)
    make_shared()


# The kernel mounts tracefs below /sys by itself; systemd, directories of users who log in.
ELSEWHERE = ("/sys/", "/run/user/")


def listed() -> list[str]:
    """The mounts that this process sees, as mountinfo has them."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if not line.split()[4].startswith(ELSEWHERE)]
