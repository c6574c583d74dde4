"""On a machine that cannot build Remit, the user gets one sentence before anything is installed or built."""

from __future__ import annotations

import os

import pytest
from machine import TO_INSTALL, USER, USERS, Machine

from conftest import skip_or_fail

# For each cause: a file that fakes it, the file's text, and words of the expected sentence.
WRONG = {
    "distribution-old": ("/etc/os-release", "ID=debian\nVERSION_ID=11\nPRETTY_NAME='Debian 11'\n", "needs debian 12 or newer", "this is Debian 11"),
    "distribution-other": ("/etc/os-release", "ID=ubuntu\nVERSION_ID=22.04\nPRETTY_NAME='Ubuntu 22.04'\n", "needs ubuntu 24.04 or newer", "install the wheel"),
    "architecture": ("/usr/local/bin/uname", "#!/bin/sh\n[ $1 != -m ] || exec echo riscv64\nexec /bin/uname $1\n", "x86_64 and aarch64 only", "this is riscv64"),
    "programs": ("/usr/local/bin/getconf", "#!/bin/sh\necho 32\n", "needs a 64-bit system", "32-bit programs on a 64-bit kernel"),
    "kernel": ("/usr/local/bin/uname", "#!/bin/sh\n[ $1 != -r ] || exec echo 5.4.0-150-generic\nexec /bin/uname $1\n", "needs Linux 5.14 or newer", "this kernel is 5.4.0"),
    "python": ("/usr/bin/python3", "#!/bin/sh\n[ $1 = -V ] && echo Python 3.8.2\n", "needs CPython 3.9 or newer", "/usr/bin/python3 is Python 3.8.2"),
    "system": ("/usr/local/bin/uname", "#!/bin/sh\n[ $1 != -s ] || exec echo FreeBSD\nexec /bin/uname $1\n", "needs Linux", "this is FreeBSD"),
}


@pytest.fixture(scope="module")
def machine():
    if os.geteuid() != 0:
        skip_or_fail("only root can enter another root")
    with Machine("bookworm") as one:
        one.add_user(USER)
        for user in USERS:
            one.put_checkout(user)
        yield one


@pytest.mark.parametrize("what", WRONG)
def test_make_reports_an_unsupported_machine_in_one_sentence(machine, what):
    path, text, *words = WRONG[what]
    file = machine.root / path.lstrip("/")
    before = file.read_bytes() if file.exists() else None
    file.unlink(missing_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    done = machine.try_run("root", "make demo")
    file.unlink()
    if before is not None:
        file.write_bytes(before)
    first, *rest = done.stdout.splitlines()
    assert done.returncode and first.startswith("setup: ") and all(word in first for word in words), done.stdout
    # Only make's line about the failure follows.
    assert len(rest) <= 1 and not (machine.home("root") / "remit" / "build").exists(), done.stdout


def test_make_wasm_names_the_distribution_that_it_needs(machine):
    file = machine.root / "etc/os-release"
    before = file.read_bytes()
    file.unlink()
    file.write_text("ID=debian\nVERSION_ID=13\nPRETTY_NAME='Debian 13'\n")
    done = machine.try_run("root", "make wasm")
    file.unlink()
    file.write_bytes(before)
    first, *rest = done.stdout.splitlines()
    assert done.returncode and first.startswith("wasm: the guest needs the tools of Debian 12") and "this is Debian 13" in first, done.stdout
    assert len(rest) <= 1 and not (machine.home("root") / ".cache/remit/wasm").exists(), done.stdout


def test_setup_without_apt_lists_the_packages(machine):
    done = machine.try_run("root", "mkdir -p /tmp/bin; for p in sh uname sort head printf dirname id; do ln -sf $(command -v $p) /tmp/bin/; done; PATH=/tmp/bin sh tools/setup.sh")
    assert done.returncode and "with apt only" in done.stdout and "REMIT_SETUP=skip: meson" in done.stdout, done.stdout


def test_skipped_setup_names_the_missing_program(machine):
    done = machine.try_run("root", "REMIT_SETUP=skip make")
    first, *rest = done.stdout.splitlines()
    assert done.returncode and first.startswith("setup: the program meson is missing. ") and len(rest) == 1, done.stdout


def test_setup_with_an_old_meson_names_the_needed_version(machine):
    """The distribution is one that the script does not know."""
    fakes = "mkdir -p /tmp/old; for p in meson ninja python3; do printf '#!/bin/sh\\necho 0.61.2\\n' >/tmp/old/$p; chmod +x /tmp/old/$p; done"
    done = machine.try_run("root", f"{fakes}; PATH=/tmp/old:$PATH REMIT_SETUP=skip make")
    first, *rest = done.stdout.splitlines()
    assert done.returncode and first.startswith("setup: Remit needs meson 1.0 or newer, and this is meson 0.61.2. ") and len(rest) == 1, done.stdout


def test_setup_without_a_network_names_the_cause(machine):
    done = machine.try_run("root", "echo 'Acquire::http::Proxy \"http://127.0.0.1:9\";' >/etc/apt/apt.conf.d/00none; make demo")
    (machine.root / "etc/apt/apt.conf.d/00none").unlink()
    assert done.returncode and "check this machine's network" in done.stdout, done.stdout[-3000:]


def test_setup_by_an_ordinary_user_names_the_command_for_root(machine):
    done = machine.try_run(USER, "make demo")
    assert done.returncode and "only root can install them: meson" in done.stdout and "Ask root to run tools/setup.sh." in done.stdout, done.stdout


@pytest.mark.parametrize("command", ["make demo", "make deb", "make test", "make wheel"])
def test_unwritable_checkout_is_named(machine, command):
    done = machine.try_run(USER, f"chmod a-w .; {command}")
    machine.run(USER, "chmod u+w .")
    first, *rest = done.stdout.splitlines()
    assert done.returncode and first.startswith(f"make: you cannot write to /home/{USER}/remit. ") and len(rest) == 1, done.stdout


# ---- pip install . ----

PIP = "python3 -m venv ../venv; ../venv/bin/pip install --no-index ."


@pytest.fixture(scope="module")
def without_compiler():
    if os.geteuid() != 0:
        skip_or_fail("only root can enter another root")
    with Machine("trixie", TO_INSTALL) as one:
        one.put_checkout("root")
        yield one


def test_pip_names_the_packages_that_a_build_needs(without_compiler):
    without_compiler.check_no_compiler()
    done = without_compiler.try_run("root", PIP)
    assert done.returncode and "remit: to build here, Remit needs these Debian packages or their equivalents: gcc " in done.stdout, done.stdout
    for package in ("pkg-config", "libjansson-dev", "libmbedtls-dev", "libseccomp-dev", "python3-dev"):
        assert package in done.stdout, done.stdout
    assert "No matching distribution" not in done.stdout


def test_pip_names_an_unsupported_architecture(without_compiler):
    path, script, *words = WRONG["architecture"]
    program = without_compiler.root / path.lstrip("/")
    program.write_text(script)
    program.chmod(0o755)
    done = without_compiler.try_run("root", PIP)
    program.unlink()
    assert done.returncode and all(word in done.stdout for word in words) and "packages" not in done.stdout, done.stdout
