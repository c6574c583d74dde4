"""tools/wasm.sh: what it asks for, what its cache depends on, and what an interrupted build leaves.

Programs that the script calls are replaced by fakes here, so nothing is fetched or compiled. The tests of the tier wasm use
what it builds.
"""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import signal
import subprocess

import pytest
import waiting

from conftest import ROOT, skip_or_fail

# Everything that the guest is built from, and one part of the runtime that it is not.
PARTS = ("tools/wasm.sh", "tools/setup.sh", "runtime", "src/base", "src/wire", "include")


def script(text: str) -> str:
    return f"#!/bin/sh\n{text}\n"


class Checkout:
    """A copy of the sources, an empty cache, and fakes of programs."""

    def __init__(self, top: pathlib.Path):
        self.top, self.cache, self.programs = top, top / "cache", top / "programs"
        for part in PARTS:
            to = top / "remit" / part
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, to)
        self.programs.mkdir()
        self.packages({})

    def fake(self, name: str, text: str) -> None:
        (self.programs / name).write_text(script(text))
        (self.programs / name).chmod(0o755)

    def packages(self, versions: dict[str, str]) -> None:
        """All packages are installed in version 1, except those of `versions`; "" for one that is missing. The script
        calls "dpkg-query -W -f FORMAT PACKAGE..."."""
        cases = "".join(f"{name}) version={version!r} ;;\n" for name, version in versions.items())
        self.fake(
            "dpkg-query",
            'format=$3; shift 3\nfor package; do version=1\ncase $package in\n' + cases + "*) ;;\nesac\n"
            'case $format in\n*Status*) [ -z "$version" ] || echo -n installed ;;\n*) echo "$package $version amd64" ;;\nesac\ndone',
        )

    def begin(self, *arguments: str) -> subprocess.Popen:
        env = {**os.environ, "XDG_CACHE_HOME": str(self.cache), "PATH": f"{self.programs}:{os.environ['PATH']}"}
        return subprocess.Popen(
            [self.top / "remit/tools/wasm.sh", *arguments], env=env, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def path(self) -> str:
        code, out, err = self.run("path")
        assert code == 0 and not err, err
        return out.strip()

    def change(self, name: str) -> None:
        with open(self.top / "remit" / name, "a") as file:
            file.write("\n")


@pytest.fixture
def checkout(tmp_path):
    release = platform.freedesktop_os_release()
    if (release["ID"], release.get("VERSION_ID")) != ("debian", "12"):
        skip_or_fail("the guest is built on Debian 12")
    return Checkout(tmp_path)


def test_wasm_build_names_missing_packages_and_the_command_that_installs_them(checkout):
    checkout.packages({"wabt": "", "wasi-libc": ""})
    for action in ("check", "path", "build"):
        code, out, err = checkout.run(action)
        assert code == 1 and not out
        assert err == 'wasm: these packages are missing: wasi-libc wabt. Run "tools/setup.sh wasm".\n'
    assert not checkout.cache.exists()


def test_setup_installs_the_packages_that_the_wasm_build_needs():
    setup, build = ((ROOT / "tools" / name).read_text() for name in ("setup.sh", "wasm.sh"))

    def listed(text: str, name: str) -> list[str]:
        return text.split(f'\n{name}="')[1].split('"')[0].split()

    assert listed(setup, "wasm") == listed(build, "packages")


def test_wasm_build_refuses_an_unknown_argument(checkout):
    code, out, err = checkout.run("everything")
    assert code == 1 and not out and 'unknown argument "everything"' in err


@pytest.mark.parametrize("name", ["runtime/guest/module.c", "runtime/channel.c", "src/base/buf.h", "src/wire/frame.c", "runtime/guest/asyncio_tail.py"])
def test_wasm_result_depends_on_the_sources_of_the_guest(checkout, name):
    before = checkout.path()
    assert before.startswith(f"{checkout.cache}/remit/wasm/") and before == checkout.path()
    checkout.change(name)
    assert checkout.path() != before


def test_wasm_result_does_not_depend_on_the_rest_of_the_runtime(checkout):
    before = checkout.path()
    for name in ("runtime/cell.py", "runtime/module.c", "src/base/loop.c"):
        checkout.change(name)
    assert checkout.path() == before


def test_wasm_result_depends_on_the_versions_of_the_tools(checkout):
    before = checkout.path()
    checkout.packages({"wabt": "2"})
    assert checkout.path() != before


def test_wasm_result_depends_on_how_it_is_compiled(checkout):
    before = checkout.path()
    file = checkout.top / "remit/tools/wasm.sh"
    assert file.read_text().count("\nstack_bytes=4") == 1
    file.write_text(file.read_text().replace("\nstack_bytes=4", "\nstack_bytes=8"))
    assert checkout.path() != before


def test_wasm_build_uses_a_cached_result(checkout):
    made = pathlib.Path(checkout.path())
    made.mkdir(parents=True)
    checkout.fake("apt-get", "echo apt-get was called >&2; exit 1")
    assert checkout.run("build") == (0, f"{made}\n", "")


def test_wasm_build_reads_only_the_machines_own_archives(checkout):
    """Every entry of apt's configuration becomes one of source packages, and the machine's is not touched."""
    seen = checkout.top / "seen"
    checkout.fake("apt-get", f'mkdir {seen}; cp -r "$(dirname "$APT_CONFIG")" {seen}; apt-config dump >{seen}/configuration')
    checkout.fake("apt-cache", "exit 0")
    code, out, err = checkout.run()
    assert code == 1 and not out and "No archive of this machine's apt has the source of python3.11." in err, err
    configured = [path for path in pathlib.Path("/etc/apt/sources.list.d").iterdir() if path.suffix == ".sources"]
    entries = {path.name: path.read_text() for path in (seen / "apt/entries").iterdir()}
    for path in configured:
        ours = [line for line in path.read_text().splitlines() if not line.startswith("Types:")]
        assert [line for line in entries[path.name].splitlines() if not line.startswith("Types:")] == ours
    types = [line for text in entries.values() for line in text.splitlines() if line.startswith(("Types:", "deb"))]
    assert types and all(line == "Types: deb-src" or line.startswith("deb-src ") for line in types)
    used = (seen / "configuration").read_text()
    assert f'Dir::State "{checkout.cache}/remit/wasm/work.' in used and 'Dir::Etc::sourcelist "/dev/null"' in used
    assert list((checkout.cache / "remit/wasm").iterdir()) == [checkout.cache / "remit/wasm/lock"]


def wait_for_work(checkout: Checkout) -> pathlib.Path:
    (begun,) = waiting.until(lambda: list(checkout.cache.glob("remit/wasm/work.*/begun")), "the build did not begin")
    return begun.parent


SLOW = 'touch "$(dirname "$APT_CONFIG")/../begun"; exec sleep 60'


def test_interrupted_wasm_build_leaves_nothing(checkout):
    checkout.fake("apt-get", SLOW)
    process = checkout.begin()
    work = wait_for_work(checkout)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130 and not out and not work.exists()
    assert not pathlib.Path(checkout.path()).exists()


def test_wasm_build_removes_what_a_killed_build_left(checkout):
    checkout.fake("apt-get", SLOW)
    process = checkout.begin()
    left = wait_for_work(checkout)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert left.exists()
    checkout.fake("apt-get", "exit 1")
    code, _, err = checkout.run()
    assert code == 1 and "this step failed" in err and not left.exists()
