"""The wheel, installed on machines without a compiler."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
from machine import HERE, ROOT, TO_INSTALL, USER, USERS, Machine

from conftest import skip_or_fail

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

VERSION = (ROOT / "VERSION").read_text().strip()


@pytest.fixture(scope="module", autouse=True)
def by_root():
    if os.geteuid() != 0:
        skip_or_fail("only root can enter another root")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    return venvs.build("wheel", tmp_path_factory.mktemp("wheel"))


# Debian 12 has CPython 3.11, 13 has 3.13, and testing has 3.14.
@pytest.mark.parametrize(
    ("release", "python"), [("bookworm", "3.11"), ("trixie", "3.13"), pytest.param("forky", "3.14", marks=pytest.mark.longer)]
)
def test_wheel_installs_and_works(wheel, release, python):
    with Machine(release, TO_INSTALL) as machine:
        machine.add_user(USER)
        machine.check_no_compiler()
        for user in USERS:
            machine.put_files(user, wheel, HERE / "check_installed.sh")
            machine.run(user, f"python3 -m venv venv; venv/bin/pip install -q --no-index ./{wheel.name}")
            shown = machine.run(user, f"PATH=$PWD/venv/bin:$PATH; python3 -V; sh check_installed.sh wheel {VERSION}")
            assert f"Python {python}." in shown and "all checks passed" in shown
