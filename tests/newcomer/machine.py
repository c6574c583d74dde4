"""Unprepared machines: the root directory of a minimal Debian release, with git, make and certificates."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from conftest import exclusive, skip_or_fail  # noqa: E402

HERE = pathlib.Path(__file__).parent
# Roots are kept after the tests. A root gets its final name last, so one with that name is complete.
CACHE = pathlib.Path(os.environ.get("REMIT_TEST_CACHE", "/var/tmp/remit-newcomer-tests"))
SOAK = bool(os.environ.get("REMIT_SOAK"))
USER = "newcomer"
USERS = ("root", USER)
CHECKOUT = "remit"  # in the user's home


def output(*argv: str) -> str:
    return subprocess.run(argv, check=True, text=True, capture_output=True).stdout


def mirror() -> list[str]:
    """Returns the mirror of this machine's package sources, if they are Debian's."""
    found = output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian", "Origin: Debian")
    return found.split()[:1]


@functools.lru_cache
def check_mirror(release: str) -> None:
    """Skips the test if the mirror cannot be reached: an existing root does not show that packages can be fetched."""
    with tempfile.TemporaryDirectory() as folder:
        for address in mirror():
            argv = ["/usr/lib/apt/apt-helper", "download-file", f"{address}dists/{release}/Release", f"{folder}/Release"]
            done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                skip_or_fail(f"the mirror of {release} cannot be reached from here: {done.stdout.strip()[-500:]}")


def network_settings() -> str:
    """Returns the settings with which this machine's apt reaches its mirror."""
    lines = output("apt-config", "dump").splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith(("Acquire::http", "Acquire::Retries")))


# The packages of a root besides apt: to build Remit, or to install it.
TO_BUILD = "git,make,ca-certificates"
TO_INSTALL = "python3,python3-venv,ca-certificates"
# Releases that still change: a mirror may keep an old state of them.
CHANGING = {"forky"}


def bare_root(release: str, packages: str) -> pathlib.Path:
    CACHE.mkdir(exist_ok=True)
    with exclusive(HERE / "machine.py"):
        root = CACHE / f"{release}-{packages.replace(',', '-')}"
        if not root.exists():
            make_root(release, packages, root)
    return root


def make_root(release: str, packages: str, root: pathlib.Path) -> None:
    unfinished = root.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    options = ['--aptopt=Acquire::Check-Valid-Until "false"'] if release in CHANGING else []
    argv = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={packages}", *options, release, str(unfinished), *mirror()]
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        skip_or_fail(f"a root of {release} cannot be made here: {done.stdout.strip()[-500:]}")
    (unfinished / "etc/apt/apt.conf.d/99network").write_text(network_settings())
    shutil.copy("/etc/resolv.conf", unfinished / "etc/resolv.conf")
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", unfinished / "etc/ssl/certs/ca-certificates.crt")
    unfinished.rename(root)


class Machine:
    """A copy of a bare root. An overlay would not do, because it lacks idmapped mounts, which root's jails need."""

    def __init__(self, release: str, packages: str = TO_BUILD):
        check_mirror(release)
        self.release = release
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-newcomer-", dir="/var/tmp"))
        self.root = self.folder / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", str(bare_root(release, packages)), str(self.root)], check=True)
        self.folder.chmod(0o755)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def try_run(self, user: str, script: str) -> subprocess.CompletedProcess:
        """Runs a script in the user's home, or in the checkout if one exists."""
        script = f"[ ! -d {CHECKOUT} ] || cd {CHECKOUT}\n{script}"
        argv = [sys.executable, str(HERE / "enter.py"), str(self.root), user, "sh", "-eu", "-c", script]
        return subprocess.run(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, user: str, script: str) -> str:
        done = self.try_run(user, script)
        assert done.returncode == 0, f"{script}\nexit code {done.returncode}\n{done.stdout[-8000:]}"
        return done.stdout

    def check_no_compiler(self) -> None:
        """Checks that no compiler exists, and that the check finds a program that does."""
        check = "for program in {}; do ! command -v $program || exit 1; done"
        self.run("root", check.format("gcc cc clang meson ninja"))
        assert self.try_run("root", check.format("gcc sh")).returncode == 1

    def home(self, user: str) -> pathlib.Path:
        return self.root / ("root" if user == "root" else f"home/{user}")

    def add_user(self, user: str) -> None:
        """Adds a user by writing the files, since a bare root has no useradd."""
        if user == "root":
            return
        for name, line in (("passwd", f"{user}:x:1000:1000::/home/{user}:/bin/sh"), ("group", f"{user}:x:1000:")):
            with open(self.root / "etc" / name, "a") as file:
                file.write(line + "\n")
        self.home(user).mkdir()
        os.chown(self.home(user), 1000, 1000)

    def put_checkout(self, user: str) -> None:
        """Clones the repository into the user's home, with uncommitted changes."""
        where = self.home(user) / CHECKOUT
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(where)], check=True)
        changed = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        if changed:
            subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=where, check=True, input=changed)
        self.give(user, where)

    def put_files(self, user: str, *paths: pathlib.Path) -> None:
        """Copies files into the user's home."""
        for path in paths:
            self.give(user, pathlib.Path(shutil.copy(path, self.home(user))))

    def give(self, user: str, path: pathlib.Path) -> None:
        owner = self.home(user).stat()
        subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", str(path)], check=True)
