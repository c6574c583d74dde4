"""Runs a command on a machine with another root, which it enters by pivot_root.

    enter.py ROOT USER COMMAND...

A chroot is not enough, because the kernel refuses user namespaces in one. The machine has a separate pid namespace, in which
all processes die with the command, and shared mounts, as with systemd.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from mounts import CLONE_NEWNS, MS_BIND, MS_REC, check, libc, make_private, make_shared, mount, unshare  # noqa: E402

CLONE_NEWPID = 0x20000000
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]


def enter(root: str) -> None:
    make_private()
    mount(root, root, flags=MS_BIND)
    for name in ("sys", "dev"):
        mount(f"/{name}", f"{root}/{name}", flags=MS_BIND | MS_REC)
    mount("proc", f"{root}/proc", "proc")
    os.chdir(root)
    # The old root covers the new one until it is unmounted: pivot_root(2), "pivot_root(".", ".")".
    check(libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")
    make_shared()


def become(user: str) -> None:
    """Changes to the user, whose ids are in the machine's /etc/passwd."""
    entries = dict(line.split(":", 1) for line in pathlib.Path("/etc/passwd").read_text().splitlines())
    _, uid, gid, _, home, _ = entries[user].split(":")
    os.setgroups([int(gid)])
    os.setgid(int(gid))
    os.setuid(int(uid))
    os.chdir(home)
    os.environ.clear()
    os.environ.update(HOME=home, USER=user, LOGNAME=user, LANG="C.UTF-8", PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


def main(root: str, user: str, *command: str) -> int:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # dies with the test that started it
    unshare(CLONE_NEWNS | CLONE_NEWPID)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    enter(root)
    # The machine's first process reaps orphans; the command is its child.
    child = os.fork()
    if not child:
        become(user)
        os.execvp(command[0], command)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
