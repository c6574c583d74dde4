"""Makes the files of the guest: a kernel, an initramfs that mounts the disk, and the disk."""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import packages

ROOT = pathlib.Path(__file__).parents[2]
HERE = pathlib.Path(__file__).parent
FOLDER = ROOT / "build" / "guest"
KERNEL = FOLDER / "kernel"  # unpacked by tools/setup.sh
BUSYBOX = "/bin/busybox"
MODULES = ("virtio_pci", "virtio_blk")  # and the modules they depend on
ON_DISK = [
    "base-files", "bash", "coreutils", "dash", "dbus", "dbus-user-session", "grep", "keyutils", "libpam-systemd", "login", "mount", "passwd",
    "procps", "python3", "python3-pytest", "sed", "systemd", "util-linux",
]  # fmt: skip
# Files that packages create when they are configured, so that no package contains them.
CONFIGURED = ["/etc/pam.d", "/etc/nsswitch.conf", "/etc/ld.so.conf", "/etc/ld.so.conf.d"]
FOLDERS = ["dev", "proc", "sys", "run", "tmp", "root", "home", "var/tmp", "var/lib", "mnt"]
TEST_FILES = ["tests/conftest.py", "tests/mounts.py", "tests/escape", "tests/e2e", "tests/guest", "src/wire/frame.h", "share"]
BUILDS = ["build", "build-holes"]
TEST_USER, TEST_UID = "remit-test", 1000
DISK_MIB = 320


def vmlinuz() -> pathlib.Path | None:
    return next(KERNEL.glob("boot/vmlinuz-*"), None)


def module_file(name: str) -> pathlib.Path:
    (path,) = KERNEL.glob(f"lib/modules/*/kernel/**/{name}.ko")
    return path


def in_load_order(names: collections.abc.Iterable[str]) -> list[str]:
    """Returns the modules and their dependencies, each after its dependencies. These differ between kernels, so they are
    read from each module, which contains a string "depends=A,B"."""
    ordered: dict[str, None] = {}
    for name in names:
        (needed,) = re.findall(rb"\0depends=([^\0]*)\0", module_file(name).read_bytes())
        ordered |= dict.fromkeys([*in_load_order(filter(None, needed.decode().split(","))), name])
    return list(ordered)


def make_initramfs() -> pathlib.Path:
    tree = FOLDER / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "bin").mkdir(parents=True)
    (tree / "modules").mkdir()
    shutil.copy2(BUSYBOX, tree / "bin" / "busybox")
    shutil.copy2(HERE / "init.sh", tree / "init")
    modules = in_load_order(MODULES)
    for name in modules:
        shutil.copy2(module_file(name), tree / "modules")
    (tree / "modules" / "order").write_text("\n".join(modules))
    names = "\n".join(str(p.relative_to(tree)) for p in sorted(tree.rglob("*")))
    archive = FOLDER / "initramfs.cpio"
    with open(archive, "wb") as out:
        subprocess.run(
            [BUSYBOX, "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(), stdout=out, stderr=subprocess.DEVNULL, check=True
        )
    return archive


def write_accounts(tree: pathlib.Path) -> None:
    """Writes the system's accounts and one ordinary user."""
    for name, line in (
        ("passwd", f"{TEST_USER}:x:{TEST_UID}:{TEST_UID}::/home/{TEST_USER}:/bin/sh"),
        ("group", f"{TEST_USER}:x:{TEST_UID}:"),
        ("shadow", f"{TEST_USER}:*:19000::::::"),
    ):
        kept = [row for row in pathlib.Path("/etc", name).read_text().splitlines() if is_system_row(name, row)]
        (tree / "etc" / name).write_text("\n".join([*kept, line]) + "\n")
    (tree / "etc" / "shadow").chmod(0o600)
    home = tree / "home" / TEST_USER
    home.mkdir()
    os.chown(home, TEST_UID, TEST_UID)


def is_system_row(name: str, row: str) -> bool:
    fields = row.split(":")
    if name == "shadow":
        return fields[0] == "root"
    return int(fields[2]) < 1000


def copy(path: str, tree: pathlib.Path) -> None:
    target = tree / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        return
    if os.path.islink(path):
        target.symlink_to(os.readlink(path))
    elif os.path.isdir(path):
        target.mkdir(exist_ok=True)
        shutil.copystat(path, target)
    else:
        shutil.copy2(path, target)


def copy_system(tree: pathlib.Path) -> None:
    # /bin is a link in Debian, but packages still contain files below it.
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / "usr" / name).mkdir(parents=True)
        (tree / name).symlink_to(f"usr/{name}")
    for path in packages.files(ON_DISK):
        copy(path, tree)
    for path in CONFIGURED:
        for found in [path, *map(str, sorted(pathlib.Path(path).glob("*")))]:
            copy(found, tree)
    for name in FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (tree / name).chmod(0o1777)
    write_accounts(tree)
    subprocess.run(["ldconfig", "-r", str(tree)], check=True)


def copy_product(tree: pathlib.Path, phases: dict[str, list[str]]) -> None:
    """Copies the builds and the tests to the same places as in the repository."""
    top = tree / "remit"
    for name in TEST_FILES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, top / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, top / name)
    for name in BUILDS:
        (top / name).mkdir()
        for program in ("remit", "remit-bench"):
            shutil.copy2(ROOT / name / program, top / name)
        shutil.copytree(ROOT / name / "runtime", top / name / "runtime", ignore=shutil.ignore_patterns("*.p"))
    lines = [f"{name}={shlex.quote(shlex.join(args))}" for name, args in phases.items()]
    (top / "guest.env").write_text("\n".join(lines) + "\n")
    units = tree / "etc" / "systemd" / "system"
    units.mkdir(parents=True, exist_ok=True)
    for unit in HERE.glob("tests.*"):
        shutil.copy2(unit, units)


def make_disk(phases: dict[str, list[str]]) -> pathlib.Path:
    tree, disk = FOLDER / "disk", FOLDER / "disk.ext4"
    shutil.rmtree(tree, ignore_errors=True)
    disk.unlink(missing_ok=True)
    tree.mkdir(parents=True)
    tree.chmod(0o755)
    copy_system(tree)
    copy_product(tree, phases)
    # No journal, since the disk is used only once.
    options = ["-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-d", str(tree)]
    subprocess.run(["mke2fs", *options, str(disk), f"{DISK_MIB}M"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return disk
