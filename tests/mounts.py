"""Mounts, and mount namespaces for the tests."""

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
    """Makes all mounts shared, as systemd does: a new mount appears in every copy of its parent that is not private."""
    mount("none", "/", flags=MS_REC | MS_SHARED)


def unshare(flags: int) -> None:
    check(libc.unshare(flags), "unshare")


def enter_shared() -> None:
    """Gives this process a private copy of all mounts, and makes them shared. Mounts that the machine makes later still arrive,
    such as systemd's runtime directories of users; mounts made here do not reach the machine."""
    unshare(CLONE_NEWNS)
    mount("none", "/", flags=MS_REC | MS_SLAVE)
    make_shared()


# The kernel may mount tracefs below /sys at any time, and systemd the runtime directories of users who log in.
ELSEWHERE = ("/sys/", "/run/user/")


def listed() -> list[str]:
    """Returns the lines of mountinfo for the mounts that this process sees."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if not line.split()[4].startswith(ELSEWHERE)]
