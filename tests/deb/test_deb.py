"""The Debian packages, built here and installed on a machine without a compiler."""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys

import pytest

from conftest import ROOT, skip_or_fail

sys.path.insert(0, str(ROOT / "tests" / "newcomer"))
from machine import HERE, SOAK, TO_INSTALL, USER, USERS, Machine  # noqa: E402

VERSION = (ROOT / "VERSION").read_text().strip()
APT = "apt-get -qq -o DPkg::Use-Pty=0"


@pytest.fixture(autouse=True)
def by_root():
    if os.geteuid() != 0:
        skip_or_fail("only root can enter another root")


def release_here() -> str:
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def packages_made_here() -> list[pathlib.Path]:
    done = subprocess.run(["make", "deb"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-8000:]
    return sorted((ROOT / "build-deb").glob("*.deb"))


def packages_made_there(release: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """Builds the packages on a machine of that release."""
    with Machine(release) as machine:
        machine.put_checkout("root")
        machine.run("root", "make deb")
        made = sorted((machine.home("root") / "remit" / "build-deb").glob("*.deb"))
        return [folder / path.name for path in made if path.rename(folder / path.name)]


# Building on another machine takes long, so only `make soak` does it for all releases.
BUILT_AND_INSTALLED = [(release_here(), release_here())]
if release_here() == "bookworm" or SOAK:
    BUILT_AND_INSTALLED += [("bookworm", "trixie")]
if SOAK:
    BUILT_AND_INSTALLED += [pair for pair in (("bookworm", "bookworm"), ("trixie", "trixie")) if pair not in BUILT_AND_INSTALLED]


@pytest.mark.parametrize(("built", "release"), BUILT_AND_INSTALLED)
def test_debian_packages_install_work_and_leave_nothing(built, release, tmp_path):
    made = packages_made_here() if built == release_here() else packages_made_there(built, tmp_path)
    assert [path.name.split("_")[0] for path in made] == ["libremit-dev", "libremit0", "python3-remit", "remit"]
    with Machine(release, TO_INSTALL) as machine:
        machine.add_user(USER)
        machine.put_files("root", *made, pathlib.Path(__file__).with_name("check_removed.sh"))
        for user in USERS:
            machine.put_files(user, HERE / "check_installed.sh")
        # The packages' dependencies stay installed, so they are installed before the first list.
        machine.run("root", f"{APT} update; {APT} install -y libjansson-dev >/dev/null; sh check_removed.sh before /root/before")
        machine.check_no_compiler()
        names = " ".join(path.name.split("_")[0] for path in made)
        for verb in ("remove", "purge"):
            machine.run("root", f"{APT} install -y --no-install-recommends ./*.deb >/dev/null")
            for user in USERS:
                assert "all checks passed" in machine.run(user, f"sh check_installed.sh deb {VERSION}")
            shown = machine.run("root", f"{APT} {verb} -y {names} >/dev/null; sh check_removed.sh after /root/before")
            assert "nothing is left" in shown
